"""What the paper has on sensitivity: the panels of its figures, and the claims of its text."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from paralesn.paper.catalogue import read

_FILE = "sensitivity.toml"
_INTER = "inter "  # before names of hyperparameters of later layers
OTHERS = "Others"  # what the paper has no panel for


@dataclass(frozen=True)
class Claim:
    """Hyperparameters that the paper says matter most or least, and their places by share.

    Attributes
    ----------
    says : str
        ``"most"`` or ``"least"``.
    names : tuple of str
    places : tuple of int
        One for the largest share of the variance.
    of : int
        Number of hyperparameters.
    """

    says: str
    names: tuple[str, ...]
    places: tuple[int, ...]
    of: int

    @property
    def holds(self) -> bool:
        """Whether no other hyperparameter is among them in the order of shares."""
        first = 1 if self.says == "most" else self.of - len(self.names) + 1
        return set(self.places) == set(range(first, first + len(self.names)))


def claims(task: str, model: str, shares: Mapping[str, float]) -> list[Claim]:
    """The paper's claims on a task and a model, beside shares that were measured."""
    asked = read(_FILE)["claims"]
    if task != asked["task"] or model not in asked["models"]:
        return []
    order = sorted(shares, key=lambda name: -shares[name])
    made = []
    for says in ("most", "least"):
        names = tuple(name for name in order if _plain(name) in asked[says])
        places = tuple(order.index(name) + 1 for name in names)
        made.append(Claim(says, names, places, len(order)))
    return made


def groups(names: Iterable[str]) -> dict[str, list[str]]:
    """Names by the panel of the paper that shows them, in its order, the first layer's first."""
    left, found = list(names), {}
    for title, members in read(_FILE)["groups"].items():
        wanted = [*members, *(_INTER + name for name in members)]
        found[title] = [name for name in wanted if name in left]
    known = {name for group in found.values() for name in group}
    found[OTHERS] = [name for name in left if name not in known]
    return {title: group for title, group in found.items() if group}


def _plain(name: str) -> str:
    """The name in the first layer."""
    return name.removeprefix(_INTER)
