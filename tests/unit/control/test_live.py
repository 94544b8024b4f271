"""What a live query begins with: steps in percent, ramp-up, and no growth for want of data."""

from __future__ import annotations

import pytest

from penstock.control import registry
from penstock.control.step import Step
from penstock.control.wrappers import Filled
from penstock.sample import BatchSample
from penstock.slo import Slo

SLO = Slo.parse("1 s ± 10%")


def batch(size: float, processing_s: float, backlog: float | None) -> BatchSample:
    return BatchSample(0, size, int(size), processing_s, backlog=backlog)


def innermost(controller: object) -> object:
    while hasattr(controller, "inner"):
        controller = controller.inner
    return controller


def test_live_defaults_stand_in_only_for_settings_that_are_not_given() -> None:
    assert innermost(registry.create("pmbaf", SLO, 1000, live=True)).step == Step(0.5, relative=True)
    assert innermost(registry.create("pmbaf", SLO, 1000, live=True, step="10%")).step == Step(0.1, relative=True)
    assert innermost(registry.create("pmbaf", SLO, 1000)).step == Step(10)


@pytest.mark.parametrize("name", registry.names())
def test_no_live_controller_grows_on_a_batch_that_took_all_there_was(name: str) -> None:
    controller = registry.create(name, SLO, 1000, live=True)
    first = controller.size
    for _ in range(50):
        assert controller.decide(batch(400, 0.3, backlog=0)).size <= first


@pytest.mark.parametrize("name", [name for name in registry.names() if name not in ("fixed", "lmstream")])
def test_a_live_controller_ramps_up_while_data_waits(name: str) -> None:
    controller = registry.create(name, SLO, 1000, live=True)
    sizes = [controller.decide(batch(controller.size, 0.2, backlog=10**6)).size for _ in range(3)]
    assert sizes == pytest.approx([4000, 16_000, 64_000])


def test_a_batch_that_filled_its_limit_may_grow_though_nothing_is_left() -> None:
    controller = registry.create("faf", SLO, 1000.4, live=True, warm_up=False)
    assert controller.decide(batch(980, 0.3, backlog=0)).size == 1000.4
    # In bytes or cost, a further item would not have fitted.
    assert controller.decide(batch(995.5, 0.3, backlog=0)).size == pytest.approx(1200.48)


def test_fixed_stays_fixed_on_a_live_query() -> None:
    controller = registry.create("fixed", SLO, 1000, live=True)
    assert controller.decide(batch(1000, 0.1, backlog=10**6)).size == 1000


def test_an_unknown_backlog_counts_as_scarce_only_for_much_smaller_batches() -> None:
    controller = registry.create("faf", SLO, 1000, live=True, warm_up=False)
    assert isinstance(controller, Filled)
    assert controller.decide(batch(400, 0.3, backlog=None)).size == 1000
    assert controller.decide(batch(900, 0.3, backlog=None)).size == pytest.approx(1200)
