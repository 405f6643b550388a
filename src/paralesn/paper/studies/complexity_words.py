"""Seconds, bytes and digits as people read them."""

from typing import Any


def seconds(value: float) -> str:
    """Three digits and a unit."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= 0.9995 * scale:
            return f"{_digits(value / scale)} {unit}"
    return f"{_digits(value * 1e9)} ns"


def size(value: float, gap: str = "") -> str:
    """Three digits and a power of thousand."""
    for unit, scale in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= 0.9995 * scale:
            return f"{_digits(value / scale)}{gap}{unit}"
    return f"{value:.0f}{gap}"


def _digits(value: float) -> str:
    return f"{value:.0f}" if value >= 99.95 else f"{value:.3g}"


def cores_words(record: dict[str, Any]) -> str:
    """The cores that measured."""
    count = record["machine"]["cores"]
    return "1 core" if count == 1 else f"{count} cores"


def digits_words(record: dict[str, Any]) -> str:
    """What the batch of digits was."""
    read = next((m for m in record["measurements"] if m["kind"] == "digits"), None)
    if read is None:
        return "digits"
    what = "digits" if read.get("series") != "random" else "random series"
    return f"{read['digits']} {what} of {read['steps']} pixels"
