"""After an outage: the same backlog drained by plain Spark and by attached queries, side by side in one run."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.bench.outage.sensors import Readings, watched
from penstock.bench.session import session
from penstock.control import registry
from penstock.errors import BadInputError, PenstockError
from penstock.journal import read
from penstock.patterns.arrivals import parse_arrivals
from penstock.progress import Say
from penstock.sample import BatchSample
from penstock.slo import Metric, Slo, Verdict
from penstock.spark.faults import cause
from penstock.testing.kafka import jars
from penstock.testing.kafka.broker import Broker
from penstock.testing.kafka.produce import Producer, fill

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

PLAIN = "plain"
_WARM_UP_RECORDS = 200_000
_WARM_UP_LIMIT = 20_000
# A query that starts compiles its code and catches up with what came meanwhile; arrivals are judged after that.
SETTLING_S = 15.0
_TICK_S = 0.2
_PATIENCE_S = 1800.0


@dataclass(frozen=True)
class OutageSpec:
    """`records` wait when the query comes back; `arrivals` go on meanwhile, and for `after_s` once it has caught up.

    Without records there is no outage, only the arrivals: waves, spikes, whatever their pattern says.
    """

    records: int = 1_000_000
    arrivals: str = "constant:rate=500/s"
    slo: str = "5 s ± 10%"
    contenders: Sequence[str] = (PLAIN, registry.DEFAULT)
    rounds: int = 3
    first: int = 1000
    partitions: int = 4
    after_s: float = 15.0
    seed: int = 1
    master: str = "local[2]"

    def __post_init__(self) -> None:
        """Tell a mistake before a broker and Spark are started."""
        for name, value in (("rounds", self.rounds), ("first", self.first), ("after_s", self.after_s)):
            if not value >= 1:
                raise BadInputError(name, value, "there would be nothing to do", "give 1 or more")
        if self.records < 0:
            raise BadInputError("records", self.records, "not a number of records", "give 0 or more")
        parse_arrivals(self.arrivals)
        slo = Slo.parse(self.slo)
        for contender in self.contenders:
            if contender != PLAIN:
                name, settings = registry.parse_spec(contender)
                registry.create(name, slo, float(self.first), live=True, **settings)


def outage(spec: OutageSpec, out: Path, say: Say = print) -> dict[str, Any]:
    """Run all contenders in turn, `rounds` times, on topics filled alike; journals stay in `out`."""
    out.mkdir(parents=True, exist_ok=True)
    for contender in spec.contenders:
        for number in range(spec.rounds):
            if (place := _place(out, contender, number)).exists():
                reason = f"holds {place.name!r} of an earlier run"
                raise BadInputError("out", str(out), reason, "give a new or empty folder")
    connector = ",".join(map(str, jars.fetch(jars.CONNECTOR, say)))
    rows: list[dict[str, Any]] = []
    with Broker(progress=say) as broker, session(spec.master, settings={"spark.jars": connector}) as spark:
        say("warming up: parsing, state and commit, before anybody is timed")
        _warm_up(spark, broker, spec, out)
        for number in range(spec.rounds):
            # Every other round in the other order: what the machine does meanwhile shall favour nobody.
            order = spec.contenders if number % 2 == 0 else spec.contenders[::-1]
            rows += [_drain(spark, broker, spec, contender, number, out, say) for contender in order]
    return {"spec": asdict(spec), "rows": rows, "contenders": [_together(rows, name) for name in spec.contenders]}


def _drain(
    spark: SparkSession, broker: Broker, spec: OutageSpec, contender: str, number: int, out: Path, say: Say
) -> dict[str, Any]:
    from penstock.spark.attach import attach
    from penstock.spark.reader import gated

    place = _place(out, contender, number)
    topic, values = f"outage-{place.name}", Readings(spec.seed)
    say(f"{contender}, round {number + 1} of {spec.rounds}: a backlog of {spec.records:,} records is written")
    broker.create_topic(topic, spec.partitions)
    fill(broker.bootstrap, topic, spec.records, values)
    slo, counts = Slo.parse(spec.slo), _Counts()
    name, settings = ("fixed", {}) if contender == PLAIN else registry.parse_spec(contender)
    live = Producer(
        broker.bootstrap, topic, parse_arrivals(spec.arrivals), count=10**9, for_s=_PATIENCE_S, values_of=values
    )
    reader = _reader(spark, broker, topic)
    journal = place / "journal.jsonl"
    labels = {"app": "outage", "controller": contender}
    observe = contender == PLAIN
    with live:
        began_s = time.time()
        query = _start((reader if observe else gated(reader, spec.first)).load(), counts, place, topic)
        attached = attach(
            query, slo, name, observe=observe, journal=journal, warm_up_batches=0, labels=labels, **settings
        )
        _watch(query, spec, slo, journal, began_s, say)
    # The user's own limit is back first: what a controller lets wait for more is not yet available to Spark.
    attached.detach()
    query.processAllAvailable()
    query.stop()
    broker.delete_topic(topic)
    samples = [sample for sample in read(journal).samples if sample.confirmed and sample.items > 0]
    once = counts.total == spec.records + live.produced
    return {"contender": contender, "round": number + 1, "counted_once": once} | measure(
        samples, spec.records, slo, began_s
    )


def _place(out: Path, contender: str, number: int) -> Path:
    return out / f"{contender.replace(':', '_').replace('=', '_')}-{number + 1}"


def _watch(query: StreamingQuery, spec: OutageSpec, slo: Slo, journal: Path, began_s: float, say: Say) -> None:
    """Until the query has caught up and gone on for a while."""
    deadline_s, said_s = time.monotonic() + _PATIENCE_S, time.monotonic()
    caught_up_s: float | None = None
    while caught_up_s is None or time.time() < caught_up_s + spec.after_s:
        if not query.isActive:
            raise PenstockError(f"the query has failed: {cause(query.exception())}")
        if time.monotonic() > deadline_s:
            raise PenstockError(f"not caught up after {_PATIENCE_S:g} s; give fewer records or a lower rate")
        time.sleep(_TICK_S)
        samples = [sample for sample in read(journal).samples if sample.confirmed and sample.items > 0]
        found = caught_up(samples, spec.records, slo)
        caught_up_s = None if found is None else ended_s(found)
        if caught_up_s is not None and not spec.records:
            caught_up_s = max(caught_up_s, began_s + SETTLING_S)
        if time.monotonic() > said_s + 5:
            said_s = time.monotonic()
            done = min(sum(sample.items for sample in samples), spec.records)
            share = f", {100 * done / spec.records:.0f}% of the backlog" if spec.records else ""
            say(f"  {time.time() - began_s:.0f} s{share}")


def measure(samples: Sequence[BatchSample], records: int, slo: Slo, began_s: float) -> dict[str, Any]:
    """What one run came to. Times are from the start of the query, and its own start is in them."""
    if not records:
        samples = [sample for sample in samples if (sample.started_s or 0.0) >= began_s + SETTLING_S]
        if not samples:
            raise PenstockError(f"no batch ended later than {SETTLING_S:g} s after the start; give a longer --after")
    drained = _drained(samples, records)
    back = caught_up(samples, records, slo)
    draining = samples[: samples.index(drained) + 1] if drained is not None else list(samples)
    # The batch that takes the last of the backlog may be a small one; without a backlog every batch is judged.
    judged = (draining[:-1] or draining) if records else list(samples)
    met = [slo.verdict(sample) is Verdict.MET for sample in judged]
    ages = [(_age_s(sample, began_s), sample.items) for sample in samples]
    items = np.array([sample.items for sample in judged], dtype=float)
    processing_s = np.array([sample.processing_s for sample in judged])
    return {
        "first_batch": samples[0].items if samples else None,
        "largest_batch": max((sample.items for sample in samples), default=None),
        "batches": len(draining),
        "drain_s": None if drained is None else ended_s(drained) - began_s,
        "caught_up_s": None if back is None else ended_s(back) - began_s,
        "b_slh": 100 * float(np.mean(met)),
        "i_slh": 100 * float(items[met].sum() / items.sum()),
        "processing_mean_s": float(processing_s.mean()),
        "processing_max_s": float(processing_s.max()),
        "end_to_end_mean_s": sum(age_s * count for age_s, count in ages) / max(sum(count for _, count in ages), 1),
        "lag_max_s": max((age_s for age_s, _ in ages), default=None),
        "lag_max_items": max((s.backlog for s in samples if s.backlog is not None), default=None),
    }


def caught_up(samples: Sequence[BatchSample], records: int, slo: Slo) -> BatchSample | None:
    """The first batch after the backlog that is back in bounds, from the arrival of its oldest record to its end.

    An objective for the processing of a batch bounds that at twice its latency: a record waits for one batch, and is
    processed in the next.
    """
    drained = _drained(samples, records)
    if drained is None:
        return None
    later = samples[samples.index(drained) :]
    bound_s = slo.high if slo.metric is Metric.END_TO_END else 2 * slo.high
    return next((s for s in later if s.end_to_end_s is not None and s.end_to_end_s <= bound_s), None)


def _age_s(sample: BatchSample, began_s: float) -> float:
    """Of the oldest record of a batch at its end; Spark does not tell where its first one began: before the query."""
    known = sample.end_to_end_s
    return ended_s(sample) - began_s if known is None else known


def ended_s(sample: BatchSample) -> float:
    """When a batch ended, by the wall clock."""
    return (sample.started_s or 0.0) + sample.processing_s


def _drained(samples: Sequence[BatchSample], records: int) -> BatchSample | None:
    """The batch that took the last record of the backlog; live records come after it in every partition."""
    done = np.cumsum([sample.items for sample in samples])
    reached = np.flatnonzero(done >= records)
    return samples[int(reached[0])] if len(reached) else None


def _together(rows: Sequence[Mapping[str, Any]], contender: str) -> dict[str, Any]:
    """The rounds of one contender; times as ratios to plain Spark of the same round."""
    mine = [row for row in rows if row["contender"] == contender]
    plain = {row["round"]: row for row in rows if row["contender"] == PLAIN}
    pairs = [(row["drain_s"], plain[row["round"]]["drain_s"]) for row in mine if row["round"] in plain]
    ratios = [one / other for one, other in pairs if one and other]
    times: tuple[str, ...] = (
        "drain_s",
        "caught_up_s",
        "processing_mean_s",
        "processing_max_s",
        "end_to_end_mean_s",
        "lag_max_s",
    )
    times += ("lag_max_items",)
    keys = (*times, "b_slh", "i_slh")
    means = {key: _mean([row[key] for row in mine]) for key in keys}
    return {
        "contender": contender,
        "rounds": len(mine),
        **means,
        "drain_ratio": _mean(ratios),
        "drain_ratios": ratios,
        "first_batch": max(row["first_batch"] for row in mine),
        "largest_batch": max(row["largest_batch"] for row in mine),
        "counted_once": all(row["counted_once"] for row in mine),
    }


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


class _Counts:
    """A sink that keeps the last count of every sensor: their sum is what the query has counted."""

    def __init__(self) -> None:
        self._of: dict[int, int] = {}

    def __call__(self, df: DataFrame, batch_id: int) -> None:
        self._of.update((row["sensor"], row["records"]) for row in df.select("sensor", "records").collect())

    @property
    def total(self) -> int:
        return sum(self._of.values())


def _reader(spark: SparkSession, broker: Broker, topic: str) -> Any:
    kafka = spark.readStream.format("kafka").option("kafka.bootstrap.servers", broker.bootstrap)
    return kafka.option("subscribe", topic).option("startingOffsets", "earliest")


def _start(records: DataFrame, sink: _Counts, place: Path, name: str) -> StreamingQuery:
    writer = watched(records).writeStream.outputMode("update").foreachBatch(sink).queryName(name)
    return writer.option("checkpointLocation", str(place / "checkpoint")).start()


def _warm_up(spark: SparkSession, broker: Broker, spec: OutageSpec, out: Path) -> None:
    topic = "outage-warm-up"
    broker.create_topic(topic, spec.partitions)
    fill(broker.bootstrap, topic, _WARM_UP_RECORDS, Readings(spec.seed))
    reader = _reader(spark, broker, topic).option("maxOffsetsPerTrigger", _WARM_UP_LIMIT)
    writer = watched(reader.load()).writeStream.outputMode("update").foreachBatch(_Counts())
    with tempfile.TemporaryDirectory(dir=out) as checkpoint:
        writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination()
    broker.delete_topic(topic)
