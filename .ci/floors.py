"""Print the lowest versions that pyproject.toml allows, as constraints for pip.

    python .ci/floors.py > build/lowest.txt

Of every requirement of the package and of the extras that users install; tools of development
(the extras `dev`, `docs`, `bench`, `interop`) stay as new as they are.
"""

import re
import sys
import tomllib
from pathlib import Path

TOOLS = {"bench", "dev", "docs", "interop"}
FLOOR = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(\[[^\]]*\])?\s*>=\s*(?P<floor>[0-9][0-9.]*)")


def floors(project: dict) -> dict[str, str]:
    """{package: lowest version} of the requirements of a `[project]` table."""
    extras = project.get("optional-dependencies", {})
    wanted = list(project["dependencies"])
    wanted += [line for name, lines in extras.items() if name not in TOOLS for line in lines]
    found = (FLOOR.match(line) for line in wanted)
    return {match["name"].lower(): match["floor"] for match in found if match}


if __name__ == "__main__":
    path = Path(sys.argv[1] if sys.argv[1:] else Path(__file__).parents[1] / "pyproject.toml")
    project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    print(*(f"{name}=={floor}" for name, floor in sorted(floors(project).items())), sep="\n")
