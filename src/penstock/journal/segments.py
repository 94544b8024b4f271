"""The files of a journal: `path` is being written; full ones are `path.1` (the oldest), `path.2` and so on."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import BinaryIO

from penstock.errors import BadInputError
from penstock.journal.records import VERSION, parse

_HEADER_MARK = b'{"kind":"header"'


def numbered(path: Path, number: int) -> Path:
    """The file of a full segment."""
    return path.with_name(f"{path.name}.{number}")


def numbers(path: Path) -> list[int]:
    """The numbers of the full segments that are there, oldest first."""
    pattern = re.compile(re.escape(path.name) + r"\.([1-9]\d*)")
    names = os.listdir(path.parent) if path.parent.is_dir() else []
    return sorted(int(found[1]) for name in names if (found := pattern.fullmatch(name)))


def open_current(path: Path) -> tuple[int, BinaryIO] | None:
    """The segment being written and its number; None while it is not there or has no whole header yet."""
    try:
        file = open(path, "rb")  # noqa: SIM115 - handed to the caller
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadInputError("journal", str(path), str(error.strerror), "give the file that a run wrote") from error
    segment = _segment_of(path, file)
    if segment is None:
        file.close()
        return None
    return segment, file


def _segment_of(path: Path, file: BinaryIO) -> int | None:
    first = file.readline(2**20)
    header = parse(first)
    begun = _HEADER_MARK.startswith(first) or (first.startswith(_HEADER_MARK) and not first.endswith(b"\n"))
    if header is None and begun:
        return None
    if header is None or header["kind"] != "header":
        file.close()
        raise BadInputError("journal", str(path), "this file is not a Penstock journal", "give another path")
    if header.get("version") != VERSION:
        file.close()
        raise BadInputError(
            "journal version", header.get("version"), f"this Penstock reads version {VERSION}", "upgrade Penstock"
        )
    return int(header.get("segment", 1))


def repair(path: Path) -> tuple[int, int]:
    """Cut what a crash left behind the last whole record; the segment's number and how many bytes were cut.

    A file that is not a journal is refused before anything is cut.
    """
    with open(path, "r+b") as file:
        segment = _segment_of(path, file)
        end = size = file.seek(0, os.SEEK_END)
        last = b""
        while end and parse(last := _line_before(file, end)) is None:
            end -= len(last)
        file.truncate(end)
        if end and not last.endswith(b"\n"):
            file.seek(end)
            file.write(b"\n")
        return segment or 0, size - end


def _line_before(file: BinaryIO, end: int) -> bytes:
    start = end - 1
    while start > 0:
        step = min(start, 2**16)
        file.seek(start - step)
        found = file.read(step).rfind(b"\n")
        if found >= 0:
            start = start - step + found + 1
            break
        start -= step
    file.seek(start)
    return file.read(end - start)
