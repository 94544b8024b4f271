"""Changes of B and n: the paper's example, its bounds, and windows that stay whole across any of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadInputError
from penstock.stages.windows.schedule import Epoch, Schedule
from penstock.stages.windows.spec import WindowSpec
from penstock.stages.windows.switch import HARD, SOFT, bound, switch

TOY = Schedule(WindowSpec(5, 1), (Epoch(0, batch=2, replicas=2),))
small = st.integers(1, 6)


@pytest.mark.parametrize(("protocol", "at", "safe", "extent", "most"), [(SOFT, 12, 16, 11, 16), (HARD, 8, 12, 11, 12)])
def test_the_toy_example_of_the_paper(protocol: str, at: int, safe: int, extent: int, most: int) -> None:
    found = switch(TOY, 5, batch=2, replicas=3, protocol=protocol)
    assert (found.switch, found.safe, found.extent) == (at, safe, extent)
    assert found.epoch == Epoch(at, batch=2, replicas=3)
    assert bound(TOY, 2, 3, protocol) == most


@given(st.integers(1, 40), small, small, small, small, small, st.integers(0, 2_000), st.sampled_from([SOFT, HARD]))
def test_no_change_takes_more_rows_than_its_bound(
    length: int, every: int, batch: int, replicas: int, batch_after: int, after: int, asked: int, protocol: str
) -> None:
    schedule = Schedule(WindowSpec(length, min(every, length)), (Epoch(0, batch, replicas),))
    found = switch(schedule, asked, batch_after, after, protocol)
    # Asked for before the first row, a change waits until the epoch in force has had a round of batches.
    assert found.extent <= bound(schedule, batch_after, after, protocol)
    assert found.switch >= asked
    assert found.safe - found.switch == schedule.spec.overlap


@given(st.integers(1, 40), small, small, small, small, small, st.integers(0, 2_000))
def test_a_soft_change_opens_a_batch_of_the_first_replica_before_and_after(
    length: int, every: int, batch: int, replicas: int, batch_after: int, after: int, asked: int
) -> None:
    schedule = Schedule(WindowSpec(length, min(every, length)), (Epoch(0, batch, replicas),))
    found = switch(schedule, asked, batch_after, after, SOFT)
    for epoch in (Epoch(0, batch, replicas), Epoch(0, batch_after, after)):
        number, rest = divmod(found.epoch.first, epoch.batch)
        assert rest == 0
        assert number % epoch.replicas == 0


@given(st.data())
def test_a_change_that_is_asked_for_during_another_comes_after_it(data: st.DataObject) -> None:
    schedule = TOY
    for _ in range(4):
        asked = data.draw(st.integers(0, 60))
        found = switch(schedule, asked, data.draw(small), data.draw(small), data.draw(st.sampled_from([SOFT, HARD])))
        schedule = schedule.followed_by(found.epoch)
    assert len(schedule.epochs) == 5


@pytest.mark.parametrize(
    ("batch", "replicas", "protocol", "field"),
    [(0, 2, SOFT, "batch"), (2, 0, HARD, "replicas"), (2, 2, "gentle", "protocol")],
)
def test_what_is_no_change_is_refused(batch: int, replicas: int, protocol: str, field: str) -> None:
    with pytest.raises(BadInputError, match=f"^{field} = "):
        switch(TOY, 5, batch, replicas, protocol)
