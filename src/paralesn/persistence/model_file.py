"""Files of models, in the safetensors format.

Arrays lie in the file as they are; everything else is JSON in its header, with the number of the
format, the version of the package that wrote it, and a checksum over all of it. Only registered
classes are ever made, and what a file says of them is checked by the code that checks what is
constructed.
"""

import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar, overload

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as read_tensors
from safetensors.numpy import save as write_tensors

from paralesn.files import replacing
from paralesn.persistence import scikit_learn
from paralesn.persistence.decoding import Decoder
from paralesn.persistence.encoding import Encoder
from paralesn.persistence.registry import entry_of, names_of_models

FORMAT = 2
Model = TypeVar("Model")


def save(
    model: object, path: str | os.PathLike, *, metadata: Mapping[str, Any] | None = None
) -> None:
    """Write a model, fitted or not, to exactly `path`.

    The file is written aside and renamed, so an interrupted save leaves what was there before.

    Parameters
    ----------
    model : object
        An instance of a registered class: a reservoir, a readout, an estimator, a state, or of a
        class of your own (see `register`).
    path : str or path
        Nothing is added to the name.
    metadata : mapping, optional
        What else to keep with the model, as JSON can hold it: `load_metadata` reads it.

    Examples
    --------
    >>> import tempfile, paralesn as pe
    >>> from paralesn.persistence import load_metadata
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pe.save(pe.ParalESN(units=7), folder + "/model.esn", metadata={"by": "me"})
    ...     pe.load(folder + "/model.esn"), load_metadata(folder + "/model.esn")
    (ParalESN(units=7), {'by': 'me'})
    """
    data = to_bytes(model, metadata)
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"path must be in an existing folder, got {str(path)!r}")
    with replacing(path) as unfinished:
        unfinished.write_bytes(data)


def to_bytes(model: object, metadata: Mapping[str, Any] | None = None) -> bytes:
    """What `save` writes to a file."""
    if entry_of(model) is None and scikit_learn.public_name(model) is None:
        foreign = scikit_learn.is_foreign(model)
        raise TypeError(
            f"model must be one of {', '.join(names_of_models())}, or of a class registered with "
            f"paralesn.register, got {type(model).__name__}"
            + (f": {scikit_learn.why_not(model)}" if foreign else "")
        )
    encoder = Encoder()
    content: dict[str, Any] = {"format": FORMAT, "version": version("paralesn")}
    if metadata is not None:
        content["metadata"] = dict(metadata)
    body = json.dumps({**content, "model": encoder.encode(model, "model")}, allow_nan=True)
    arrays = encoder.arrays
    data: bytes = write_tensors(arrays, {"paralesn": body, "sha256": checksum(body, arrays)})
    encoder.texts.check(len(data))
    return data


@overload
def load(path: str | os.PathLike) -> object: ...
@overload
def load(path: str | os.PathLike, expect: type[Model]) -> Model: ...
def load(path: str | os.PathLike, expect: type | None = None) -> object:
    """Read a model that `save` wrote. Any other file is an error, and nothing in it is executed.

    A file of an older or newer format is refused; save its model anew with this version.

    Parameters
    ----------
    path : str or path
    expect : type, optional
        The class that the model must be of, so that another one is an error here and editors and
        type checkers know what comes back. Default: any.

    Returns
    -------
    model : object

    Examples
    --------
    >>> import tempfile, paralesn as pe
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pe.save(pe.Ridge(), folder + "/ridge.esn")
    ...     pe.load(folder + "/ridge.esn", pe.Ridge)
    Ridge()
    """
    if expect is not None and not isinstance(expect, type):
        raise TypeError(f"expect must be a class, got {expect!r}")
    return from_bytes(_content(path), path, expect)


def from_bytes(data: bytes, name: str | os.PathLike, expect: type | None = None) -> object:
    """What `load` makes of a file's content; `name` is what it is called in messages."""
    content, arrays = _parsed(data, name)
    with _named(name):
        model = Decoder(arrays, len(data)).model(content["model"])
        if expect is not None and not isinstance(model, expect):
            raise ValueError(f"it holds a {type(model).__name__}, expected a {expect.__name__}")
        return model


def load_metadata(path: str | os.PathLike) -> dict[str, Any]:
    """What was saved with a model besides it; empty where nothing was."""
    content, _ = _parsed(_content(path), path)
    with _named(path):
        return dict(content.get("metadata", {}))


def _content(path: str | os.PathLike) -> bytes:
    """What is in a file; devices and pipes, which may never end, and folders are refused."""
    with _named(path):
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise ValueError("it is not a file, or not a regular one")
        return Path(path).read_bytes()


def _parsed(data: bytes, path: str | os.PathLike) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The JSON and the arrays of a file, checked to be whole."""
    with _named(path):
        header, arrays = read_header(data), read_tensors(data)
        body = header["paralesn"]
        if checksum(body, arrays) != header["sha256"]:
            raise ValueError("its checksum does not match: the file is damaged")
        content = json.loads(body)
        _check_format(content)
        return content, arrays


@contextmanager
def _named(path: str | os.PathLike) -> Iterator[None]:
    """Raise whatever is wrong with a file as an error that names it."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} cannot be loaded: {error}") from error
    except (SafetensorError, KeyError, IndexError, AttributeError) as error:
        raise ValueError(f"{path} is not a model file of paralesn: {error}") from error
    except (RecursionError, ArithmeticError, MemoryError) as error:
        raise ValueError(f"{path} cannot be loaded: {type(error).__name__}") from error


def read_header(data: bytes) -> dict[str, str]:
    """The texts in the header of a safetensors file."""
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or size > len(data) - 8:
        raise KeyError("its header is cut off")
    metadata = json.loads(data[8 : 8 + size])["__metadata__"]
    return {str(key): str(value) for key, value in metadata.items()}


def checksum(body: str, arrays: Mapping[str, np.ndarray]) -> str:
    """Digest of the JSON and of every array with its name, type and shape."""
    digest = hashlib.sha256(body.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"\0{name}\0{array.dtype}\0{array.shape}\0".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _check_format(content: dict[str, Any]) -> None:
    """Refuse formats other than the current, saying which version wrote the file."""
    number = content["format"]
    if type(number) is not int or number < 1:
        raise ValueError(f"its format must be a whole number from 1 to {FORMAT}, got {number!r}")
    if number == FORMAT:
        return
    writer = f"paralesn {content['version']}" if "version" in content else "an early paralesn"
    if number > FORMAT:
        raise ValueError(
            f"its format {number} is newer than {FORMAT}, the latest known: {writer} wrote it, "
            f"this is {version('paralesn')}"
        )
    raise ValueError(
        f"its format {number} is older than {FORMAT}, the only one that paralesn "
        f"{version('paralesn')} reads: {writer} wrote it; fit the model again and save it anew"
    )
