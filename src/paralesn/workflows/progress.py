"""How far a workflow has got: a function it calls now and then."""

from collections.abc import Callable

Progress = Callable[[str, float], None]
"""Called with what is being done and the share of it that is done, 0 where that is not known."""


def silent(_activity: str, _share: float) -> None:
    """Tell nobody."""
