"""Metadata that depend on where the repository is: addresses, and a README whose links lead there.

The address comes from the environment variable PARALESN_REPOSITORY (workflows set it), from the
remote `origin` of a clone, or from the PKG-INFO of a source distribution. Without one there are no
addresses, and the README stays as it is.
"""

import os
import re
import subprocess
from email.parser import HeaderParser
from pathlib import Path

try:
    from hatchling.metadata.plugin.interface import MetadataHookInterface
except ModuleNotFoundError:  # where only the functions are needed
    MetadataHookInterface = object

_REMOTE = re.compile(r"(?:https?://(?:[^/@]+@)?|ssh://git@|git@)([^/:]+)[/:](.+?)(?:\.git)?/?$")
_RELATIVE = r"(?P<target>(?![a-z]+:|#|/)[^)\s\"']+)"
_PICTURES = (rf"(?P<before>!\[[^\]]*\]\(){_RELATIVE}", rf"(?P<before>\bsrc(?:set)?=\"){_RELATIVE}")
_LINKS = (rf"(?P<before>\]\(){_RELATIVE}", rf"(?P<before>\bhref=\"){_RELATIVE}")


def repository(root: Path) -> str | None:
    """Address of the repository, without a slash at its end."""
    told = os.environ.get("PARALESN_REPOSITORY") or _origin(root) or _from_distribution(root)
    match = _REMOTE.match(told) if told else None
    return f"https://{match[1]}/{match[2]}" if match else None


def _origin(root: Path) -> str | None:
    if not (root / ".git").exists():  # another repository around this one says nothing
        return None
    try:
        command = ["git", "-C", str(root), "remote", "get-url", "origin"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def _from_distribution(root: Path) -> str | None:
    path = root / "PKG-INFO"
    if not path.exists():
        return None
    lines = HeaderParser().parsestr(path.read_text(encoding="utf-8")).get_all("Project-URL") or []
    return dict(line.split(", ", 1) for line in lines).get("Repository")


def addresses(repository: str) -> dict[str, str]:
    """What `[project.urls]` would hold."""
    urls = {
        "Repository": repository,
        "Issues": f"{repository}/issues",
        "Changelog": f"{repository}/blob/HEAD/CHANGELOG.md",
    }
    host, owner, name = repository.removeprefix("https://").split("/", 2)
    if host == "github.com":
        urls["Documentation"] = f"https://{owner.lower()}.github.io/{name}/"
    return urls


def absolute_links(text: str, repository: str, revision: str = "HEAD") -> str:
    """Markdown whose links and pictures are files of the repository, with addresses instead."""
    for patterns, kind in ((_PICTURES, "raw"), (_LINKS, "blob")):
        for pattern in patterns:
            text = re.sub(pattern, rf"\g<before>{repository}/{kind}/{revision}/\g<target>", text)
    return text.replace("REPOSITORY", repository)


class CustomMetadataHook(MetadataHookInterface):
    """Called by Hatchling for the dynamic fields `readme` and `urls`."""

    def update(self, metadata: dict) -> None:
        """Set both."""
        root = Path(self.root)
        text, found = (root / "README.md").read_text(encoding="utf-8"), repository(root)
        metadata["urls"] = addresses(found) if found else {}
        if found:
            revision = os.environ.get("PARALESN_REVISION", "HEAD")
            text = absolute_links(text, found, revision)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
