"""Why a query failed, in one line, and what to do about it where Spark's own words do not say it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_NO_TOPIC = ("UnknownTopicOrPartition",)
_NO_BROKER = ("Timed out waiting for a node assignment", "Timed out waiting to send the call")
_KAFKA = ("kafka.bootstrap.servers", "subscribe", "subscribepattern")
_RAW = ("RawLocalFileSystem cannot be cast",)
_NO_PYTHON = ("Cannot run program", "No such file or directory")
_GONE = ("OffsetOutOfRange", "Some data may have been lost", "KAFKA_DATA_LOSS")
_TRACEBACK = "Traceback (most recent call last):"
_LONGEST = 500


def cause(failure: object) -> str:
    r"""The line of a failure that tells most: what the Python worker raised, or else the first line.

    Spark's own first line ends with "Traceback (most recent call last):", the type and the message come last.

    >>> cause("[STREAM_FAILED] Query terminated: Traceback (most recent call last):\n  File 'a.py'\nKeyError: 'x'\n")
    "KeyError: 'x'"
    >>> cause(RuntimeError("no disk\n  at Disk.scala"))
    'no disk'
    """
    text = str(failure).strip()
    told = _raised(text.splitlines()) or next(iter(text.splitlines()), "") or type(failure).__name__
    return told if len(told) <= _LONGEST else f"{told[:_LONGEST]}..."


def _raised(lines: Sequence[str]) -> str:
    """Type and message of the last Python exception in a text, on one line; empty where there is none."""
    starts = [number for number, line in enumerate(lines) if _TRACEBACK in line]
    told: list[str] = []
    for line in lines[starts[-1] + 1 :] if starts else ():
        # Before it come indented frames and their code, after it the JVM's frames.
        if told and (not line.strip() or line.startswith(("\t", " "))):
            break
        if line.strip() and not line.startswith(("\t", " ")):
            told.append(line.strip())
    return " ".join(told)


def hint(failure: str, sources: Sequence[Mapping[str, str]]) -> str | None:
    """A line for the user, from the text of the failure and the options of the query's sources; None where none fits.

    >>> hint("... UnknownTopicOrPartitionException: This server does not host", [{"subscribe": "rides"}])
    "topic rides is not there; create it, or correct .option('subscribe', ...)"
    """
    if _has(failure, _RAW):
        return (
            "the RocksDB state store does not work without checksum files: leave raw_local_files=True out of "
            "penstock.configure, and RawLocalFileSystem out of spark.hadoop.fs.file.impl"
        )
    if all(sign in failure for sign in _NO_PYTHON) and "python" in failure:
        return "a worker has no Python where PYSPARK_PYTHON says; set it to a path that every worker has"
    options = [{key.lower(): value for key, value in each.items()} for each in sources]
    kafka = [each for each in options if any(key in each for key in _KAFKA)]
    if not kafka and "kafka" not in failure:
        return None
    if _has(failure, _NO_TOPIC):
        topics = (
            ", ".join(each.get("subscribe", each.get("subscribepattern", "?")) for each in kafka) or "that it reads"
        )
        return f"topic {topics} is not there; create it, or correct .option('subscribe', ...)"
    if _has(failure, _NO_BROKER):
        servers = ", ".join(sorted({each.get("kafka.bootstrap.servers", "?") for each in kafka})) or "its address"
        return f"no broker answers at {servers}; start it, or correct .option('kafka.bootstrap.servers', ...)"
    if _has(failure, _GONE):
        return (
            "the broker has deleted records that were not read; give max_lag to attach, keep records longer, or accept "
            "the loss with .option('failOnDataLoss', 'false')"
        )
    return None


def _has(failure: str, signs: Sequence[str]) -> bool:
    return any(sign in failure for sign in signs)
