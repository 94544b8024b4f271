"""How well a run kept its SLO: hits, distances, latencies, throughput, and the response to load changes."""

from penstock.metrics.hits import Cumulative, SloMetrics, cumulative, distances, hits
from penstock.metrics.saso import Response, load_changes, responses
from penstock.metrics.summary import percentiles, summarise, throughput_per_s

__all__ = [
    "Cumulative",
    "Response",
    "SloMetrics",
    "cumulative",
    "distances",
    "hits",
    "load_changes",
    "percentiles",
    "responses",
    "summarise",
    "throughput_per_s",
]
