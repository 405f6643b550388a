"""What the paper has on sensitivity: the panels of its figures, and the claims of its text."""

from collections.abc import Iterable
from dataclasses import dataclass

from paralesn.paper.catalogue import read
from paralesn.paper.records import Record

_FILE = "sensitivity.toml"
_INTER = "inter "  # before names of hyperparameters of later layers
OTHERS = "Others"  # what the paper has no panel for


@dataclass(frozen=True)
class Claim:
    """Hyperparameters that the paper says matter most or least, and their places.

    Attributes
    ----------
    says : str
        ``"most"`` or ``"least"``.
    found : dict of str to int
        Places of these hyperparameters, the one that explains most first.
    of : int
        Number of hyperparameters.
    """

    says: str
    found: dict[str, int]
    of: int


def claims(record: Record) -> list[Claim]:
    """The paper's claims on the task and the model of a record, beside the places found."""
    asked = read(_FILE)["claims"]
    if record["task"] != asked["task"] or record["model"] not in asked["models"]:
        return []
    order = [one["name"] for one in ranked(record)]
    found = {
        says: {
            name: place
            for place, name in enumerate(order, 1)
            if name.removeprefix(_INTER) in asked[says]
        }
        for says in ("most", "least")
    }
    return [Claim(says, places, len(order)) for says, places in found.items() if places]


def ranked(record: Record) -> list[Record]:
    """What hyperparameters explain, pairs as a whole, by how much it is more than by chance."""
    pairs = record.get("pairs", [])
    parts = {f"{pair['name']} {end}" for pair in pairs for end in ("min", "max")}
    whole = [*pairs, *(one for one in record["effects"] if one["name"] not in parts)]
    return sorted(whole, key=lambda one: one.get("chance", 0.0) - one["share"])


def groups(names: Iterable[str]) -> dict[str, list[str]]:
    """Names by the panel of the paper that shows them, in its order, the first layer's first."""
    left, found = list(names), {}
    for title, members in read(_FILE)["groups"].items():
        wanted = [*members, *(_INTER + name for name in members)]
        found[title] = [name for name in wanted if name in left]
    known = {name for group in found.values() for name in group}
    found[OTHERS] = [name for name in left if name not in known]
    return {title: group for title, group in found.items() if group}
