"""The reference shows what is ours: no methods of scikit-learn, aeon or NamedTuple."""

import re
from typing import Any

from sphinx.application import Sphinx


def _skip(app: Sphinx, what: str, name: str, item: Any, skip: bool, options: Any) -> bool | None:
    function = getattr(item, "fget", None) or getattr(item, "__func__", item)
    module = getattr(function, "__module__", None)
    if callable(function) and module is not None and not module.startswith("paralesn"):
        return True
    return None


def _keep_underscores(
    app: Sphinx, what: str, name: str, item: Any, options: Any, lines: Any
) -> None:
    """In `layers_` the underscore is part of the name, not the sign of a link."""
    lines[:] = [re.sub(r"^(:(?:ivar|vartype) \w+)_:", r"\1\\_:", line) for line in lines]


def setup(app: Sphinx) -> dict[str, Any]:
    """Ask before a member is documented."""
    app.connect("autodoc-skip-member", _skip)
    app.connect("autodoc-process-docstring", _keep_underscores, priority=900)  # after napoleon
    return {"parallel_read_safe": True}
