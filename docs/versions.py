"""List the versions of the site that lie in a folder, for the switch in its sidebar.

    python docs/versions.py FOLDER

Every version is a folder: `dev`, `0.1`, `0.2`, ... Writes versions.json beside them, newest first
and `dev` last, and an index.html that leads to the newest, or to `dev` before the first release.
"""

import json
import re
import sys
from pathlib import Path

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>paralesn</title>
<meta http-equiv="refresh" content="0; url={folder}/">
<a href="{folder}/">Documentation of paralesn</a>
</html>
"""


def versions(folder: Path) -> list[dict[str, str]]:
    """Folders with a site in them, and what the switch calls them."""
    names = {path.parent.name for path in folder.glob("*/index.html")}
    released = [name for name in names if re.fullmatch(r"\d+(\.\d+)+", name)]
    released.sort(key=lambda name: [int(part) for part in name.split(".")], reverse=True)
    listed = [{"folder": name, "label": name} for name in released]
    if listed:
        listed[0]["label"] += " (latest)"
    if "dev" in names:
        listed.append({"folder": "dev", "label": "dev"})
    return listed


def write(folder: Path) -> None:
    """Write the list and the page that leads to the newest version."""
    listed = versions(folder)
    if not listed:
        raise SystemExit(
            f"{folder} holds no version of the site: no dev/index.html, no 0.1/index.html"
        )
    (folder / "versions.json").write_text(json.dumps(listed, indent=1) + "\n", encoding="utf-8")
    page = _PAGE.format(folder=listed[0]["folder"])
    (folder / "index.html").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
