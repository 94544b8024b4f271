"""The stream of the outage: readings of sensors as JSON, and a query over them that has something to do."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SENSORS = 500
READINGS = 96
SCHEMA = "id bigint, sensor int, readings array<double>"
_KINDS = 512


class Readings:
    """Record i: a number, a sensor, and readings from one of a few hundred prepared series.

    >>> values = Readings(seed=1)
    >>> json.loads(values(np.array([7]))[0])["sensor"], 500 < len(values(np.array([7]))[0]) < 800
    (7, True)
    """

    def __init__(self, seed: int = 1) -> None:
        random = np.random.default_rng(seed)
        series = np.round(20 + np.cumsum(random.normal(0, 0.5, (_KINDS, READINGS)), axis=1), 2)
        self._series = [json.dumps(each.tolist(), separators=(",", ":")).encode() for each in series]

    def __call__(self, indices: NDArray[np.int64]) -> list[bytes]:
        """The values of many records."""
        return [
            b'{"id":%d,"sensor":%d,"readings":%s}' % (i, i % SENSORS, self._series[i % _KINDS])
            for i in indices.tolist()
        ]


def watched(records: DataFrame) -> DataFrame:
    """Mean, roughness and range of every record's readings, and what they come to for each sensor so far."""
    from pyspark.sql import functions as F  # noqa: N812

    parsed = records.select(F.from_json(F.col("value").cast("string"), SCHEMA).alias("r")).select("r.*")
    # One pass over the readings of a record: their sum, and the sum of the jumps from one to the next.
    nothing = F.struct(F.lit(0.0).alias("sum"), F.lit(0.0).alias("jumps"), F.element_at("readings", 1).alias("last"))
    pass_ = F.aggregate(
        "readings",
        nothing,
        lambda so_far, x: F.struct(
            (so_far["sum"] + x).alias("sum"),
            (so_far["jumps"] + F.abs(x - so_far["last"])).alias("jumps"),
            x.alias("last"),
        ),
    )
    each = parsed.select("sensor", pass_.alias("a"), F.array_max("readings").alias("top"))
    return each.groupBy("sensor").agg(
        F.count("*").alias("records"),
        F.sum(F.col("a.sum")).alias("sum"),
        F.max(F.col("a.jumps")).alias("roughest"),
        F.max("top").alias("top"),
    )
