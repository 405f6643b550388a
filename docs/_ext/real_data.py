"""Examples on real data run where the files are, and say so on the page where they are not."""

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from paralesn import datasets

_LOADS = re.compile(r"""datasets\.load\(["']([\w:]+)["']\)""")
_NOTE = """
.. warning::

   This example was **not run** when the site was built: it needs {names}, and the files were not
   there. ``paralesn data fetch {names}`` downloads them; or set ``PARALESN_DATA`` to a folder that
   holds them, and build the site again.

"""


def missing(source: str) -> list[str]:
    """Names of the datasets a script loads whose files are not at hand."""
    present = {entry.name.lower() for entry in datasets.available() if entry.present}
    return [name for name in _LOADS.findall(source) if name.lower() not in present]


def runnable(folder: Path) -> str:
    """A pattern of the examples whose data are at hand."""
    scripts = sorted(folder.glob("*.py"))
    names = [re.escape(path.name) for path in scripts if not missing(path.read_text())]
    return "/(" + "|".join(names) + ")$"


def _tell(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put the note under the title of a page whose example did not run."""
    folder, _, stem = docname.rpartition("/")
    script = Path(app.srcdir).parent / "examples" / f"{stem}.py"
    if folder != "gallery" or not script.exists():
        return
    names = missing(script.read_text())
    if names:
        source[0] = re.sub(
            r"^(=+\n)(?=\n)", rf"\1{_NOTE.format(names=' '.join(names))}", source[0], count=1,
            flags=re.MULTILINE,
        )  # fmt: skip


def setup(app: Sphinx) -> dict[str, Any]:
    """Look at every page as it is read."""
    app.connect("source-read", _tell)
    return {"parallel_read_safe": True}
