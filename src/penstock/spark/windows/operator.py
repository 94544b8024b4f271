"""The definition of windows over one DataFrame: what its workers need to know, whatever a batch's plan says."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.devices.kernel import Kernel
from penstock.errors import PenstockError
from penstock.plan import NO_PLAN, Plan
from penstock.spark.plans.echo import Echo
from penstock.stages.windows.blocks import Shape
from penstock.stages.windows.numbered import FAIL
from penstock.stages.windows.schedule import Schedule, schedule_of
from penstock.stages.windows.spec import WindowSpec

PART = "windows"
"""The part of a plan with the schedule."""
OPERATOR, LOWEST = "operator", "operator-lowest"
"""Under these names workers echo which definition they run, the second with its sign turned: so the driver finds it."""

RESULT_KEY = "the key"
"""The key's column among results, before it gets the user's name: no output of a kernel can have this one."""

# Definitions that the driver remembers, a few kB each; the oldest go first.
_MOST_DEFINED = 256
_numbers = itertools.count(1)
_defined: dict[int, Operator] = {}


@dataclass(frozen=True)
class Operator:
    """What workers know of a definition.

    Without a `schedule`, rows have a key. `plan` holds where a batch carries none: the one kept beside the journal.
    `fixed` is what a checkpoint was made with beside windows and columns, and must not change.
    """

    spec: WindowSpec
    shape: Shape
    kernel: Kernel
    args: tuple[Any, ...]
    device: str
    errors: str
    schedule: Schedule | None
    missing: str = FAIL
    plan: Plan = NO_PLAN
    fixed: Mapping[str, Any] = field(default_factory=dict)
    echo: Echo | None = field(default=None, compare=False)
    number: int = field(default_factory=lambda: next(_numbers), compare=False)

    def scheduled(self, plan: Plan) -> Schedule:
        """The schedule of a batch that runs with this plan."""
        assert self.schedule is not None
        part = plan.parts.get(PART)
        if part is None:
            return self.schedule
        if {name: part.get(name) for name in self.spec.to_record()} != self.spec.to_record():
            raise PenstockError(
                f"the plan was made for other windows than {self.spec}; start with a new journal and checkpoint"
            )
        return schedule_of(self.spec, part["epochs"])


def remember(operator: Operator) -> Operator:
    """Keep a definition on the driver, so that it is found by the number that its workers echo."""
    _defined[operator.number] = operator
    while len(_defined) > _MOST_DEFINED:
        del _defined[next(iter(_defined))]
    return operator


def defined(number: int) -> Operator | None:
    """The definition with this number, where it was made by this process."""
    return _defined.get(number)
