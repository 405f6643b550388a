"""ListOps: nested operations on lists of digits, to be evaluated to a digit.

Expressions such as ``[MAX 2 9 [MIN 4 7 ] 0 ]`` are drawn from the grammar of Nangia and Bowman
with the sizes of the Long Range Arena; the published files are not read.
"""

from typing import Any

import numpy as np

from paralesn import checks
from paralesn.datasets.dataset import ClassificationDataset
from paralesn.datasets.generated import splitmix
from paralesn.datasets.generated.ieee import strict
from paralesn.datasets.seeds import entropy
from paralesn.datasets.storage.prepared import Sequences, prepare

TOKENS = (*map(str, range(10)), "[MIN", "[MAX", "[MED", "[SM", "]")
SIZES = {"train": 98_000, "test": 2_000}  # 2 000 of the training set are for validation
LENGTHS = (500, 2000)  # both exclusive, as published
DEPTH, ARGUMENTS = 10, 10
_MIN, _MAX, _MED, _SM, _END = range(10, 15)
_OPERATION = 0.25  # chance that a place holds an operation, above the greatest depth
_CITATION = (
    "N. Nangia, S. R. Bowman, ListOps: a diagnostic dataset for latent tree learning, NAACL 2018; "
    "Y. Tay et al., Long Range Arena, ICLR 2021"
)


@strict
def _evaluate(operation, values):  # type: ignore[no-untyped-def]
    """Value of an operation on its arguments; SM is the sum modulo 10."""
    if operation == _MIN:
        return values.min()
    if operation == _MAX:
        return values.max()
    if operation == _SM:
        return values.sum() % 10
    ordered = np.sort(values)
    return (ordered[(values.size - 1) // 2] + ordered[values.size // 2]) // 2  # rounded down


@strict
def _grow(stream, tokens, depth):  # type: ignore[no-untyped-def]
    """Write one expression to `tokens`: its length, or 0 where there is no room, and its value."""
    operations = np.zeros(depth, np.int64)
    arity = np.zeros(depth, np.int64)
    count = np.zeros(depth, np.int64)
    values = np.zeros((depth, ARGUMENTS), np.int64)
    level = length = 0  # level: operations that are open
    while length < tokens.size:
        if level + 1 < depth and splitmix.uniform(stream) < _OPERATION:
            operations[level] = _MIN + splitmix.below(stream, 4)
            arity[level] = 2 + splitmix.below(stream, ARGUMENTS - 1)
            count[level] = 0
            tokens[length] = operations[level]
            level, length = level + 1, length + 1
            continue
        value = splitmix.below(stream, 10)
        tokens[length] = value
        length += 1
        while level:
            values[level - 1, count[level - 1]] = value
            count[level - 1] += 1
            if count[level - 1] < arity[level - 1]:
                break
            if length == tokens.size:
                return 0, 0
            level -= 1
            value = _evaluate(operations[level], values[level, : count[level]])
            tokens[length] = _END
            length += 1
        if not level:
            return length, value
    return 0, 0


@strict
def _expressions(seed, split, first, tokens, lengths, values, shortest, depth):  # type: ignore[no-untyped-def]
    """Draw expressions until one is long enough, for each row of `tokens`, from case `first` on."""
    stream = np.zeros(1, np.uint64)
    for i in range(lengths.size):
        splitmix.begin(stream, seed, split, first + i)
        while lengths[i] <= shortest:
            lengths[i], values[i] = _grow(stream, tokens[i], depth)


def listops(
    count: int,
    seed: int | None = 0,
    split: int = 0,
    first: int = 0,
    lengths: tuple[int, int] = LENGTHS,
    depth: int = DEPTH,
) -> tuple[list[np.ndarray], np.ndarray]:
    """Draw expressions and their values.

    Operations are MIN, MAX, MED (median, rounded down) and SM (sum modulo 10), with 2 to 10
    arguments, each again an operation with a chance of a quarter.

    Parameters
    ----------
    count : int
    seed : int or None
    split, first : int
        Expressions first .. first + count of a split; each is the same whatever others are drawn.
    lengths : (int, int)
        Expressions have more tokens than the first number and fewer than the second.
    depth : int
        Most levels of nesting, digits in the innermost operation included.

    Returns
    -------
    expressions : list of uint8 arrays
        Numbers of `TOKENS`: digits are themselves.
    values : int64 array (count,)

    Examples
    --------
    >>> expressions, values = listops(1, seed=1, lengths=(4, 12))
    >>> " ".join(TOKENS[token] for token in expressions[0]), int(values[0])
    ('[MAX 0 9 7 0 ]', 9)
    """
    count, split, first = (
        checks.integer("count", count, 1),
        checks.integer("split", split, 0),
        checks.integer("first", first, 0),
    )
    shortest, longest = (
        checks.integer("lengths[0]", lengths[0], 1),
        checks.integer("lengths[1]", lengths[1], 6),
    )
    if longest < shortest + 2 or checks.integer("depth", depth, 2) < 2:
        raise ValueError(f"lengths must leave room for a length between them, got {lengths!r}")
    number, values = entropy(seed), np.empty(count, np.int64)
    expressions: list[np.ndarray] = []
    for begin in range(0, count, 1024):
        block = values[begin : begin + 1024]
        tokens = np.zeros((block.size, longest - 1), np.uint8)
        sizes = np.zeros(block.size, np.int64)
        _expressions(number % 2**63, split, first + begin, tokens, sizes, block, shortest, depth)
        expressions += [row[:size].copy() for row, size in zip(tokens, sizes, strict=True)]
    return expressions, values


def load_listops(seed: int | None = 0) -> ClassificationDataset:
    """ListOps with the sizes of the Long Range Arena: 98 000 cases to train on, 2 000 to test.

    Parameters
    ----------
    seed : int or None
        Decides what is drawn.

    Returns
    -------
    ClassificationDataset
        Series (time_i, 1) of tokens, numbers of `meta["tokens"]`; labels 0 to 9.
    """
    number = entropy(seed)

    def make(part: str) -> Sequences:
        series, values = listops(SIZES[part], number, list(SIZES).index(part))
        return Sequences.join(series, values)

    train, test = (prepare(f"listops-seed{number}", part, make) for part in SIZES)
    meta: dict[str, Any] = {
        "kind": "classification",
        "seed": number,
        "tokens": TOKENS,
        "note": "drawn by us after the published grammar",
    }
    return ClassificationDataset(
        "lra-listops",
        train.as_list(),
        train.labels,
        test.as_list(),
        test.labels,
        classes=np.arange(10),
        validation_fraction=2_000 / SIZES["train"],
        citation=_CITATION,
        meta=meta,
    )
