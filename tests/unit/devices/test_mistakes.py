"""What is wrong with a kernel is told in two lines, where it is defined; what is wrong with a window, by the window."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from penstock import kernels
from penstock.devices.auto import Auto, runner
from penstock.devices.device import Rows
from penstock.devices.kernel import Aggregate, Kernel, Output, kernel
from penstock.errors import BadInputError, KernelError

DEVICES = ["numpy", "numba", "numba-parallel"]
each_device = pytest.mark.parametrize("device", DEVICES)
LO, HI = np.array([0, 2, 4, 6]), np.array([2, 4, 6, 8])
COLUMN = np.array([1.0, 1.0, -1.0, 1.0, 1.0, 1.0, 1.0, -1.0])


def made(function: Callable[..., Any], outputs: str = "value double", **options: Any) -> Kernel:
    return kernel(outputs, **options)(function)


def refuse_negative(x: Any) -> Any:
    for row in range(x.shape[0]):
        if x[row] < 0:
            raise ValueError("below 0")
    return x[0]


@each_device
def test_a_window_that_raises_fails_the_call_with_its_own_error(device: str) -> None:
    with pytest.raises(KernelError, match=r"refuse_negative raised ValueError\('below 0'\) for window 1 ") as caught:
        runner(made(refuse_negative), ("float64",), device=device).run([COLUMN], LO, HI)
    assert isinstance(caught.value.__cause__, ValueError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@each_device
def test_a_window_that_raises_is_null_where_the_user_chose_so(device: str) -> None:
    two = made(lambda x: (refuse_negative(x), x.shape[0]), "value double, rows bigint", name="two")
    results, _ = runner(two, ("float64",), errors="null", device=device).run([COLUMN], LO, HI)
    assert results.failed.tolist() == [False, True, False, True]
    assert [math.isnan(value) for value in results.outputs[0]] == [False, True, False, True]
    assert results.outputs[1].tolist() == [2, 0, 2, 0]


@each_device
@pytest.mark.parametrize(
    ("function", "outputs", "count"),
    [
        (lambda x: (1.0, 2.0), "a double", "returns 2 values"),
        (lambda x: 1.0, "a double, b double", "returns 1 value,"),
        (lambda x: (1.0, 2.0), "a double, b double, c double", "returns 2 values"),
    ],
)
def test_the_wrong_number_of_values_is_refused(
    function: Callable[..., Any], outputs: str, count: str, device: str
) -> None:
    with pytest.raises(BadInputError, match=count):
        runner(made(function, outputs, name="wrong"), ("float64",), device=device).run([COLUMN], LO, HI)


def does_not_exist(x: Any) -> Any:
    return x.no_such_thing()


def bad_type(x: Any) -> Any:
    return x[0] + "a"


def in_a_helper(x: Any) -> Any:
    return bad_type(x)


def returns_none(x: Any) -> Any:
    if x[0] > 0:
        return 1.0
    return None


@pytest.mark.parametrize(
    ("function", "outputs", "said"),
    [
        (does_not_exist, "a double", "line .*return x.no_such_thing"),
        (bad_type, "a double", 'line .*return x.0. . "a"'),
        (in_a_helper, "a double", "line "),
        (returns_none, "a double", "number or None"),
        (lambda x: x[0], "a bigint", "fraction"),
        (lambda x: x, "a double", "returns readonly array"),
    ],
)
def test_a_kernel_that_does_not_compile_says_why_in_two_lines(
    function: Callable[..., Any], outputs: str, said: str
) -> None:
    with pytest.raises(BadInputError, match=said) as caught:
        runner(made(function, outputs, name="wrong"), ("float64",), device="numba").load()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) <= 2 * 160


def test_auto_tells_what_does_not_compile_when_the_query_is_defined() -> None:
    with pytest.raises(BadInputError, match="no_such_thing"):
        runner(made(does_not_exist), ("float64",)).load()


def test_an_incremental_form_that_does_not_compile_is_told_too() -> None:
    wrong = Aggregate(lambda x: (x, x), lambda a, b: a, lambda a, rows: a[0], width=1)
    with pytest.raises(BadInputError, match="kernel = 'wrong'"):
        runner(made(lambda x: x[0], name="wrong", aggregate=wrong), ("float64",), device="numba").load()


@pytest.mark.parametrize(
    ("wrong", "dtypes", "args", "said"),
    [
        (kernels.sum, ("float64", "float64"), (), "takes .x: .*given 2 columns and 0 arguments"),
        (kernels.quantile, ("float64",), (), "1 column, 0 arguments and scratch memory"),
        (kernels.sum, (), (), "no rows"),
        (kernels.sum, ("object",), (), "not a type of columns"),
        (kernels.quantile, ("float64",), ("0.5",), "takes numbers and arrays"),
        (kernels.quantile, ("float64",), (2**70,), "Int value is too large"),
    ],
)
def test_what_a_kernel_cannot_take_is_refused(
    wrong: Kernel, dtypes: tuple[str, ...], args: tuple[Any, ...], said: str
) -> None:
    with pytest.raises(BadInputError, match=said):
        runner(wrong, dtypes, args, device="numba").load()


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: Output("a b", "double"), "outputs"),
        (lambda: Output("a", "string"), "outputs"),
        (lambda: made(abs, "a double, A double", compiled=False), "outputs"),
        (lambda: made(abs, ""), "outputs"),
        (lambda: made(abs), "compiled=False"),
        (lambda: made(refuse_negative, scratch=-1), "scratch"),
        (lambda: made(refuse_negative, scratch="row"), "scratch"),
        (lambda: Aggregate(refuse_negative, refuse_negative, refuse_negative, 0), "width"),
        (lambda: Aggregate(refuse_negative, None, refuse_negative, 1), "combine"),  # type: ignore[arg-type]
        (lambda: Auto(kernels.sum, ("float64",), errors="ignore"), "errors"),
        (lambda: runner(kernels.sum, ("float64",), device="tpu"), "device"),
        (lambda: runner(made(abs, compiled=False), ("float64",), device="numba").load(), "compiled=False"),
    ],
)
def test_what_cannot_work_is_refused(make: Callable[[], object], field: str) -> None:
    with pytest.raises(BadInputError, match=field):
        make()


def test_a_function_that_is_not_compiled_runs_on_numpy_and_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    words = {"unit": "s"}
    anything = made(lambda x, options: float(np.median(x)) + len(options), compiled=False, name="anything")
    for _ in range(2):
        results, ran = runner(anything, ("float64",), (words,)).run([COLUMN], LO, HI)
    assert (ran.device, results.outputs[0].tolist()) == ("numpy", [2.0, 1.0, 2.0, 1.0])
    assert [record.message for record in caplog.records] == [
        "kernel anything is not compiled: it runs window by window in Python, which is slower"
    ]


def windows(rows: int, count: int) -> tuple[Rows, Rows]:
    lo = np.arange(count, dtype=np.int64)
    return lo, lo + rows


@each_device
def test_helpers_kernels_and_functions_that_call_themselves_may_be_called(device: str) -> None:
    def factorial(n: Any) -> Any:
        return 1 if n < 2 else n * factorial(n - 1)

    least = made(lambda x: x.min(), name="least")
    calls = made(lambda x: least(x) + factorial(x.shape[0]), name="calls")
    results, _ = runner(calls, ("float64",), device=device).run([np.arange(6.0)], *windows(3, 3))
    assert results.outputs[0].tolist() == [6.0, 7.0, 8.0]
