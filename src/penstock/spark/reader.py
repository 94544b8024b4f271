"""The first batch is gated too: a small first limit in the reader's options, before the query starts."""

from __future__ import annotations

from typing import Any, TypeVar

from penstock.errors import BadInputError, UnsupportedError

FIRST_FILES = 1
FIRST_ROWS = 1000

Reader = TypeVar("Reader")


def gated(reader: Reader, first: int | None = None) -> Reader:
    """Give a stream reader a small first limit and remember the user's own; the loop ramps up from there.

    Spark plans the first batch before `start()` returns, so no `attach` can be early enough: after an outage it would
    take the whole backlog. Use it on any reader, before `load` (or `json`, `parquet`, ...)::

        df = penstock.gated(spark.readStream.schema(schema)).json("incoming/")

    `first` is how much the first batch admits, in files or rows; by default 1 file or 1000 rows. A limit that the
    user had set (`maxFilesPerTrigger`, `maxBytesPerTrigger`, `maxRowsPerTrigger`) comes back at `detach()`.
    """
    if first is not None and first < 1:
        raise BadInputError("first", first, "the first batch must admit something", "give 1 or more")
    jreader = getattr(reader, "_jreader", None)
    if jreader is None:
        raise UnsupportedError(
            "this is a Spark Connect reader; gate the query from a classic session in the driver's process"
        )
    own = _options(jreader)
    files, bytes_, rows = own.get("maxfilespertrigger"), own.get("maxbytespertrigger"), own.get("maxrowspertrigger")
    options: dict[str, str] = {"penstock.rows": rows or "none", "maxRowsPerTrigger": str(first or FIRST_ROWS)}
    if bytes_ is not None:
        # One byte admits exactly one file; files and bytes may not both be limited.
        options |= {"penstock.files": f"bytes:{bytes_}", "maxBytesPerTrigger": "1"}
    else:
        options |= {
            "penstock.files": "none" if files is None else f"files:{files}",
            "maxFilesPerTrigger": str(first or FIRST_FILES),
        }
    answer: Reader = reader.options(**options)  # type: ignore[attr-defined]
    return answer


def _options(jreader: Any) -> dict[str, str]:
    """The options the user has set so far, by their names in lower case."""
    at = jreader.getClass()
    while at is not None:
        for field in at.getDeclaredFields():
            if field.getName().split("$$")[-1] == "extraOptions":
                field.setAccessible(True)
                entries = field.get(jreader).iterator()
                found: dict[str, str] = {}
                while entries.hasNext():
                    entry = entries.next()
                    found[str(entry._1()).lower()] = str(entry._2())
                return found
        at = at.getSuperclass()
    raise UnsupportedError("this version of Spark keeps a reader's options elsewhere; set the first limit by hand")
