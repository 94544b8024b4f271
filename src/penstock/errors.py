"""What can go wrong, in one family: the command line catches `PenstockError` once and exits with code 2."""

from __future__ import annotations

from penstock.distribution import install_command


class PenstockError(Exception):
    """The root of every error that Penstock raises on purpose; its text is one line with the remedy."""


class BadInputError(PenstockError, ValueError):
    """A value that cannot work: names the field, the value, why it cannot work, and what to write instead.

    >>> raise BadInputError("tolerance", "120%", "a band wider than the target has no lower edge", "write e.g. 10%")
    Traceback (most recent call last):
        ...
    penstock.errors.BadInputError: tolerance = '120%': a band wider than the target has no lower edge; write e.g. 10%
    """

    def __init__(self, field: str, value: object, reason: str, remedy: str) -> None:
        super().__init__(f"{field} = {value!r}: {reason}; {remedy}")
        self.field = field
        self.value = value
        self.reason = reason
        self.remedy = remedy

    def __reduce__(self) -> tuple[type[BadInputError], tuple[str, object, str, str]]:
        """As it was made: an error of another process comes here pickled."""
        return type(self), (self.field, self.value, self.reason, self.remedy)


class UnsupportedError(PenstockError):
    """Something that this query, source or Spark version cannot do; the text says what to do instead."""


class KernelError(PenstockError):
    """A kernel raised for a window; what it raised is the cause."""


class LimitsReturnedError(PenstockError):
    """A limit was not set, since the user's own limits are back in force for now. That is no fault."""


class MissingExtraError(PenstockError, ImportError):
    """An optional package is absent; the text gives the install command."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed; run: {install_command(extra)}")
