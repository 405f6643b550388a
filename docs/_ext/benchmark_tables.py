"""``{benchmark-tables}``: what ``python -m benchmarks --save docs/benchmarks`` last wrote."""

from pathlib import Path
from typing import Any

from benchmarks import SUITES
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class BenchmarkTables(SphinxDirective):
    """A section for every suite: its saved table and picture, or how to make them."""

    def run(self) -> list[nodes.Node]:
        """Sections in the order of the suites."""
        folder = Path(self.env.srcdir) / "benchmarks"
        return [self._section(name, title, folder) for name, title in SUITES.items()]

    def _section(self, name: str, title: str, folder: Path) -> nodes.section:
        section = nodes.section(ids=[f"suite-{name}"])
        section += nodes.title(text=title)
        path = folder / f"{name}.txt"
        self.env.note_dependency(str(path))
        if path.exists():
            text = path.read_text(encoding="utf-8")
            section += nodes.literal_block(text, text, language="text", classes=["wide"])
            if (folder / f"{name}.png").exists():
                section += nodes.image(uri=f"{folder.name}/{name}.png", alt=f"Picture: {title}")
        else:
            command = f"python -m benchmarks {name} --save docs/benchmarks"
            section += nodes.paragraph(
                "", "No table has been saved yet. To measure it: ", nodes.literal(text=command)
            )
        return section


def setup(app: Sphinx) -> dict[str, Any]:
    """Offer the directive."""
    app.add_directive("benchmark-tables", BenchmarkTables)
    return {"parallel_read_safe": True}
