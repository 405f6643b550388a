"""Local times that change to daylight saving time and back, without a zone to tell.

The hour that clocks are set back comes twice, which is known by the order of the file. Rows in
summer are put back by an hour, so that steps are equal again.
"""

from itertools import pairwise

import numpy as np

from paralesn.tables.clock import format_times
from paralesn.tables.notes import Note

_HOUR = np.timedelta64(3600 * 10**9, "ns")
_NIGHT = 5  # clocks are changed before this hour


def standard_time(times: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Times of rows in standard time, and what to say about it.

    Times are left as they are unless every one that does not follow the one before it is a change
    of clocks in the night, set back and forward in turn.
    """
    if len(times) < 4 or not np.issubdtype(times.dtype, np.datetime64):
        return times, []
    ordered = times[::-1] if times[0] > times[-1] else times
    steps = np.diff(ordered)
    sizes, counts = np.unique(steps, return_counts=True)
    step = sizes[counts.argmax()]
    if not np.timedelta64(0, "ns") < step <= _HOUR:
        return times, []
    back = np.flatnonzero(steps == step - _HOUR) + 1
    forward = np.flatnonzero(steps == step + _HOUR) + 1
    if not back.size or (steps <= np.timedelta64(0, "ns")).sum() != back.size:
        return times, []
    events = sorted([*((row, -1) for row in back), *((row, 1) for row in forward)])
    rows = np.array([row for row, _ in events])
    hours = (ordered[rows] - ordered[rows].astype("M8[D]")) // _HOUR
    signs = [sign for _, sign in events]
    in_turn = all(a != b for a, b in pairwise(signs))
    if (hours >= _NIGHT).any() or not in_turn or (np.diff(ordered[rows]) < 80 * 24 * _HOUR).any():
        return times, []
    is_summer = np.zeros(len(ordered), int)
    is_summer[0] = signs[0] == -1
    is_summer[rows] = signs
    shifted = ordered - is_summer.cumsum() * _HOUR
    first = format_times(ordered[back[0] : back[0] + 1])[0]
    note = Note(
        "daylight",
        f"clocks are set back at {first}, where an hour comes again: times in summer are put back "
        "by an hour, to standard time",
    )
    return (shifted[::-1] if times[0] > times[-1] else shifted), [note]
