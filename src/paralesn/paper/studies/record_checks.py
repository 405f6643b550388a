"""Whether records of studies hold what tables and figures read from them.

A study is kept whole in one file: where a part of it is damaged, the other parts count.
"""

from collections.abc import Callable, Mapping
from typing import Any

from paralesn.paper.catalogue import models, tasks
from paralesn.paper.fields import (
    COUNT,
    NUMBER,
    OBJECT,
    POSITIVE,
    SURROUNDINGS,
    TEXT,
    Field,
    is_count,
    is_list_of,
    is_number,
    is_positive,
    is_text,
    problem_of,
)
from paralesn.paper.records import Record

Part = dict[str, Any]
Reasons = list[str]  # what was passed over, and why

_LIST = Field(lambda value: isinstance(value, list), "a list")
_SIZE = Field(lambda value: is_count(value) and value > 0, "a positive whole number")
_ROUNDS = Field(
    lambda value: bool(value) and is_list_of(is_positive)(value), "a list of positive numbers"
)
_TASK = Field(lambda value: value in list(tasks()), "a task of the catalogue")
_MODEL = Field(lambda value: value in list(models()), "a model of the catalogue")


def experiment(record: Record) -> tuple[Record | None, Reasons]:
    """A record of a study without its damaged parts, or None; and what was passed over.

    Parameters
    ----------
    record : dict
        With an `experiment`, of which those that are not known are left alone.
    """
    if record["experiment"] not in _STUDIES:
        return record, []
    needed, fields, parts, name, check = _STUDIES[record["experiment"]]
    problem = problem_of(record, needed, fields, optional=())
    if problem:
        return None, [f"it {problem}"]
    problems = {number: check(part) for number, part in enumerate(record[parts], 1)}
    reasons = [f"{name} {number} {why}" for number, why in problems.items() if why]
    intact = [part for number, part in enumerate(record[parts], 1) if not problems[number]]
    if not intact and record[parts]:
        return None, reasons
    return {**record, parts: intact}, reasons


# -- parts of studies ------------------------------------------------------------------------------


def measurement(part: Any) -> str | None:
    """Why a measurement of complexity cannot be used, or None."""
    if not isinstance(part, dict):
        return "is no object"
    kind, fits = str(part.get("kind")), not part.get("out_of_memory")
    needed = {
        "parameters": ["parameters"],
        "length": ["steps", "seconds"],
        "digits": ["digits", "steps", *(["seconds"] if fits else ["needed_bytes", "limit_bytes"])],
    }
    problem = problem_of(
        part, ["kind", "model", "units", *needed.get(kind, [])], _OF_MEASUREMENTS,
        optional=("peak_bytes", "recurrence_bytes", "limit_bytes"),
    )  # fmt: skip
    if problem is None and not fits and part["model"] == "ESN" and kind != "digits":
        lacking = [name for name in ("matrix_bytes", "limit_bytes") if name not in part]
        return f"is without {', '.join(lacking)}" if lacking else None
    return problem


_OF_MEASUREMENTS: Mapping[str, Field] = {
    "kind": TEXT,
    "model": TEXT,
    "units": _SIZE,
    "steps": _SIZE,
    "digits": _SIZE,
    "series": TEXT,
    "parameters": POSITIVE,
    "seconds": _ROUNDS,
    "seconds_per_step": _ROUNDS,
    **dict.fromkeys(
        ("peak_bytes", "parameter_bytes", "recurrence_bytes", "matrix_bytes", "needed_bytes",
         "limit_bytes"), NUMBER,
    ),
}  # fmt: skip


def approximation(part: Any) -> str | None:
    """Why errors of a reservoir in the study of universality cannot be used, or None."""
    if not isinstance(part, dict):
        return "is no object"
    errors = dict.fromkeys(("linear", "perceptron", "formula"), POSITIVE)
    return problem_of(part, ["units", *errors], {"units": _SIZE, **errors})


def effect(part: Any) -> str | None:
    """Why the effect of a hyperparameter cannot be used, or None."""
    if not isinstance(part, dict):
        return "is no object"
    problem = problem_of(
        part, ["name", "share", "values"], {"name": TEXT, "share": NUMBER, "values": _LIST}
    )
    if problem is None and not part["values"]:
        return "has no values"
    return problem or next(filter(None, map(_value, part["values"])), None)


def _is_pair(part: Any) -> bool:
    """Whether it is what a minimum and a maximum explain together."""
    return isinstance(part, dict) and is_text(part.get("name")) and is_number(part.get("share"))


def _value(value: Any) -> str | None:
    if not isinstance(value, dict):
        return "has a value that is no object"
    quartiles = Field(lambda v: is_list_of(is_number)(v) and len(v) == 3, "three numbers")
    fields = {"value": TEXT, "trials": COUNT, "best": NUMBER, "quartiles": quartiles}
    problem = problem_of(value, fields, fields)
    return problem and f"has a value that {problem}"


_Study = tuple[list[str], Mapping[str, Field], str, str, Callable[[Any], str | None]]
_STUDIES: Mapping[str, _Study] = {
    "complexity": (
        ["rounds", "machine", "measurements"],
        {
            **SURROUNDINGS,
            "machine": Field(lambda value: isinstance(value, dict) and "cores" in value,
                             "an object with cores"),
            "measurements": _LIST,
        },
        "measurements", "measurement", measurement,
    ),
    "universality": (
        ["settings", "results"],
        {
            **SURROUNDINGS,
            "settings": Field(lambda value: isinstance(value, dict) and "seeds" in value,
                              "an object with seeds"),
            "results": Field(lambda value: bool(value) and isinstance(value, list),
                             "a list of errors"),
        },
        "results", "result", approximation,
    ),
    "sensitivity": (
        ["task", "model", "space", "trials", "effects"],
        {
            **SURROUNDINGS, "task": _TASK, "model": _MODEL, "space": TEXT, "trials": COUNT,
            "effects": _LIST, "source": TEXT, "seeds": COUNT,
            "pairs": Field(is_list_of(_is_pair), "a list of names with their shares"),
        },
        "effects", "effect", effect,
    ),
}  # fmt: skip


# -- races -----------------------------------------------------------------------------------------


def race(record: Record) -> str | None:
    """Why a record of a race cannot be used, or None."""
    problem = problem_of(record, _OF_RACES, _OF_RACES | SURROUNDINGS)
    if problem is None and (why := problem_of(record["settings"], _OF_SETTINGS, _OF_SETTINGS)):
        return f"has settings of which it {why}"
    return problem


def _is_point(value: Any) -> bool:
    """Whether it is seconds and an accuracy."""
    is_pair = isinstance(value, list) and len(value) == 2
    return is_pair and is_positive(value[0]) and is_number(value[1])


_OF_RACES: dict[str, Field] = {
    "task": _TASK,
    "model": _MODEL,
    "settings": OBJECT,
    "points": Field(lambda value: bool(value) and is_list_of(_is_point)(value),
                    "a list of seconds and accuracies"),
    "seconds": POSITIVE,
    "accuracy": NUMBER,
    "parameters": COUNT,
    "configuration": TEXT,
}  # fmt: skip
_OF_SETTINGS = {
    "seconds": POSITIVE,
    **dict.fromkeys(("train", "validation", "test", "threads"), COUNT),
}
