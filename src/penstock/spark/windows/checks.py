"""What is refused when windows are defined, so that no query starts that cannot work."""

from __future__ import annotations

import logging
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as t

from penstock.devices.kernel import Kernel
from penstock.errors import BadInputError

log = logging.getLogger("penstock")

STATE_STORE = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
SHUFFLE = "spark.sql.shuffle.partitions"
_FILE_SYSTEM = "spark.hadoop.fs.file.impl"
_WHOLE = (t.ByteType, t.ShortType, t.IntegerType, t.LongType)
_REAL = (t.FloatType, t.DoubleType)
_KEYS: dict[type[t.DataType], Any] = {
    t.StringType: pa.string(),
    t.BooleanType: pa.bool_(),
    t.ByteType: pa.int8(),
    t.ShortType: pa.int16(),
    t.IntegerType: pa.int32(),
    t.LongType: pa.int64(),
    t.DateType: pa.date32(),
}
# A shuffle of more tasks a core than this makes small batches slow: 200 tasks take seconds on two cores.
_MOST_TASKS_A_CORE = 16


def whole(value: object) -> bool:
    """Whether this is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def column(name: str) -> Column:
    """The column with this name, also where the name has dots."""
    return f.col("`" + name.replace("`", "``") + "`")


def column_type(df: DataFrame, name: object, field: str) -> t.DataType:
    """The type of a column."""
    if not isinstance(name, str):
        raise BadInputError(field, name, "not the name of a column", "write its name as a text")
    if name not in df.columns:
        raise BadInputError(field, name, "no such column", f"choose one of: {', '.join(df.columns)}")
    return df.schema[name].dataType


def value_dtype(df: DataFrame, name: object) -> str:
    """How a kernel gets a column: `float64`, or `int64` for whole numbers."""
    found = column_type(df, name, "column")
    if isinstance(found, _WHOLE):
        return "int64"
    if isinstance(found, _REAL):
        return "float64"
    raise BadInputError("column", name, f"{found.simpleString()} is no number", "cast it, e.g. to double")


def key_type(df: DataFrame, name: object) -> Any:
    """How Arrow has the key."""
    found = column_type(df, name, "by")
    if type(found) not in _KEYS:
        raise BadInputError("by", name, f"{found.simpleString()} cannot be a key", "cast it to string")
    return _KEYS[type(found)]


def check_order(df: DataFrame, name: object, keyed: bool) -> t.DataType:
    """Refuse an order that is no number of rows."""
    found = column_type(df, name, "order")
    if not isinstance(found, _WHOLE) and not (keyed and isinstance(found, t.TimestampType)):
        reason = f"{found.simpleString()} does not {'order' if keyed else 'number'} rows"
        remedy = "give a column of whole numbers" + (" or a timestamp" if keyed else ", without holes")
        raise BadInputError("order", name, reason, remedy)
    return found


def check_kernel(kernel: object) -> None:
    """Refuse a function that is no kernel."""
    if not isinstance(kernel, Kernel):
        name = getattr(kernel, "__name__", kernel)
        raise BadInputError("kernel", name, "not a kernel", "write @penstock.kernel(...) above it")


def check_names(by: str | None, kernel: Kernel) -> None:
    """Refuse outputs that have the name of another column of the result."""
    taken = {"window", "start", "end"}
    if by is not None and by.lower() in taken:
        raise BadInputError("by", by, "a column of the result has this name", "rename it before")
    taken |= {by.lower()} if by else set()
    for output in kernel.outputs:
        if output.name.lower() in taken:
            raise BadInputError("outputs", output.name, "a column of the result has this name", "name it otherwise")


def check_stream(df: DataFrame, in_time: bool) -> None:
    """Refuse a stream whose state store or watermark does not do."""
    spark = df.sparkSession
    provider = str(spark.conf.get(STATE_STORE))
    if not provider.endswith("RocksDBStateStoreProvider"):
        reason = "windows keep their state in RocksDB"
        raise BadInputError(STATE_STORE, provider.rpartition(".")[2], reason, f"set it to {ROCKSDB}")
    if (spark.conf.get(_FILE_SYSTEM, None) or "").endswith("RawLocalFileSystem"):
        reason = "RocksDB cannot commit without checksum files"
        raise BadInputError(_FILE_SYSTEM, "RawLocalFileSystem", reason, "leave raw_local_files out")
    if in_time and "EventTimeWatermark" in df._jdf.queryExecution().analyzed().toString():
        reason = "the stream has a watermark already, and Spark allows one"
        raise BadInputError("watermark", "twice", reason, "leave withWatermark out; windows(..., watermark=) sets it")
    _warn_of_tasks(spark)


def _warn_of_tasks(spark: SparkSession) -> None:
    tasks, cores = shuffle_tasks(spark), spark.sparkContext.defaultParallelism
    if tasks > _MOST_TASKS_A_CORE * cores:
        log.warning(
            "penstock: %s = %d makes every batch run %d tasks on %d cores; set it to about the number of cores "
            "before the query first starts (its checkpoint keeps it)",
            SHUFFLE,
            tasks,
            tasks,
            cores,
        )


def shuffle_tasks(spark: SparkSession) -> int:
    """How many tasks a shuffle has."""
    return int(spark.conf.get(SHUFFLE) or 1)
