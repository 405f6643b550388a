"""Links that work in the repository, led to pages of the site when it is built.

A page links to ``../examples/NAME.py``, ``../CONTRIBUTING.md`` or ``../CHANGELOG.md``; on the site
these are a page of the gallery, ``contributing.md`` and ``changelog.md``. The word ``REPOSITORY``
is replaced by the repository's address where that is known: from the package's metadata, or from
the environment variable ``PARALESN_REPOSITORY``.
"""

import os
import re
from importlib.metadata import metadata
from typing import Any

from sphinx.application import Sphinx

_LINK = re.compile(
    r"\]\((?P<up>(?:\.\./)*)\.\./(?P<target>examples|CONTRIBUTING\.md|CHANGELOG\.md)(?P<rest>[^)]*)\)"
)


def _address() -> str:
    urls = dict(line.split(", ", 1) for line in metadata("paralesn").get_all("Project-URL") or [])
    return os.environ.get("PARALESN_REPOSITORY", urls.get("Repository", ""))


ADDRESS = _address()


def _page(match: re.Match[str]) -> str:
    target, rest = match["target"], match["rest"]
    if target != "examples":
        return f"]({match['up']}{target.lower()}{rest})"
    page = rest.strip("/").removesuffix(".py").replace("README.rst", "") or "index"
    return f"]({match['up']}gallery/{page}.rst)"


def _lead(app: Sphinx, docname: str, source: list[str]) -> None:
    source[0] = _LINK.sub(_page, source[0])
    if ADDRESS:
        source[0] = source[0].replace("REPOSITORY", ADDRESS)


def setup(app: Sphinx) -> dict[str, Any]:
    """Look at every page as it is read."""
    app.connect("source-read", _lead)
    return {"parallel_read_safe": True}
