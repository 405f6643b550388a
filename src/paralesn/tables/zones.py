"""Time zones in text: offsets from UTC, and abbreviations as they are mostly meant."""

import re

_ABBREVIATIONS = {
    "Z": 0, "UTC": 0, "GMT": 0, "WET": 0, "WEST": 60, "CET": 60, "CEST": 120, "MEZ": 60,
    "MESZ": 120, "EET": 120, "EEST": 180, "MSK": 180, "JST": 540, "KST": 540, "AEST": 600,
    "AEDT": 660, "NZST": 720, "NZDT": 780, "EST": -300, "EDT": -240, "CST": -360, "CDT": -300,
    "MST": -420, "MDT": -360, "PST": -480, "PDT": -420,
}  # fmt: skip
_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2}):?(\d{2})?")
_ZONE = (
    "(?:" + "|".join(sorted(_ABBREVIATIONS, key=len, reverse=True))
    + r")(?![A-Z+-])|(?:UTC|GMT)?[+-]\d{2}(?::?\d{2})?"
)  # fmt: skip
ZONE = f"(?:{_ZONE})"
ENDS_WITH_ZONE = re.compile(rf":\d{{2}}(?:[.,]\d+)? ?({ZONE})$")


def offset_minutes(zone: str) -> int:
    """Minutes that a zone is ahead of UTC.

    Examples
    --------
    >>> from paralesn.tables.zones import offset_minutes
    >>> offset_minutes("+05:30"), offset_minutes("EST"), offset_minutes("UTC-3")
    (330, -300, -180)
    """
    if zone in _ABBREVIATIONS:
        return _ABBREVIATIONS[zone]
    match = _OFFSET.fullmatch(zone)
    if match is None:
        raise ValueError(f"expected an offset such as +01:00, got {zone!r}")
    minutes = 60 * int(match[2]) + int(match[3] or 0)
    return -minutes if match[1] == "-" else minutes
