"""The first batch is gated too: a small first limit in the reader's options, before the query starts."""

from __future__ import annotations

from typing import Any, TypeVar

from penstock.errors import UnsupportedError
from penstock.spark.arguments import java_reader, whole

FIRST_FILES = 1
FIRST_ROWS = 1000
_FILES = ("json", "csv", "parquet", "orc", "text", "xml", "avro")

Reader = TypeVar("Reader")


def gated(reader: Reader, first: int | None = None) -> Reader:
    """Give a stream reader a small first limit and remember the user's own; the loop ramps up from there.

    Spark plans the first batch before `start()` returns, so no `attach` can be early enough: after an outage it would
    take the whole backlog. Use it on a reader of Kafka, files or workloads, before `load` (or `json`, ...)::

        df = penstock.gated(spark.readStream.format("kafka").option("subscribe", "rides").option(...)).load()

    `first` is how much the first batch admits, in rows or files; by default 1000 rows or 1 file, and always 1 file
    where `maxBytesPerTrigger` is set. A limit that the user had set (`maxOffsetsPerTrigger`, `maxFilesPerTrigger`,
    `maxBytesPerTrigger`, `maxRowsPerTrigger`) comes back at `detach()`.
    """
    if first is not None:
        whole("first", first, least=1, example=FIRST_ROWS)
    jreader = java_reader(reader)
    fields = _fields(jreader)
    kind = str(fields["source"]).lower()
    own = _options(fields["extraOptions"])
    if kind == "kafka":
        options = _kafka(own, first or FIRST_ROWS)
    elif kind.startswith("penstock"):
        options = {"penstock.rows": own.get("maxrowspertrigger", "none"), "maxRowsPerTrigger": str(first or FIRST_ROWS)}
    elif kind.startswith(_FILES):
        options = _files(own, first or FIRST_FILES)
    else:
        raise UnsupportedError(
            f"format {fields['source']!r} has no first limit that Penstock can set: it knows Kafka, files and "
            "workloads; set the source's own option and attach nothing"
        )
    answer: Reader = reader.options(**options)  # type: ignore[attr-defined]
    return answer


def _kafka(own: dict[str, str], first: int) -> dict[str, str]:
    # Spark refuses a maximum below the minimum that the user asked for.
    least = int(own.get("minoffsetspertrigger", 0))
    return {"penstock.rows": own.get("maxoffsetspertrigger", "none"), "maxOffsetsPerTrigger": str(max(first, least))}


def _files(own: dict[str, str], first: int) -> dict[str, str]:
    files, bytes_ = own.get("maxfilespertrigger"), own.get("maxbytespertrigger")
    if bytes_ is not None:
        # One byte admits exactly one file; files and bytes may not both be limited.
        return {"penstock.files": f"bytes:{bytes_}", "maxBytesPerTrigger": "1"}
    return {"penstock.files": "none" if files is None else f"files:{files}", "maxFilesPerTrigger": str(first)}


def _fields(jreader: Any) -> dict[str, Any]:
    """Format and options that the user has set so far; Spark has no public way to ask a reader for them."""
    found: dict[str, Any] = {}
    at = jreader.getClass()
    while at is not None:
        for field in at.getDeclaredFields():
            name = field.getName().split("$$")[-1]
            if name in ("source", "extraOptions"):
                field.setAccessible(True)
                found[name] = field.get(jreader)
        at = at.getSuperclass()
    if len(found) < 2:
        raise UnsupportedError("this version of Spark keeps a reader's options elsewhere; set the first limit by hand")
    return found


def _options(scala_map: Any) -> dict[str, str]:
    """A map of Scala as a dictionary, its keys in lower case."""
    found: dict[str, str] = {}
    entries = scala_map.iterator()
    while entries.hasNext():
        entry = entries.next()
        found[str(entry._1()).lower()] = str(entry._2())
    return found
