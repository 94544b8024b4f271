"""The loops over windows, as source text: Numba compiles a loop of its own for each number of columns and outputs.

For two columns, one argument and one output, on a GPU:

>>> print(cuda_loop(Shape(columns=2, args=1, outputs=1, scratch="rows")))
def loop(c0, c1, a0, lo, hi, scratch, o0):
    i = cuda.grid(1)
    if i < lo.shape[0]:
        o0[i] = f(c0[lo[i]:hi[i]], c1[lo[i]:hi[i]], a0, scratch[i, :hi[i] - lo[i]])
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.devices.kernel import ROWS

_WINDOW_LOOP = """\
def guarded(part, i, {shared}):
    try:
        {results} = f({window})
    except Exception:
        failed[i] = True


def loop({shared}):
    for part in prange(parts.shape[0] - 1):
        for i in range(parts[part], parts[part + 1]):
            guarded(part, i, {shared})"""

_CUDA_LOOP = """\
def loop({given}, lo, hi, scratch, {outputs}):
    i = cuda.grid(1)
    if i < lo.shape[0]:
        {results} = f({window})"""

_INCREMENTAL_LOOP = """\
def loop({given}, lo, hi, suffix, {outputs}):
    first = lo[0]
    middle = lo[0]
    end = lo[0]
    for i in range(lo.shape[0]):
        if lo[i] >= middle:
            first = lo[i]
            middle = hi[i]
            end = hi[i]
            {at_last} = lift({last_row})
            for j in range(middle - 2, first - 1, -1):
                {at_j} = combine(lift({row}), ({after_j}))
        for j in range(end, hi[i]):
            if j == middle:
                {back} = lift({row})
            else:
                {back} = combine(({back}), lift({row}))
        end = hi[i]
        if end > middle:
            {results} = lower(combine(({front}), ({back})), hi[i] - lo[i]{more})
        else:
            {results} = lower(({front}), hi[i] - lo[i]{more})"""


@dataclass(frozen=True)
class Shape:
    """What a loop depends on: how many columns, arguments and outputs, and which scratch memory."""

    columns: int
    args: int
    outputs: int
    scratch: int | str = 0

    @property
    def given(self) -> str:
        """The names of columns and arguments: `c0, c1, a0`."""
        return ", ".join([f"c{k}" for k in range(self.columns)] + [f"a{k}" for k in range(self.args)])

    def outputs_at(self, place: str) -> str:
        """The outputs, each with this behind its name."""
        return ", ".join(f"o{k}{place}" for k in range(self.outputs))

    def values_at(self, place: str, scratch_row: str = "") -> str:
        """What a function is called with: a place in the columns, the arguments, scratch memory where it has some."""
        parts = [f"c{k}{place}" for k in range(self.columns)] + [f"a{k}" for k in range(self.args)]
        if self.scratch and scratch_row:
            parts.append(f"scratch[{scratch_row}, :{'hi[i] - lo[i]' if self.scratch == ROWS else self.scratch}]")
        return ", ".join(parts)


def window_loop(shape: Shape) -> str:
    """The loop on a CPU: parts of the windows run beside each other, each with scratch memory of its own.

    A window that raises is marked in `failed`: `try` is in a function of its own, since Numba cannot leave `prange` by
    an exception.
    """
    return _WINDOW_LOOP.format(
        shared=f"{shape.given}, lo, hi, parts, scratch, {shape.outputs_at('')}, failed",
        results=shape.outputs_at("[i]"),
        window=shape.values_at("[lo[i]:hi[i]]", "part"),
    )


def cuda_loop(shape: Shape) -> str:
    """The same on a GPU: a thread runs one window."""
    return _CUDA_LOOP.format(
        given=shape.given,
        outputs=shape.outputs_at(""),
        results=shape.outputs_at("[i]"),
        window=shape.values_at("[lo[i]:hi[i]]", "i"),
    )


def incremental_loop(shape: Shape, width: int) -> str:
    """Two stacks over windows that only move forward, none of them empty: see `penstock.devices.incremental`.

    `suffix[1 + j - first]` joins rows j to `middle`, and `suffix[0]` those from `middle` to `end`.
    """

    def accumulator(row: str) -> str:
        return "".join(f"suffix[{row}, {k}], " for k in range(width))

    return _INCREMENTAL_LOOP.format(
        given=shape.given,
        outputs=shape.outputs_at(""),
        results=shape.outputs_at("[i]"),
        row=shape.values_at("[j]"),
        last_row=shape.values_at("[middle - 1]"),
        at_last=accumulator("middle - first"),
        at_j=accumulator("1 + j - first"),
        after_j=accumulator("2 + j - first"),
        front=accumulator("1 + lo[i] - first"),
        back=accumulator("0"),
        more="".join(f", a{k}" for k in range(shape.args)),
    )
