"""Names of months, whole or cut short, in the languages that tables often come in."""

import unicodedata

MONTH = r"[^\W\d_]{3,10}"  # what may be the name of a month
_NAMES = (
    "january february march april may june july august september october november december",
    "januar februar marz april mai juni juli august september oktober november dezember",
    "janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "janeiro fevereiro marco abril maio junho julho agosto setembro outubro novembro dezembro",
    "januari februari maart april mei juni juli augustus september oktober november december",
)
_SHORT = {"mrz": 3, "mrt": 3, "janner": 1, "jan": 1, "sept": 9}


def month_number(word: str) -> int:
    """The number of the month that a word names or begins to name; 0 where there is none.

    Examples
    --------
    >>> from paralesn.tables.months import month_number
    >>> [month_number(word) for word in ("Jan", "Sept", "März", "août", "juil", "Jul", "north")]
    [1, 9, 3, 8, 7, 7, 0]
    """
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    plain = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    if plain in _SHORT:
        return _SHORT[plain]
    numbers = {
        number
        for names in _NAMES
        for number, name in enumerate(names.split(), 1)
        if len(plain) >= 3 and name.startswith(plain)
    }
    return numbers.pop() if len(numbers) == 1 else 0
