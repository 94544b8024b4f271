"""What a user writes: a function of one window, and the outputs that it returns."""

from __future__ import annotations

import dis
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.devices.fingerprint import fingerprint, plain
from penstock.errors import BadInputError

# DDL types of outputs, and what NumPy calls them.
DTYPES = {"double": "float64", "float": "float32", "bigint": "int64", "int": "int32"}
ROWS = "rows"
_CARRIED = "_carried_fingerprint"


@dataclass(frozen=True)
class Output:
    """One value that a kernel returns: its column, its type in Spark's DDL and in NumPy.

    >>> Output("slope", "double").dtype
    'float64'
    """

    name: str
    ddl: str

    def __post_init__(self) -> None:
        if not self.name.isidentifier() or self.ddl not in DTYPES:
            remedy = f"write 'slope double, last double'; types are {', '.join(DTYPES)}"
            raise BadInputError("outputs", f"{self.name} {self.ddl}".strip(), "not a name and a type", remedy)

    @property
    def dtype(self) -> str:
        """The type that NumPy has for it."""
        return DTYPES[self.ddl]


@dataclass(frozen=True)
class Aggregate:
    """The incremental form of a kernel: windows that share rows share the work on them.

    An accumulator is a tuple of `width` floats. `lift(*values, *args)` makes one of one row, `combine(a, b)` joins two
    of neighbouring stretches of rows (associative; it need be neither commutative nor invertible), and
    `lower(accumulator, rows, *args)` gives the outputs. The mean, as a sum:

    >>> mean = Aggregate(
    ...     lift=lambda x: (x,),
    ...     combine=lambda a, b: (a[0] + b[0],),
    ...     lower=lambda total, rows: total[0] / rows,
    ...     width=1,
    ... )
    >>> mean.lower(mean.combine(mean.lift(1.0), mean.lift(2.0)), 2)
    1.5
    """

    lift: Callable[..., Any]
    combine: Callable[..., Any]
    lower: Callable[..., Any]
    width: int

    def __post_init__(self) -> None:
        for name in ("lift", "combine", "lower"):
            if plain(getattr(self, name)) is None:
                reason = "not a Python function, and the incremental form needs all three"
                raise BadInputError(name, getattr(self, name), reason, "give lift, combine and lower")
        if self.width < 1:
            raise BadInputError("width", self.width, "an accumulator has no values", "write how many lift returns")


@dataclass(frozen=True)
class Kernel:
    """A function of one window, with its outputs; made by the decorator `kernel`.

    The function gets one array a column, then the arguments, then its scratch memory where it asked for some. Arrays
    are read-only; what scratch memory holds at the start is undefined. A kernel is called as its function is.
    """

    name: str
    function: Callable[..., Any]
    outputs: tuple[Output, ...]
    compiled: bool = True
    scratch: int | str = 0
    aggregate: Aggregate | None = None

    def __post_init__(self) -> None:
        names = [output.name.lower() for output in self.outputs]
        if not names or len(set(names)) < len(names):
            raise BadInputError("outputs", self.output_ddl, "a name is there twice", "give each a name of its own")
        if self.compiled and plain(self.function) is None:
            raise BadInputError("kernel", self.name, "not a Python function", "write compiled=False")
        if self.scratch != ROWS and (not isinstance(self.scratch, int) or self.scratch < 0):
            raise BadInputError("scratch", self.scratch, "no amount of memory", "write a number of values, or 'rows'")

    @property
    def output_ddl(self) -> str:
        """The outputs as Spark's DDL: `slope double, last double`."""
        return ", ".join(f"{output.name} {output.ddl}" for output in self.outputs)

    @property
    def raises(self) -> bool:
        """Whether its own code raises exceptions."""
        code = getattr(self.function, "__code__", None)
        return code is not None and any(each.opname == "RAISE_VARARGS" for each in dis.get_instructions(code))

    @property
    def py_func(self) -> Callable[..., Any]:
        """The function, by the name that Numba gives it: kernels may call each other."""
        return self.function

    @property
    def fingerprint(self) -> str:
        """Equal for equal kernels. A worker has the driver's; on the driver a global may have changed since."""
        if (carried := self.__dict__.get(_CARRIED)) is not None:
            return str(carried)
        parts = self.aggregate
        functions = [self.function, *((parts.lift, parts.combine, parts.lower) if parts else ())]
        return fingerprint(functions, f"{self.output_ddl}|{self.scratch}|{parts.width if parts else 0}")

    def __call__(self, *arguments: Any) -> Any:
        """The function on one window: `trend(prices, volumes, 1.0)`."""
        return self.function(*arguments)

    def __getstate__(self) -> dict[str, Any]:
        """With the fingerprint: a worker gets the kernel anew for every task, and must not compute it again."""
        return {**self.__dict__, _CARRIED: self.fingerprint}


def kernel(
    outputs: str,
    *,
    compiled: bool = True,
    scratch: int | str = 0,
    aggregate: Aggregate | None = None,
    name: str | None = None,
) -> Callable[[Callable[..., Any]], Kernel]:
    """Make a kernel of a function of one window.

    :arg outputs: What it returns, as DDL; types are double, float, bigint and int.
    :arg compiled: False for any Python function on NumPy arrays; else the Numba subset, which every device runs.
    :arg scratch: How many float64 values a window may use, or "rows": as many as the window has rows.
    :arg aggregate: The incremental form, if it has one.
    :arg name: Else the function's name.

    >>> @kernel("spread double, rows bigint")
    ... def spread(price):
    ...     return price.max() - price.min(), price.shape[0]
    >>> spread.output_ddl
    'spread double, rows bigint'
    """
    named = [part.strip().rpartition(" ") for part in outputs.split(",")]
    columns = tuple(Output(column.strip(), ddl.lower()) for column, _, ddl in named)

    def decorate(function: Callable[..., Any]) -> Kernel:
        title = name or str(getattr(function, "__name__", type(function).__name__))
        bare = getattr(function, "py_func", function)
        return Kernel(title, bare if compiled else function, columns, compiled, scratch, aggregate)

    return decorate
