"""How well a run kept its SLO: hits, distances, latencies, throughput, and the response to load changes."""

from penstock.score.bootstrap import Interval, compare, interval_of
from penstock.score.hits import Cumulative, SloMetrics, cumulative, distances, hits
from penstock.score.met import Met
from penstock.score.saso import Response, load_changes, responses, settling_batches
from penstock.score.summary import percentiles, quantile, summarise, throughput_per_s

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
