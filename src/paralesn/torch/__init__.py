"""ParalESN inside ordinary PyTorch models, and models for others: needs the extra ``torch``."""

from paralesn.torch.block import ParalESNBlock

__all__ = ["ParalESNBlock"]
