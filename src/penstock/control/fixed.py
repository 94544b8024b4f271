"""No control: the baseline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from penstock.control.base import BaseController


class Fixed(BaseController):
    """Keeps the size it was given, whatever happens: size' = size.

    >>> from penstock.sample import BatchSample
    >>> from penstock.slo import Slo
    >>> controller = Fixed(Slo.parse("1 s ± 10%"), size=500)
    >>> controller.decide(BatchSample(batch_id=0, size=500, items=500, processing_s=4.0)).reason
    'size stays at 500: the last batch took 4 s, over 1.1 s'
    """

    live_defaults: ClassVar[Mapping[str, object]] = {}

    def plan(self, ratio: float) -> float:
        """The size in force."""
        return self.size
