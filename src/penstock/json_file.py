"""Files that are replaced whole, so that no reader ever finds a torn one; most of them hold a JSON object."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def write_json(path: str | Path, fields: Mapping[str, Any], indent: int | None = 1) -> None:
    """Write an object, whole or not at all.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "size.json"
    >>> read_json(path), write_json(path, {"size": 500}), read_json(path)
    (None, None, {'size': 500})
    """
    write_whole(path, json.dumps(fields, indent=indent, ensure_ascii=False) + "\n")


def write_whole(path: str | Path, text: str) -> None:
    """Write a text, whole or not at all."""
    # Plain calls: some of these are written for every batch, and pathlib costs as much as the disk.
    fresh, content = f"{path}.{os.getpid()}.tmp", text.encode()
    with open(fresh, "wb", buffering=0) as file:
        written = file.write(content)
    if written != len(content):
        # A disk that is nearly full takes a part, without an error.
        os.unlink(fresh)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
    os.replace(fresh, path)


def read_json(path: str | Path) -> dict[str, Any] | None:
    """The object in a file, or None where there is none that can be read."""
    try:
        with open(path, "rb", buffering=0) as file:
            fields = json.loads(file.read())
    except (OSError, ValueError):
        return None
    return fields if isinstance(fields, dict) else None
