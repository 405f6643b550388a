"""A fit that fails leaves the model as it was."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def unharmed(model: Any) -> Iterator[None]:
    """Give a model back the attributes it had, whatever interrupts what is done here.

    Attributes that are changed in place are not: replace them by copies.
    """
    before = model.__dict__.copy()
    try:
        yield
    except BaseException:
        model.__dict__.clear()
        model.__dict__.update(before)
        raise
