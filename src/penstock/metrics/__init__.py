"""How well a run kept its SLO: hits, distances, latencies, throughput, and the response to load changes."""

from penstock.metrics.bootstrap import Interval, compare, interval_of
from penstock.metrics.hits import Cumulative, SloMetrics, cumulative, distances, hits
from penstock.metrics.met import Met
from penstock.metrics.saso import Response, load_changes, responses, settling_batches
from penstock.metrics.summary import percentiles, quantile, summarise, throughput_per_s

__all__ = [
    "Cumulative",
    "Interval",
    "Met",
    "Response",
    "SloMetrics",
    "compare",
    "cumulative",
    "distances",
    "hits",
    "interval_of",
    "load_changes",
    "percentiles",
    "quantile",
    "responses",
    "settling_batches",
    "summarise",
    "throughput_per_s",
]
