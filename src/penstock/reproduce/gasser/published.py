"""What Gasser publishes of its evaluation: tables 3 and 4, and the numbers of its text (section V).

Figures 7 to 9 and 11 have no numbers in them; what the text says of them is here. The tables were read by a machine
from the scanned pages; `UNCERTAIN` has what looks odd there.
"""

from __future__ import annotations

from dataclasses import dataclass

LENGTHS, SLIDES = (10_000, 25_000, 50_000), (5, 25, 100)
# Kernels have blocks of 384 threads, so that every B is a multiple of it.
BLOCK = 384


@dataclass(frozen=True)
class Best:
    """The best configuration of a case: replicas, windows a batch, gains over Gasser's CPU version and over Flink."""

    replicas: int
    batch: int
    over_cpu: float
    over_flink: float


TABLE_3 = {
    ("q1", 10_000, 5): Best(7, 5376, 5.4, 53),
    ("q1", 10_000, 25): Best(5, 4992, 4.2, 37),
    ("q1", 10_000, 100): Best(4, 768, 2.0, 11),
    ("q1", 25_000, 5): Best(8, 5376, 8.9, 62),
    ("q1", 25_000, 25): Best(5, 4608, 8.1, 46),
    ("q1", 25_000, 100): Best(5, 1536, 3.2, 17),
    ("q1", 50_000, 5): Best(10, 3840, 11.3, 66),
    ("q1", 50_000, 25): Best(9, 3840, 10.3, 56),
    ("q1", 50_000, 100): Best(4, 3456, 5.8, 31),
    ("q2", 10_000, 5): Best(5, 1152, 5.9, 12.8),
    ("q2", 10_000, 25): Best(7, 768, 4.4, 9),
    ("q2", 10_000, 100): Best(8, 768, 4.3, 10.3),
    ("q2", 25_000, 5): Best(8, 768, 5.8, 8.9),
    ("q2", 25_000, 25): Best(5, 1152, 4.8, 6.8),
    ("q2", 25_000, 100): Best(7, 3456, 4.9, 7.5),
    ("q2", 50_000, 5): Best(6, 1536, 6.6, 10.45),
    ("q2", 50_000, 25): Best(9, 384, 6.6, 10.5),
    ("q2", 50_000, 100): Best(4, 3456, 5.4, 8.9),
}
# The one gain with two decimals.
UNCERTAIN = (("q2", 50_000, 5),)


@dataclass(frozen=True)
class Extent:
    """Rows from the request for a change to its completion, by protocol: on average, and at most."""

    soft: float
    soft_max: float
    hard: float
    hard_max: float


# By slide and B; w = 10,000, the number of replicas changes at random.
TABLE_4 = {
    (5, 384): Extent(3.84e4, 1.35e5, 2.44e4, 3.41e4),
    (5, 3840): Extent(3.10e5, 1.31e6, 5.98e4, 1.89e5),
    (5, 5760): Extent(3.17e5, 1.59e6, 1.15e5, 2.73e5),
    (50, 384): Extent(2.15e5, 9.49e5, 7.77e4, 1.91e5),
    (50, 3840): Extent(2.89e6, 8.23e6, 5.67e5, 1.14e6),
    (50, 5760): Extent(3.49e6, 1.67e7, 7.45e5, 1.70e6),
}
TABLE_4_LENGTH, TABLE_4_RATE_PER_S, MOST_REPLICAS = 10_000, 1_000_000, 10

# Sec. V-A: the gains in words, and figure 9's break-even slide as a part of the window.
OVER_CPU, OVER_FLINK = (2.0, 11.3), (6.8, 66.0)
BREAK_EVEN = {"q1": 1 / 100, "q2": 1 / 10}

# Sec. V-B, figure 11: percent that the black box is behind Saber.
TUMBLING_PENALTY, MOST_PENALTY, MOST_PENALTY_SLIDE = 8, 49, 128
