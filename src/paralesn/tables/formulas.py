"""Text that spreadsheets take for formulas: written behind an apostrophe, and read without it.

The rule is OWASP's: text that begins with ``=``, ``+``, ``-``, ``@``, their wide forms, a tab or a
line end gets an apostrophe in front. Numbers, and a sign on its own, are no formulas. Text that
begins with an apostrophe before such a character gets another one, so that nothing is lost:
reading takes exactly one off. In pandas, ``.str.replace(r"^'(?='*[-=+@])", "", regex=True)`` does.
"""

import re
from collections.abc import Sequence

from paralesn.tables.numerals import is_numeral

_BEGINS = "[=+\\-@\uff1d\uff0b\uff0d\uff20\t\r\n]"
_FORMULA = re.compile(f"'*{_BEGINS}.", re.DOTALL)


def escaped(text: str) -> str:
    """The text as it is written to a CSV file.

    Examples
    --------
    >>> from paralesn.tables.formulas import escaped
    >>> [escaped(text) for text in ("=1+1", "@SUM(A1)", "-3.5", "-", "north")]
    ["'=1+1", "'@SUM(A1)", '-3.5', '-', 'north']
    """
    return f"'{text}" if _FORMULA.match(text) and not is_numeral(text) else text


def unescaped(texts: Sequence[str]) -> list[str]:
    """Texts of a CSV file without the apostrophes that `escaped` put there.

    As they are where other files meant something else: where two would become one.

    Examples
    --------
    >>> from paralesn.tables.formulas import unescaped
    >>> unescaped(["'=1+1", "'n Sync", "north"]), unescaped(["'=1+1", "=1+1"])
    (['=1+1', "'n Sync", 'north'], ["'=1+1", '=1+1'])
    """
    plain = [text[1:] if text[:1] == "'" and escaped(text[1:]) == text else text for text in texts]
    return plain if len(set(plain)) == len(set(texts)) else list(texts)
