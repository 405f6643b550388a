"""The reference shows what is ours: no methods of scikit-learn, aeon or NamedTuple."""

from typing import Any

from sphinx.application import Sphinx


def _skip(app: Sphinx, what: str, name: str, item: Any, skip: bool, options: Any) -> bool | None:
    function = getattr(item, "fget", None) or getattr(item, "__func__", item)
    module = getattr(function, "__module__", None)
    if callable(function) and module is not None and not module.startswith("paralesn"):
        return True
    return None


def setup(app: Sphinx) -> dict[str, Any]:
    """Ask before a member is documented."""
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True}
