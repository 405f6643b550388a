"""Records of many seeds in one line: what the seeds share once, what differs by seed as lists.

Such a line is a record whose field `by_seed` has the shape of the fields that differ, with a list
in place of each value, one entry for each seed.
"""

import json
from collections.abc import Iterable, Iterator
from copy import deepcopy
from typing import Any

from paralesn.paper import runs
from paralesn.paper.records import Record

BY_SEED = "by_seed"
_DIGITS = 6  # significant ones of what was measured
# What tells runs and rows apart must be found again as it was, to the last digit.
_EXACT = (*runs.IDENTITY, "validation", "settings")
Path = tuple[str, ...]


def compact(records: Iterable[Record]) -> list[Record]:
    """Runs, one line for each configuration; measured figures are rounded to six digits.

    The metric of the tables keeps all of its digits, so that runs can be compared to the bit.

    Examples
    --------
    >>> shared = {"kind": "regression", "task": "mg", "metric": "nrmse"}
    >>> recorded = [
    ...     shared | {"seed": seed, "metrics": {"nrmse": error}, "seconds": 1.23456789}
    ...     for seed, error in ((1, 0.1 + 0.2), (0, 0.5))
    ... ]
    >>> (line,) = compact(recorded)
    >>> line["seconds"], line["by_seed"]
    (1.23457, {'metrics': {'nrmse': [0.5, 0.30000000000000004]}, 'seed': [0, 1]})
    >>> [run["metrics"]["nrmse"] for run in expand(line)]
    [0.5, 0.30000000000000004]
    """
    alike: dict[str, list[Record]] = {}
    for run in records:
        same = [runs.identity(run | {"seed": None}), sorted(path for path, _ in _leaves(run))]
        alike.setdefault(json.dumps(same), []).append(rounded(run))
    return [_line(sorted(group, key=lambda run: run["seed"])) for group in alike.values()]


def expand(line: Record) -> list[Record]:
    """The records that a line stands for: itself, unless it is compact.

    Raises
    ------
    ValueError
        Says what is wrong as the end of a sentence that begins with the line.
    """
    if BY_SEED not in line:
        return [line]
    lists = list(_leaves({BY_SEED: line[BY_SEED]}))
    lengths = {len(values) if isinstance(values, list) else 0 for _, values in lists}
    if len(lengths) != 1 or 0 in lengths:
        raise ValueError(f"has no lists of one length for {BY_SEED}")
    made = []
    for index in range(lengths.pop()):
        run = deepcopy({name: value for name, value in line.items() if name != BY_SEED})
        for path, values in lists:
            _put(run, path[1:], values[index])
        made.append(run)
    return made


def rounded(record: Record) -> Record:
    """A record with six digits of whatever was measured, but for the metric of the tables."""
    made: Record = _rounded(record) | {name: record[name] for name in _EXACT if name in record}
    metric = record.get("metric")
    if metric in record.get("metrics", {}):
        made["metrics"][metric] = record["metrics"][metric]
    return made


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, dict):
        return {name: _rounded(inner) for name, inner in value.items()}
    return [_rounded(inner) for inner in value] if isinstance(value, list) else value


def _line(group: list[Record]) -> Record:
    """Runs of one configuration, in the order of their seeds, as one line."""
    if len(group) == 1:
        return group[0]
    line: Record = {}
    for path, _ in sorted(_leaves(group[0])):
        values = [_at(run, path) for run in group]
        is_shared = len({json.dumps(value, sort_keys=True) for value in values}) == 1
        if is_shared and path != ("seed",):
            _put(line, path, values[0])
        else:
            _put(line, (BY_SEED, *path), values)
    return line


def _leaves(value: dict[str, Any], path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Everything in an object that is no object itself, or an empty one, and where it stands."""
    for name, inner in value.items():
        if isinstance(inner, dict) and inner:
            yield from _leaves(inner, (*path, name))
        else:
            yield (*path, name), inner


def _at(value: Any, path: Path) -> Any:
    for name in path:
        value = value[name]
    return value


def _put(record: Record, path: Path, value: Any) -> None:
    *outer, last = path
    for name in outer:
        record = record.setdefault(name, {})
        if not isinstance(record, dict):
            raise ValueError(f"has {name} for all seeds and in {BY_SEED}")
    record[last] = value
