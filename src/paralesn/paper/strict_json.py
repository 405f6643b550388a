"""JSON as records are kept in, read strictly: what cannot be relied on is refused, and why."""

import json
import math
from typing import Any

DEEPEST = 50  # objects and lists within one another; records have six at most
_LONGEST = 300  # digits of a whole number: more do not fit a double


def parse(content: bytes) -> Any:
    r"""The value that JSON stands for.

    Beyond what is not JSON, it refuses what Python would read and others or we could not: NaN and
    infinities, numbers beyond a double, keys given twice, deep nesting, halves of surrogate pairs.

    Raises
    ------
    ValueError
        Says what is wrong as the end of a sentence that begins with what was read.

    Examples
    --------
    >>> parse(b'{"seed": 1}')
    {'seed': 1}
    >>> parse(b'{"seed": 1, "seed": 2}')
    Traceback (most recent call last):
    ValueError: has the key 'seed' twice
    """
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"is not UTF-8 at byte {error.start + 1}") from None
    try:
        value = json.loads(
            text, object_pairs_hook=_object, parse_constant=_constant, parse_float=_float,
            parse_int=_int,
        )  # fmt: skip
    except json.JSONDecodeError as error:
        raise ValueError(f"is not JSON from character {error.pos + 1} on") from None
    except RecursionError:
        raise ValueError(f"is nested more than {DEEPEST} deep") from None
    _check_depth(value)
    if "\\u" in text:  # the only way to write a half
        try:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError("has text with half a surrogate pair") from None
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"has the key {_short(twice)} twice")
    return made


def _constant(name: str) -> Any:
    raise ValueError(f"has {name}, which is no number of JSON")


def _float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"has a number beyond a double, {_short(digits)}")
    return value


def _int(digits: str) -> int:
    if len(digits) > _LONGEST:
        raise ValueError(f"has a number beyond a double, of {len(digits)} digits")
    return int(digits)


def _check_depth(value: Any) -> None:
    """Check it level by level: whoever walks through a value later may recurse."""
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > DEEPEST + 1:
            raise ValueError(f"is nested more than {DEEPEST} deep")
        inner = [
            v.values() if isinstance(v, dict) else v for v in level if isinstance(v, dict | list)
        ]
        level = [each for values in inner for each in values]


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "...")
