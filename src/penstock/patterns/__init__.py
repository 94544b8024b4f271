"""Patterns: how a load varies over time, over items or over work."""

from penstock.patterns.arrivals import AnyArrivals, Arrivals, Saturated, parse_arrivals
from penstock.patterns.base import Pattern
from penstock.patterns.grammar import parse
from penstock.patterns.layout import Layout, Part, thesis_layout, work_layout
from penstock.patterns.registry import catalogue
from penstock.patterns.sequence import Sequence, Stretch

__all__ = [
    "AnyArrivals",
    "Arrivals",
    "Layout",
    "Part",
    "Pattern",
    "Saturated",
    "Sequence",
    "Stretch",
    "catalogue",
    "parse",
    "parse_arrivals",
    "thesis_layout",
    "work_layout",
]
