"""`device="auto"` on made-up devices, in virtual time."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from penstock.devices import registry
from penstock.devices.auto import Auto, Ran, runner
from penstock.devices.chooser import MOST_TRIAL_RATIO, TRIAL_SHARE, Choice, Chooser
from penstock.devices.cost import Line
from penstock.devices.device import Array, Program, Results, Rows, allocate
from penstock.devices.kernel import Kernel, kernel
from penstock.devices.measure import Measured, measure
from penstock.errors import BadInputError, KernelError

# What a call takes on each, as on a machine with a GPU: which is the cheapest changes twice from 10 to 1M windows.
LINES = {"numba": Line(3e-5, 1e-8), "cuda": Line(2e-3, 2e-10), "numpy": Line(4e-6, 5e-7)}
# Compiling, once a process.
FIRST_CALL_S = 1.5
ROWS_A_WINDOW = 20
numbers = itertools.count()


class Machine:
    """Devices whose calls move a clock by what their lines say, with noise."""

    def __init__(self, lines: dict[str, Line], noise: float = 0.1) -> None:
        self.lines = lines
        self.now_s = 0.0
        self.faults: dict[str, Exception] = {}
        self.calls: list[tuple[str, int]] = []
        self.noise = noise
        self.rng = np.random.default_rng(11)

    def clock(self) -> float:
        return self.now_s

    def least_s(self, work: int) -> float:
        return min(line.at(work) for line in self.lines.values())


class Made:
    """One of its devices."""

    def __init__(self, name: str, machine: Machine) -> None:
        self.name = name
        self.machine = machine
        self.loads = 0

    def missing(self) -> str | None:
        return None

    def send(self, column: Array) -> bool:
        return False

    def load(self, kernel: Kernel, dtypes: tuple[str, ...], args: tuple[Any, ...]) -> Program:
        self.loads += 1

        def program(columns: Sequence[Array], lo: Rows, hi: Rows) -> Results:
            machine = self.machine
            if self.name in machine.faults:
                raise machine.faults[self.name]
            work = int((hi - lo).sum())
            first = all(name != self.name for name, _ in machine.calls)
            machine.calls.append((self.name, work))
            noise = float(machine.rng.lognormal(0, machine.noise))
            machine.now_s += machine.lines[self.name].at(work) * noise + (FIRST_CALL_S if first else 0.0)
            results = allocate(kernel, len(lo))
            results.outputs[0][:] = hi - lo
            return results

        return program


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    made = Machine(dict(LINES))
    for name in LINES:
        monkeypatch.setitem(registry._DEVICES, name, Made(name, made))
    return made


def auto_on(machine: Machine, devices: Sequence[str] = tuple(LINES)) -> Auto:
    """A kernel that no other test has learned about."""
    number = float(next(numbers))
    new = kernel("rows double", name="rows")(lambda x: x.shape[0] + number)
    return Auto(new, ("float64",), devices=devices, clock=machine.clock)


def windows(count: int) -> tuple[list[Array], Rows, Rows]:
    lo = np.arange(count, dtype=np.int64)
    return [np.zeros(count + ROWS_A_WINDOW)], lo, lo + ROWS_A_WINDOW


@pytest.mark.parametrize("seed", [None, 4, 10, 16, 21])
def test_auto_costs_at_most_a_tenth_more_than_the_best_device_for_each_call(seed: int | None, machine: Machine) -> None:
    rng = np.random.default_rng(seed or 2)
    if seed is not None:
        machine.lines = {name: Line(10 ** rng.uniform(-6, -2), 10 ** rng.uniform(-10, -6.5)) for name in LINES}
    auto = auto_on(machine)
    counts = [int(count) for count in 10 ** rng.uniform(1, 6, 400)]
    for count in counts[:100]:
        auto.run(*windows(count))
    taken_s = best_s = 0.0
    for count in counts[100:]:
        began_s = machine.now_s
        auto.run(*windows(count))
        taken_s += machine.now_s - began_s
        best_s += machine.least_s(count * ROWS_A_WINDOW)
    # Noise alone, exp(0.1² / 2), is half a percent.
    assert taken_s <= 1.1 * best_s


@pytest.mark.parametrize(("count", "best"), [(1, "numpy"), (100, "numba"), (1_000_000, "cuda")])
def test_calls_that_are_all_alike_go_to_the_best_device(machine: Machine, count: int, best: str) -> None:
    auto = auto_on(machine)
    ran = [auto.run(*windows(count))[1] for _ in range(40)]
    assert [each.device for each in ran[10:]].count(best) >= 28
    assert "predicted" in ran[-1].reason


def test_a_device_that_is_far_slower_never_gets_a_large_call(machine: Machine) -> None:
    auto = auto_on(machine)
    for _ in range(50):
        auto.run(*windows(100_000))
    assert max(work for name, work in machine.calls if name == "numpy") <= 100_000 * ROWS_A_WINDOW / 100


def test_a_device_that_became_faster_is_found(machine: Machine) -> None:
    auto = auto_on(machine, ("numba", "cuda"))
    machine.lines["cuda"] = Line(2e-3, 2e-8)
    for _ in range(50):
        auto.run(*windows(100_000))
    machine.lines["cuda"] = Line(1e-3, 1e-10)
    ran = [auto.run(*windows(100_000))[1].device for _ in range(800)]
    assert ran[-100:].count("cuda") >= 95


def test_a_device_that_became_slower_is_left(machine: Machine) -> None:
    auto = auto_on(machine, ("numba", "cuda"))
    for _ in range(20):
        auto.run(*windows(1_000_000))
    machine.lines["cuda"] = Line(2.0, 1e-6)
    ran = [auto.run(*windows(1_000_000))[1].device for _ in range(20)]
    assert ran[:3] == ["cuda"] * 3
    assert ran[-10:] == ["numba"] * 10


def test_a_device_that_fails_is_replaced_for_good_and_told_once(
    machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    auto = auto_on(machine)
    for _ in range(10):
        auto.run(*windows(1_000_000))
    machine.faults["cuda"] = RuntimeError("the GPU fell off the bus")
    for _ in range(5):
        results, ran = auto.run(*windows(1_000))
        results, ran = auto.run(*windows(1_000_000))
        assert results.outputs[0].tolist() == [ROWS_A_WINDOW] * 1_000_000
        assert ran.device == "numba"
    machine.faults.clear()
    assert {auto.run(*windows(1_000_000))[1].device for _ in range(100)} == {"numba"}
    assert [record.message for record in caplog.records] == [
        "device cuda failed, numba or numpy take over: the GPU fell off the bus"
    ]


def test_the_last_device_that_fails_raises_its_error(machine: Machine) -> None:
    auto = auto_on(machine)
    machine.faults = {name: RuntimeError(f"{name} is broken") for name in LINES}
    with pytest.raises(RuntimeError, match="numpy is broken"):
        auto.run(*windows(10))


def test_a_device_that_was_named_is_not_replaced(machine: Machine) -> None:
    auto = auto_on(machine, ("numba",))
    assert auto.run(*windows(10))[1].reason == "as asked"
    machine.faults["numba"] = MemoryError("no memory")
    with pytest.raises(MemoryError):
        auto.run(*windows(10))


def test_what_was_learned_stays_in_the_process(machine: Machine) -> None:
    """A worker makes its objects anew for every task."""
    new = kernel("rows double", name="rows")(lambda x: x.shape[0] + 0.5)
    for _ in range(10):
        Auto(new, ("float64",), devices=tuple(LINES), clock=machine.clock).run(*windows(100))
    seen = len(machine.calls)
    Auto(new, ("float64",), devices=tuple(LINES), clock=machine.clock).run(*windows(100))
    assert len(machine.calls) == seen + 1


def test_no_windows_are_no_trouble(machine: Machine) -> None:
    auto = auto_on(machine)
    for count in (0, 10, 0, 10, 10, 0):
        results, ran = auto.run(*windows(count))
        assert (len(results.outputs[0]), ran.work) == (count, count * ROWS_A_WINDOW)


def test_a_kernel_that_raises_takes_no_device_out(caplog: pytest.LogCaptureFixture) -> None:
    def refuse(x: Any) -> Any:
        if x[0] < 0:
            raise ValueError("below 0")
        return x[0]

    auto = runner(kernel("value double")(refuse), ("float64",))
    lo = np.array([0, 1])
    for _ in range(4):
        with pytest.raises(KernelError, match="window 1 "):
            auto.run([np.array([1.0, -1.0])], lo, lo + 1)
    assert auto.run([np.array([1.0, 2.0])], lo, lo + 1)[0].outputs[0].tolist() == [1.0, 2.0]
    assert not caplog.records


def test_trials_cost_at_most_their_share() -> None:
    chooser = Chooser(["a", "b"])
    seconds = {"a": 1.0, "b": 3.0}
    for name, work in itertools.product(seconds, (1, 1, 1_000)):
        chooser.ran(name, work, seconds[name])
    spent = {"a": 0.0, "b": 0.0}
    for _ in range(2_000):
        choice = chooser.choose(1_000_000)
        chooser.ran(choice.device, 1_000_000, seconds[choice.device])
        spent[choice.device] += seconds[choice.device]
    assert spent["b"] > 0
    assert spent["b"] * (3.0 - 1.0) / 3.0 <= TRIAL_SHARE * (spent["a"] + spent["b"] + 8.0)


def test_what_is_predicted_far_slower_is_not_tried() -> None:
    chooser = Chooser(["a", "b"])
    slow = 1.01 * MOST_TRIAL_RATIO
    for name, work in itertools.product(("a", "b"), (1, 1, 1_000)):
        chooser.ran(name, work, 1.0 if name == "a" else slow)
    for _ in range(1_000):
        assert chooser.choose(1_000).device == "a"
        chooser.ran("a", 1_000, 1.0)


def test_an_outlier_changes_nothing() -> None:
    chooser = Chooser(["a", "b"])
    for _ in range(8):
        chooser.ran("a", 1_000, 1.0)
        chooser.ran("b", 1_000, 5.0)
    chooser.ran("a", 1_000, 500.0)
    assert chooser.choose(1_000).device == "a"


def test_measuring_gives_a_line_and_a_break_even() -> None:
    counted = kernel("rows double", name="counted")(lambda x: x.shape[0] * 1.0)
    measured = measure(counted, ("float64",), (), "numpy")
    assert (measured.device, measured.transfer_s_per_million_rows) == ("numpy", 0.0)
    fast, slow = Measured("cuda", 1e-3, 1e9, 0.0), Measured("numba", 1e-5, 1e8, 0.0)
    assert fast.break_even_rows(slow) == pytest.approx(110_000)
    assert slow.break_even_rows(fast) is None
    assert slow.break_even_rows(Measured("numpy", 1e-5, 1e6, 0.0)) == 0.0


@pytest.mark.parametrize(
    "make",
    [
        lambda: Ran("numpy", -1.0, 1, "as asked"),
        lambda: Choice("", "no reason"),
        lambda: Chooser([]),
        lambda: Line(-1.0, 0.0),
        lambda: Measured("numpy", 0.0, 0.0, 0.0),
    ],
)
def test_values_that_make_no_sense_are_refused(make: Any) -> None:
    with pytest.raises(BadInputError):
        make()
