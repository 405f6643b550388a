"""The protocols of the paper, one file each, in the order in which they are reported.

`register` adds another, from outside of the package as well: it is then run, searched, tabulated
and reported like the ones below.
"""

from collections.abc import Callable, Sequence
from functools import partial

from paralesn.paper.protocol import Protocol
from paralesn.paper.protocols.classification import Classification
from paralesn.paper.protocols.earlier import EarlierReading
from paralesn.paper.protocols.long_term import LongTerm
from paralesn.paper.protocols.lra import LongRangeArena
from paralesn.paper.protocols.mnist import SequentialMNIST
from paralesn.paper.protocols.regression import Regression
from paralesn.paper.protocols.small_mnist import SmallMNIST
from paralesn.paper.protocols.trained import Trained
from paralesn.paper.protocols.ucr import Archive
from paralesn.paper.records import Record

_registered: dict[str, Protocol] = {}
_by_kind: dict[str, Protocol] = {}


def register(protocol: Protocol) -> Protocol:
    """Add a protocol; its names and kinds of runs must not be taken.

    Parameters
    ----------
    protocol : Protocol

    Returns
    -------
    Protocol
        The same.
    """
    kinds = protocol.kinds()
    if clash := (_registered.keys() | _by_kind.keys()) & {protocol.name, *kinds}:
        raise ValueError(f"protocol must have kinds of its own, got {', '.join(sorted(clash))}")
    _registered[protocol.name] = protocol
    _by_kind.update(dict.fromkeys(kinds, protocol))
    return protocol


def unregister(name: str) -> None:
    """Forget a protocol that was added."""
    if name in _OF_THE_PACKAGE or name not in _registered:
        raise ValueError(f"name must be one of an added protocol, got {name!r}")
    for kind in _registered.pop(name).kinds():
        del _by_kind[kind]


def protocols() -> list[Protocol]:
    """All protocols, in order."""
    return list(_registered.values())


def of_kind(kind: str) -> Protocol | None:
    """The protocol of a kind of runs, if there is one."""
    return _by_kind.get(kind)


def of_run(run: Record) -> Protocol:
    """The protocol of a run."""
    protocol = of_kind(run["kind"])
    if protocol is None:
        raise ValueError(f"kind must be among {', '.join(_by_kind)}, got {run['kind']!r}")
    return protocol


def of(task: str, model: str) -> Protocol:
    """The protocol by which a model is run on a task."""
    for protocol in _registered.values():
        if task in protocol.tasks() and model in protocol.models(task):
            return protocol
    raise ValueError(f"no protocol runs {model} on {task}")


def added() -> list[Protocol]:
    """Protocols that do not come with the package."""
    return [protocol for protocol in protocols() if protocol.name not in _OF_THE_PACKAGE]


def share() -> Callable[[], None]:
    """What makes another process know the protocols that this one knows."""
    return partial(_adopt, added())


def _adopt(others: Sequence[Protocol]) -> None:
    for protocol in others:
        if protocol.name not in _registered:
            register(protocol)
        else:  # workers of a cluster outlive scripts: this may be the protocol of an earlier one
            _registered[protocol.name] = protocol
            _by_kind.update(dict.fromkeys(protocol.kinds(), protocol))


for _protocol in (
    Regression(), EarlierReading(), Classification(), SequentialMNIST(), Trained(), SmallMNIST(),
    LongRangeArena(), LongTerm(), Archive(),
):  # fmt: skip
    register(_protocol)
_OF_THE_PACKAGE = tuple(_registered)
