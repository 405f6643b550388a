"""The error of a table that cannot be used as it is."""


class TableError(ValueError):
    """A table that cannot be used as it is.

    In messages, parameters are marked by backticks, also with a value: `missing='error'`.

    Attributes
    ----------
    parameter : str or None
        The parameter that is wrong, or that decides what to do about the table.
    """

    def __init__(self, message: str, *, parameter: str | None = None) -> None:
        super().__init__(message)
        self.parameter = parameter
