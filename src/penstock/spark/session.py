"""Session helpers: take a builder, return a builder; the user's session stays the user's."""

from __future__ import annotations

import logging
import os
import sys
from typing import TYPE_CHECKING
from urllib.parse import urlparse

import pyspark

from penstock.errors import BadInputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger("penstock")

PROFILES = ("fast", "safe")
_FILE_SYSTEM = "spark.hadoop.fs.file.impl"
_STATE_STORE = "spark.sql.streaming.stateStore.providerClass"


def configure(builder: SparkSession.Builder, profile: str = "fast") -> SparkSession.Builder:
    """Prepare a session builder for gated streaming and return it; what the user has set is left alone.

    ::

        spark = penstock.configure(SparkSession.builder.master("local[2]")).getOrCreate()

    `safe` only makes Python workers run this interpreter (where another `python3` lacks pyarrow, a streaming query
    with a Python source hangs with no error). `fast` also cuts the fixed cost of a batch, where the checkpoint is on
    the driver's local disk: files without a checksum file beside each (all local files of the session, as Hadoop has
    one setting for them; not with the RocksDB state store, which must be set on the builder before, or its queries fail
    and say so), checkpoint files written by one rename. Elsewhere it changes nothing, and says so in the
    log; of a checkpoint named only at the start of a query, `attach` tells. What each setting is worth: `make bench`;
    that a kill at any moment loses and doubles nothing under it: tests/reliability.
    """
    if profile not in PROFILES:
        raise BadInputError("profile", profile, "no such profile", f"write one of {', '.join(PROFILES)}")
    options: dict[str, str] = dict(getattr(builder, "_options", {}))
    if (why := _not_local(options)) is not None:
        if profile == "fast":
            log.warning("penstock: profile 'fast' changes nothing here: %s", why)
        return builder
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if profile == "safe":
        return builder
    settings = fast_settings()
    if "RocksDB" in options.get(_STATE_STORE, ""):
        # It copies its snapshots in a way that the file system without checksums does not know.
        del settings[_FILE_SYSTEM]
    for key, value in settings.items():
        if key not in options:
            builder = builder.config(key, value)
    return builder


def fast_settings() -> dict[str, str]:
    """The settings of the `fast` profile for the Spark that is installed."""
    # The class moved one package down after 4.0.
    package = "streaming" if pyspark.__version__.startswith("4.0.") else "streaming.checkpointing"
    return {
        "spark.sql.streaming.checkpointFileManagerClass": (
            f"org.apache.spark.sql.execution.{package}.FileSystemBasedCheckpointFileManager"
        ),
        _FILE_SYSTEM: "org.apache.hadoop.fs.RawLocalFileSystem",
    }


def _not_local(options: dict[str, str]) -> str | None:
    """Why the checkpoint is not on the driver's local disk, or None where it is, as far as the builder tells."""
    if "spark.remote" in options or "SPARK_REMOTE" in os.environ:
        return "a Spark Connect server keeps its own settings"
    if "spark.master" not in options and "PYSPARK_GATEWAY_PORT" in os.environ:
        return "spark-submit chose the master, and only it knows which"
    master = options.get("spark.master", os.environ.get("MASTER", "local"))
    if not master.startswith("local"):
        return f"master {master} needs a checkpoint that all machines see"
    for key in ("spark.sql.streaming.checkpointLocation", "spark.hadoop.fs.defaultFS"):
        scheme = urlparse(options.get(key, "")).scheme
        if scheme not in ("", "file"):
            return f"{key} = {options[key]} is not on a local disk"
    return None
