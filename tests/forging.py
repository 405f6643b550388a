"""Model files that were changed on purpose and given a checksum that is right again."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load as read_tensors
from safetensors.numpy import save as write_tensors

from paralesn.persistence import model_file


def parts(data: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The JSON of a file and its arrays, which may be written to."""
    body = json.loads(model_file.read_header(data)["paralesn"])
    return body, {name: array.copy() for name, array in read_tensors(data).items()}


def whole(body: Any, arrays: dict[str, np.ndarray]) -> bytes:
    """A file of them."""
    text = body if isinstance(body, str) else json.dumps(body)
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    return write_tensors(arrays, {"paralesn": text, "sha256": model_file.checksum(text, arrays)})


def forged(model: Any, path: Path, change: Callable[[Any, dict[str, np.ndarray]], object]) -> Path:
    """A file of a model after `change` of its JSON and arrays."""
    body, arrays = parts(model_file.to_bytes(model))
    change(body, arrays)
    path.write_bytes(whole(body, arrays))
    return path
