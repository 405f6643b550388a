"""ParalESN inside ordinary PyTorch models, and models for others: needs the extra ``torch``."""

from paralesn.torch.block import ParalESNBlock
from paralesn.torch.fitted_modules import to_module
from paralesn.torch.onnx_file import OnnxFile, export_onnx

__all__ = ["OnnxFile", "ParalESNBlock", "export_onnx", "to_module"]
