"""Notes on what was done to a table, and how they are worded."""

from collections.abc import Sequence


class Note(str):
    """A sentence about a table, with its subject, by which notes on many series are merged.

    Examples
    --------
    >>> from paralesn.tables.notes import Note
    >>> note = Note("gaps", "2 gaps")
    >>> note, note.subject
    ('2 gaps', 'gaps')
    """

    subject: str

    def __new__(cls, subject: str, text: str) -> "Note":
        """Make a note from its subject and its text."""
        note = super().__new__(cls, text)
        note.subject = subject
        return note


def merge_notes(notes: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """Notes on many series, by name, as one for each subject: counted, with the first in full."""
    first: dict[str, tuple[str, str]] = {}
    counts: dict[str, int] = {}
    for name, texts in notes:
        subjects = {getattr(text, "subject", str(text)): text for text in reversed(texts)}
        for subject, text in reversed(subjects.items()):
            first.setdefault(subject, (name, text))
            counts[subject] = counts.get(subject, 0) + 1
    return [
        f"{name!r}: {text}" if counts[subject] == 1
        else f"{counts[subject]} of {len(notes)} series, the first {name!r}: {text}"
        for subject, (name, text) in first.items()
    ]  # fmt: skip


def shown(text: str) -> str:
    r"""People's text for a terminal or a picture: on one line, control characters as escapes.

    Examples
    --------
    >>> from paralesn.tables.notes import shown
    >>> print(shown("naïve \x1b[31mred\nline"))
    naïve \x1b[31mred\nline
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in text
    )


def counted(count: int, noun: str) -> str:
    """A number with its noun: 1 row, 2 rows."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def listed(names: Sequence[str], most: int = 40) -> str:
    """Names with commas between them; those after the first `most` are counted."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
