"""Session helpers: take a builder, return a builder; the user's session stays the user's."""

from __future__ import annotations

import logging
import os
import sys
from typing import TYPE_CHECKING
from urllib.parse import urlparse

import pyspark

from penstock.errors import BadInputError
from penstock.spark.defaults import spark_defaults

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger("penstock")

PROFILES = ("fast", "safe")
_FILE_SYSTEM = "spark.hadoop.fs.file.impl"
_RAW = "org.apache.hadoop.fs.RawLocalFileSystem"
# RocksDB then commits what has changed in a batch, and a whole snapshot now and then.
_CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
_STATE_STORE = "spark.sql.streaming.stateStore.providerClass"


def configure(
    builder: SparkSession.Builder, profile: str = "fast", *, raw_local_files: bool = False
) -> SparkSession.Builder:
    """Prepare a session builder for gated streaming and return it.

    What the user has set, on the builder or in `spark-defaults.conf`, is left alone::

        spark = penstock.configure(SparkSession.builder.master("local[2]")).getOrCreate()

    `safe` only makes Python workers run this interpreter (where another `python3` lacks pyarrow, a streaming query
    with a Python source hangs with no error). On a cluster its path must exist on every worker; where they have Python
    elsewhere, set `PYSPARK_PYTHON` before, and it stays. On Kubernetes the image decides, with Connect the server.

    `fast` also cuts the fixed cost of a batch, where the checkpoint is on the driver's local disk: checkpoint files are
    written by one rename, through a path of Hadoop's that starts fewer processes, and RocksDB commits what has changed
    in a batch instead of all its files. Every state store works with it.
    Elsewhere it changes nothing, and says so in the log; of a checkpoint named only at the start of a query, `attach`
    tells.

    `raw_local_files=True` goes on top of `fast` and makes a batch cheaper still: local files without a checksum file
    beside each. Its price: it holds for all local files of the session, as Hadoop has one setting for them, a damaged
    file is not noticed, and the RocksDB state store does not work with it (its queries fail in their first batch).

    What each setting is worth: `make bench`; that a kill at any moment loses and doubles nothing: tests/reliability.
    """
    _check(builder, profile, raw_local_files)
    options = _options(builder)
    _choose_python(options)
    if profile == "safe":
        return builder
    if (why := _not_local(options)) is not None:
        log.warning("penstock: profile 'fast' changes nothing here: %s", why)
        return builder
    for key, value in fast_settings(raw_local_files).items():
        if key not in options:
            builder = builder.config(key, value)
    return builder


def fast_settings(raw_local_files: bool = False) -> dict[str, str]:
    """The settings of the `fast` profile for the Spark that is installed."""
    # The class moved one package down after 4.0.
    package = "streaming" if pyspark.__version__.startswith("4.0.") else "streaming.checkpointing"
    manager = f"org.apache.spark.sql.execution.{package}.FileSystemBasedCheckpointFileManager"
    settings = {"spark.sql.streaming.checkpointFileManagerClass": manager, _CHANGELOG: "true"}
    return {**settings, _FILE_SYSTEM: _RAW} if raw_local_files else settings


def _check(builder: object, profile: str, raw_local_files: bool) -> None:
    if not callable(getattr(builder, "config", None)):
        reason = "a session that runs already" if hasattr(builder, "newSession") else "not a session builder"
        remedy = "write penstock.configure(SparkSession.builder...).getOrCreate()"
        raise BadInputError("builder", builder, reason, remedy)
    if profile not in PROFILES:
        raise BadInputError("profile", profile, "no such profile", f"write one of {', '.join(PROFILES)}")
    if not raw_local_files:
        return
    if profile != "fast":
        raise BadInputError("raw_local_files", True, f"no part of profile {profile!r}", "write profile='fast' too")
    provider = _options(builder).get(_STATE_STORE, "")
    if "RocksDB" in provider:
        reason = f"the state store {provider.rpartition('.')[2]} does not work without checksum files"
        raise BadInputError("raw_local_files", True, reason, "leave it out")


def _options(builder: object) -> dict[str, str]:
    """What the builder will start with: its own options over those of `spark-defaults.conf`."""
    return {**spark_defaults(), **getattr(builder, "_options", {})}


def _choose_python(options: dict[str, str]) -> None:
    """Make workers run this interpreter, where it is ours to choose and nobody has chosen."""
    master = options.get("spark.master", os.environ.get("MASTER", "local"))
    if _of_connect(options) or master.startswith("k8s"):
        return
    if "PYSPARK_PYTHON" not in os.environ:
        os.environ["PYSPARK_PYTHON"] = sys.executable
        if not master.startswith("local"):
            log.info("penstock: workers run %s; set PYSPARK_PYTHON where they have it elsewhere", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)


def _of_connect(options: dict[str, str]) -> bool:
    return "spark.remote" in options or "SPARK_REMOTE" in os.environ


def _not_local(options: dict[str, str]) -> str | None:
    """Why the checkpoint is not on the driver's local disk, or None where it is, as far as the builder tells."""
    if _of_connect(options):
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
