"""What patterns that swing between two values share: min, max and period, and the refusal of what cannot work."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.patterns.base import Pattern, check_extent, check_range
from penstock.patterns.options import AMOUNT, LENGTH


@dataclass(frozen=True)
class Swing(Pattern):
    """Between min and max, with a period; how is for the subclass to say."""

    min: float = field(metadata=AMOUNT)
    max: float = field(metadata=AMOUNT)
    period: float = field(metadata=LENGTH)

    def __post_init__(self) -> None:
        """Refuse a range or period that cannot work."""
        check_range(self, self.min, self.max)
        check_extent(self, "period", self.period)
