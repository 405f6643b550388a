"""PyTorch, an extra: imported from here, so that who lacks it learns what to install."""

from typing import Any

from paralesn.files import require

require("torch", "torch")
import torch  # noqa: E402  (after the check that there is one)

__all__ = ["find_device", "torch"]


def find_device(name: Any) -> torch.device:
    """The device of that name, the CPU for None, tried once."""
    try:
        device = torch.device("cpu" if name is None else name)
        torch.zeros(1, device=device).item()
    # An unknown name, a device that is not there, one PyTorch was built without, a mere placeholder
    except (RuntimeError, AssertionError, NotImplementedError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            f"device must be one that PyTorch can use, got {name!r}: {reason}"
        ) from error
    return device
