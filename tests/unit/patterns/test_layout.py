import pickle

import numpy as np
import pytest

from penstock.errors import BadInputError
from penstock.patterns import Layout, Part, parse, thesis_layout, work_layout

LOW, HIGH = 256.0, 7744.0
SHARES = {"increasing": 0.2, "spike": 0.1, "decreasing": 0.2, "binary": 0.2, "wave": 0.3}


def rises(costs: np.ndarray) -> int:
    high = costs > LOW + 0.75 * (HIGH - LOW)
    return int((np.diff(high.astype(int)) > 0).sum())


def test_thesis_layout_is_table_4_1():
    layout = thesis_layout(LOW, HIGH)
    assert layout.items == 1_000_000
    assert dict(zip(layout.part_names, layout.counts, strict=True)) == {
        name: round(share * 1_000_000) for name, share in SHARES.items()
    }
    costs = layout.cost(np.arange(layout.items))
    assert costs.min() == LOW
    assert HIGH * 0.999 < costs.max() <= HIGH
    assert [rises(costs[start:stop]) for start, stop in ((200_000, 300_000), (500_000, 700_000))] == [5, 5]
    assert rises(costs[700_000:]) == 10
    assert (np.diff(costs[:200_000]) > 0).all()
    assert (np.diff(costs[300_000:500_000]) < 0).all()


@pytest.mark.parametrize("batches", [20, 120, 500])
def test_each_part_of_a_work_layout_has_its_share_of_the_work(batches: int):
    work = batches * 4e6
    layout = work_layout(work, LOW, HIGH, batches)
    costs = layout.cost(np.arange(layout.items))
    assert costs.sum() == pytest.approx(work, rel=0.002)
    assert LOW <= costs.min() < LOW * 1.01
    assert HIGH * 0.99 < costs.max() <= HIGH
    starts = np.cumsum((0, *layout.counts))
    for number, name in enumerate(layout.part_names):
        done = costs[starts[number] : starts[number + 1]].sum()
        assert done == pytest.approx(SHARES[name] * work, rel=0.01), name


def test_along_work_a_pattern_spends_as_much_work_low_as_high():
    layout = work_layout(1e9, LOW, HIGH, 500)
    first = sum(layout.counts[:3])
    costs = layout.cost(np.arange(first, first + layout.counts[3]))
    low, high = costs[costs < 1000], costs[costs > 1000]
    assert low.sum() == pytest.approx(high.sum(), rel=0.01)
    assert len(low) > 25 * len(high)


@pytest.mark.parametrize(
    ("batches", "expected"), [(20, (1, 1, 1)), (120, (1, 1, 2)), (300, (3, 3, 4)), (5000, (5, 5, 10))]
)
def test_cycles_scale_with_batches_up_to_those_of_the_thesis(batches: int, expected: tuple[int, int, int]):
    layout = work_layout(1e9, LOW, HIGH, batches)
    costs = layout.cost(np.arange(layout.items))
    starts = np.cumsum((0, *layout.counts))
    assert tuple(rises(costs[starts[part] : starts[part + 1]]) for part in (1, 3, 4)) == expected


@pytest.mark.parametrize("layout", [thesis_layout(1.0, 9.0, 10_007), work_layout(1e5, 1.0, 9.0, 50)])
def test_cost_and_part_are_pure_functions_of_the_index(layout: Layout):
    whole = layout.cost(np.arange(layout.items))
    chunks = [layout.cost(np.arange(at, min(at + 997, layout.items))) for at in range(0, layout.items, 997)]
    assert (np.concatenate(chunks) == whole).all()
    backwards = layout.cost(np.arange(layout.items)[::-1])
    assert (backwards[::-1] == whole).all()
    again = pickle.loads(pickle.dumps(layout))
    assert again.cost(layout.items - 1) == whole[-1] == layout.cost(layout.items - 1)
    names = layout.part(np.arange(layout.items))
    assert [names.count(name) for name in layout.part_names] == list(layout.counts)
    assert layout.part(0) == names[0] == "increasing"


def test_a_constant_part_over_work_has_work_over_cost_items():
    layout = Layout.over_work(1000.0, [Part("all", parse("constant:value=4"), 1.0)])
    assert layout.items == 250
    assert (layout.cost(np.arange(250)) == 4.0).all()


def test_items_outside_the_layout_are_refused():
    layout = thesis_layout(1.0, 2.0, 100)
    for index in (-1, 100):
        with pytest.raises(BadInputError, match="items 0 to 99"):
            layout.cost(index)


def test_layouts_that_cannot_work_are_refused():
    half = Part("half", parse("constant:value=1"), 0.5)
    with pytest.raises(BadInputError, match="shares"):
        Layout.over_index(10, [half])
    with pytest.raises(BadInputError, match="share of none"):
        Part("none", parse("constant:value=1"), 0.0)
    with pytest.raises(BadInputError, match="fewer items than parts"):
        Layout.over_index(1, [half, half])
    with pytest.raises(BadInputError, match="work = 0"):
        Layout.over_work(0.0, [half, half])
    with pytest.raises(BadInputError, match="cost in free"):
        Layout.over_work(10.0, [Part("free", parse("binary:min=0,max=1,period=1"), 1.0)])
    with pytest.raises(BadInputError, match="min and max"):
        work_layout(100.0, 9.0, 1.0, 10)
