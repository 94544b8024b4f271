"""Controllers by name: the built-in ones, and those that other packages register as entry points."""

from __future__ import annotations

import difflib
import inspect
import traceback
import typing
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points

from penstock.control.draining import Draining
from penstock.control.percentile import Percentile
from penstock.control.protocol import Controller, Waits
from penstock.control.settings import coerce, to_bool, to_count, to_whole
from penstock.control.slow_start import SlowStart
from penstock.control.two_objectives import TwoObjectives, objective_inside
from penstock.control.waiting import DEFAULT_PAYS, Waiting
from penstock.control.wrappers import Bounded, Filled, Sampled, Slewed
from penstock.errors import BadInputError, PenstockError
from penstock.size import LARGEST, SMALLEST
from penstock.slo import Kind, Metric, Slo

GROUP = "penstock.controllers"
DEFAULT = "predictive"
"""Who decides where the user names nobody."""
COMMON = {
    "sample": "decide on the mean of so many samples",
    "warm_up": "true: multiply the size until the target is near",
    "slew": "change at most by this factor a decision, e.g. 2 or 100%",
    "min_size": "never admit less",
    "max_size": "never admit more",
    "wait": "true: wait for more while an end-to-end bound allows it and a larger batch is cheaper",
    "pays": "wait no more once the fixed cost of a batch is this share of its time, e.g. 5%",
}
"""The settings that every controller takes, because a wrapper does the work."""


def names() -> list[str]:
    """The registered controllers.

    >>> "pmbaf" in names()
    True
    """
    return sorted(_entry_points())


def describe() -> dict[str, str]:
    """One line on each registered controller; one that cannot be loaded says so in its line.

    >>> describe()["faf"]
    'Fixed adaptation factor: one whole step up or down whenever the value leaves the band.'
    """
    lines = {}
    for name in names():
        try:
            lines[name] = (inspect.getdoc(load(name)) or "no description").splitlines()[0]
        except PenstockError as error:
            lines[name] = str(error)
    return lines


def load(name: str) -> type[Controller]:
    """The class of a registered controller."""
    points = _entry_points()
    if name not in points:
        close = difflib.get_close_matches(name, points, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise BadInputError("controller", name, "no such controller", f"{hint}known are {', '.join(sorted(points))}")
    try:
        return typing.cast("type[Controller]", points[name].load())
    # A plug-in may fail to import in any way at all, and only its own name should suffer.
    except Exception as error:
        cause = f"{points[name].value} cannot be imported ({type(error).__name__}: {error})"
        raise BadInputError("controller", name, cause, "repair or uninstall that plug-in") from error


def create(
    name: str, slo: Slo, size: float, *, live: bool = False, waits: bool | None = None, **settings: object
) -> Controller:
    """A controller by name, in the wrappers that its settings ask for. Values may be text, as on a command line.

    `live` is for a running query, where a batch has thousands of rows and data may be scarce: the controller's
    `live_defaults` (steps in percent, ramp-up) stand in for settings that are not given, batches that the
    source could not fill leave the limit as it is, and no backlog makes batches smaller.

    `waits` says whether the gate can wait for more: where it cannot, nobody may ask for it (`wait=True`); None is for a
    gate that nobody knows yet.

    Around all of it goes what a percentile or a second objective asks for.

    >>> controller = create("pmbaf", Slo.parse("1 s ± 10%"), 1000, step="5%", max_size="20k")
    >>> type(controller).__name__, type(controller.inner).__name__
    ('Bounded', 'Pmbaf')
    """
    cls = load(name)
    _check_waiting(name, cls, waits, settings)
    if live:
        settings = {**getattr(cls, "live_defaults", {}), **settings}
    own = {key: value for key, value in settings.items() if key not in COMMON}
    factory = typing.cast("typing.Callable[..., Controller]", cls)
    # A controller and the wrappers of its settings know one aim; what more there is to the objective goes around them.
    keeps = slo.share is not None and slo.metric in getattr(cls, "keeps_percentiles", ())
    inside = objective_inside(slo, keeps)
    checked = _checked(name, cls, own)
    with blaming(name):
        controller = factory(inside, size, **checked)
    common = {key: value for key, value in settings.items() if key in COMMON}
    controller = _wrapped(controller, inside, common, live)
    if slo.share is not None and not keeps:
        controller = Percentile(controller, slo)
    return controller if slo.also is None else TwoObjectives(controller, slo)


@contextmanager
def blaming(name: str) -> Iterator[None]:
    """What a plug-in raises becomes one line that names it; one of ours keeps its traceback: it is a bug."""
    try:
        yield
    except PenstockError:
        raise
    except Exception as error:
        point = _entry_points().get(name)
        if point is None or point.value.startswith("penstock."):
            raise
        at = traceback.extract_tb(error.__traceback__)[-1]
        cause = f"{point.value} raised {type(error).__name__}: {error} ({at.filename}:{at.lineno})"
        raise BadInputError("controller", name, cause, "repair that plug-in, or choose another controller") from error


def settings_of(name: str) -> str:
    """A controller's own settings with their defaults, those of a live query where they differ.

    >>> settings_of("faf")
    'step=10 (live: 20%), warm_up (live: True)'
    """
    cls = load(name)
    live = dict(getattr(cls, "live_defaults", {}))
    own = [
        f"{parameter.name}{_default(parameter)}"
        + (f" (live: {live.pop(parameter.name)})" if parameter.name in live else "")
        for parameter in list(inspect.signature(cls).parameters.values())[2:]
    ]
    return ", ".join([*own, *(f"{key} (live: {value})" for key, value in live.items())]) or "none"


def parse_spec(text: str) -> tuple[str, dict[str, typing.Any]]:
    """Name and settings from one line.

    >>> parse_spec("pmbaf:step=10:sample=5")
    ('pmbaf', {'step': '10', 'sample': '5'})
    """
    name, *parts = (part.strip() for part in text.split(":"))
    settings: dict[str, typing.Any] = {}
    for part in parts:
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not (key and equals and value) or key in settings:
            reason = "given twice" if key in settings else "not a setting"
            raise BadInputError("controller", text, f"{part!r} is {reason}", "write e.g. pmbaf:step=10:sample=5")
        settings[key] = value
    if not name:
        raise BadInputError("controller", text, "no name", "write e.g. pmbaf or pmbaf:step=10")
    return name, settings


def _entry_points() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def _checked(name: str, cls: type[Controller], settings: Mapping[str, object]) -> dict[str, object]:
    parameters = list(inspect.signature(cls).parameters.values())[2:]
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return dict(settings)
    known = {parameter.name: parameter for parameter in parameters}
    for key, value in settings.items():
        if key not in known:
            own = ", ".join(parameter.name + _default(parameter) for parameter in parameters)
            remedy = f"{name} takes {own or 'none of its own'}; every controller takes {', '.join(COMMON)}"
            raise BadInputError(key, value, f"no such setting of {name}", remedy)
    for key, parameter in known.items():
        if parameter.default is parameter.empty and key not in settings:
            raise BadInputError(key, None, f"{name} does not work without it", f"write {name}:{key}=...")
    try:
        hints = typing.get_type_hints(cls.__init__)
    # Annotations imported for type checkers only: the constructor itself then has to understand text.
    except NameError:
        hints = {}
    return {key: coerce(key, value, hints.get(key)) for key, value in settings.items()}


def _decides_waiting(cls: type[Controller]) -> bool:
    able: object = cls
    return isinstance(able, Waits) and able.decides_waiting


def _check_waiting(name: str, cls: type[Controller], waits: bool | None, settings: Mapping[str, object]) -> None:
    if _decides_waiting(cls):
        if waits is False:
            why = "it decides when a batch starts, and this source cannot wait"
            raise BadInputError("controller", name, why, f"choose one that decides a size, e.g. {DEFAULT}")
        for key in settings:
            if key in COMMON and key not in ("min_size", "max_size"):
                why = f"{name} decides when a batch starts, not how large it is"
                raise BadInputError(key, settings[key], why, "leave it out")
    if waits is False and to_bool("wait", settings.get("wait", False)):
        raise BadInputError("wait", settings["wait"], "this source cannot wait for more", "leave it out")


def _default(parameter: inspect.Parameter) -> str:
    return "" if parameter.default is parameter.empty else f"={parameter.default}"


def _wrapped(controller: Controller, slo: Slo, settings: Mapping[str, object], live: bool) -> Controller:
    if "sample" in settings and (k := to_whole("sample", settings["sample"])) != 1:
        controller = Sampled(controller, slo, k)
    if to_bool("warm_up", settings.get("warm_up", False)):
        controller = SlowStart(controller, slo)
    if live:
        controller = Filled(controller, slo)
    if "slew" in settings:
        slew = settings["slew"]
        controller = Slewed(controller, slew if isinstance(slew, str) else to_count("slew", slew))
    if "min_size" in settings or "max_size" in settings:
        least = to_count("min_size", settings.get("min_size", SMALLEST))
        most = to_count("max_size", settings.get("max_size", LARGEST))
        controller = Bounded(controller, least, most)
    if live and (slo.metric is Metric.END_TO_END or slo.kind is Kind.AT_LEAST):
        controller = Draining(controller)
    if to_bool("wait", settings.get("wait", False)):
        controller = Waiting(controller, slo, to_count("pays", settings.get("pays", DEFAULT_PAYS)))
    elif "pays" in settings:
        raise BadInputError("pays", settings["pays"], "nothing is waited for", "write wait=true too, or leave it out")
    return controller
