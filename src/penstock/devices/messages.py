"""Numba's messages, of which one line and the place matter, as errors of one line."""

from __future__ import annotations

import linecache
import re

from penstock.devices.kernel import Kernel
from penstock.errors import BadInputError

REMEDY = "keep to what Numba compiles, or write compiled=False"
# Longer reasons are cut: the whole error has to fit on two lines of a terminal.
_LONGEST_REASON = 160
_STAGE = re.compile(r"Failed in \w+ mode pipeline")
_SPECIFIC = re.compile(r"Rejected as the implementation raised a specific error:\s*\n\s*(?:\w+: )?(.+)")
_SIGNATURE = re.compile(r">>> (.+)")
_PLACE = re.compile(r'File "([^"]+)", line (\d+)|(?:at|from) (\S+) \((\d+)\)')


def refused(kernel: Kernel, error: Exception) -> BadInputError:
    """A kernel that does not compile: what is wrong, in which line of the source, and the remedy."""
    place = _place(kernel, str(error))
    return BadInputError("kernel", kernel.name, reason_of(str(error)) + (f" ({place})" if place else ""), REMEDY)


def reason_of(text: str) -> str:
    """The line that matters.

    >>> reason_of(chr(10).join(["Failed in nopython mode pipeline (step: x)", "Unknown attribute 'foo'", "File ..."]))
    "Unknown attribute 'foo'"
    """
    specific = [line for line in _SPECIFIC.findall(text) if not _STAGE.search(line)]
    lines = [line.strip() for line in text.splitlines() if line.strip() and not _STAGE.search(line)]
    reason = specific[0].strip() if specific else lines[0] if lines else "it does not compile"
    if not specific and reason.startswith("No implementation of") and (call := _SIGNATURE.search(text)):
        reason = f"Numba has no {call[1].strip()}"
    reason = re.sub(r"\.+ Raised from .*", "", reason).rstrip(".")
    return reason if len(reason) <= _LONGEST_REASON else reason[: _LONGEST_REASON - 3] + "..."


def _place(kernel: Kernel, text: str) -> str:
    """The last place named in the user's own file, with the line of its source."""
    code = getattr(kernel.function, "__code__", None)
    if code is None:
        return ""
    file = code.co_filename
    for named, line, short, short_line in reversed(_PLACE.findall(text)):
        number = int(line or short_line)
        if file.endswith(named or short):
            source = linecache.getline(file, number).strip()
            return f"line {number}: {source}" if source else f"line {number}"
    return f"line {code.co_firstlineno}"
