"""Controllers by name, with their settings from a command line."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from penstock.control import registry
from penstock.control.faf import Faf
from penstock.control.pbaf import Pbaf
from penstock.control.percentile import Percentile
from penstock.control.pid import Pid
from penstock.control.pmbaf import Pmbaf
from penstock.control.slow_start import SlowStart
from penstock.control.step import Step
from penstock.control.two_objectives import TwoObjectives
from penstock.control.waiting import Waiting
from penstock.control.wrappers import Bounded, Sampled, Slewed
from penstock.errors import BadInputError
from penstock.sample import BatchSample, Decision
from penstock.size import LARGEST
from penstock.slo import Slo

SLO = Slo.parse("1 s ± 10%")


class Plugin:
    """Does nothing, in a configurable way."""

    def __init__(self, slo: Slo, size: float, window: int = 50, share: float = 0.1, quick: bool = False) -> None:
        self.size = size
        self.settings = (window, share, quick)

    def decide(self, sample: BatchSample) -> Decision:
        return Decision(self.size, "nothing")


class Demanding(Plugin):
    """Cannot work without a setting."""

    def __init__(self, slo: Slo, size: float, model: str) -> None:
        super().__init__(slo, size)


@pytest.fixture
def _plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [
        EntryPoint("broken", "no_such_package.module:Cls", registry.GROUP),
        EntryPoint("plugin", f"{__name__}:Plugin", registry.GROUP),
        EntryPoint("demanding", f"{__name__}:Demanding", registry.GROUP),
        EntryPoint("faf", "penstock.control.faf:Faf", registry.GROUP),
    ]
    monkeypatch.setattr(registry, "entry_points", lambda group: [point for point in found if point.group == group])
    # A test module cannot be imported by its name.
    own = {"plugin": Plugin, "demanding": Demanding}
    real_load = EntryPoint.load
    monkeypatch.setattr(EntryPoint, "load", lambda point: own.get(point.name) or real_load(point))


def test_built_in_controllers_are_registered_and_described() -> None:
    lines = registry.describe()
    assert {"fixed", "faf", "pbaf", "pbaf-wt", "mbaf", "pmbaf", "pid"} <= set(lines)
    assert all(line and "cannot" not in line for line in lines.values())
    assert registry.names() == sorted(lines)


def test_an_unknown_controller_is_answered_with_the_nearest_and_all() -> None:
    with pytest.raises(BadInputError, match=r"did you mean 'pmbaf'\? known are .*faf.*pid"):
        registry.create("pmbfa", SLO, 100)


def test_an_unknown_setting_is_answered_with_those_there_are() -> None:
    with pytest.raises(BadInputError, match=r"steps = 5: .* pmbaf takes step=10, lower=printed; .*sample.*max_size"):
        registry.create("pmbaf", SLO, 100, steps=5)
    with pytest.raises(BadInputError, match="fixed takes none of its own"):
        registry.create("fixed", SLO, 100, step=5)


def test_text_settings_reach_the_controller_as_it_wants_them() -> None:
    pmbaf = registry.create("pmbaf", SLO, 100, step="5%")
    assert isinstance(pmbaf, Pmbaf)
    assert pmbaf.step == Step(0.05, relative=True)
    pid = registry.create("pid", SLO, 100, kp="20", ki="5", kd="0.5")
    assert isinstance(pid, Pid)
    assert (pid.kp, pid.ki, pid.kd) == (20, 5, 0.5)
    pbaf = registry.create("pbaf", SLO, 100, lower="linear")
    assert isinstance(pbaf, Pbaf)
    assert pbaf.lower == "linear"


@pytest.mark.usefixtures("_plugins")
def test_text_is_coerced_by_the_annotations_of_a_plug_in() -> None:
    controller = registry.create("plugin", SLO, 100, window="1k", share="5%", quick="true")
    assert isinstance(controller, Plugin)
    assert controller.settings == (1000, 0.05, True)
    for setting in ({"window": "2.5"}, {"quick": "perhaps"}, {"share": "much"}):
        with pytest.raises(BadInputError, match=next(iter(setting))):
            registry.create("plugin", SLO, 100, **setting)


@pytest.mark.usefixtures("_plugins")
def test_a_broken_plug_in_is_named_and_breaks_no_other() -> None:
    assert registry.names() == ["broken", "demanding", "faf", "plugin"]
    assert "no_such_package" in registry.describe()["broken"]
    assert registry.describe()["plugin"] == "Does nothing, in a configurable way."
    with pytest.raises(BadInputError, match=r"'broken'.*no_such_package"):
        registry.create("broken", SLO, 100)
    assert registry.create("faf", SLO, 100).size == 100


@pytest.mark.usefixtures("_plugins")
def test_a_setting_without_default_is_asked_for() -> None:
    with pytest.raises(BadInputError, match="demanding does not work without it"):
        registry.create("demanding", SLO, 100)
    assert registry.create("demanding", SLO, 100, model="linear").size == 100


def test_common_settings_wrap_from_sampling_out_to_bounds() -> None:
    bounded = registry.create(
        "faf", SLO, 100, sample="5", warm_up="true", slew="100%", min_size="10", max_size="20k", step=3
    )
    assert isinstance(bounded, Bounded)
    assert (bounded.min_size, bounded.max_size) == (10, 20_000)
    slewed = bounded.inner
    assert isinstance(slewed, Slewed)
    assert slewed.factor == 2
    ramp = slewed.inner
    assert isinstance(ramp, SlowStart)
    sampled = ramp.inner
    assert isinstance(sampled, Sampled)
    assert sampled.k == 5
    assert type(sampled.inner).__name__ == "Faf"


def test_common_settings_that_ask_for_nothing_wrap_nothing() -> None:
    assert type(registry.create("faf", SLO, 100, sample=1, warm_up=False)).__name__ == "Faf"
    only_max = registry.create("faf", SLO, 100, max_size=500)
    assert isinstance(only_max, Bounded)
    assert (only_max.min_size, only_max.max_size) == (1, 500)
    only_min = registry.create("faf", SLO, 100, min_size=50)
    assert isinstance(only_min, Bounded)
    assert only_min.max_size == LARGEST


@pytest.mark.parametrize(
    "settings", [{"sample": "0"}, {"sample": 2.5}, {"warm_up": "perhaps"}, {"slew": "1"}, {"max_size": None}]
)
def test_impossible_common_settings_are_named(settings: dict[str, object]) -> None:
    with pytest.raises(BadInputError, match=next(iter(settings))):
        registry.create("faf", SLO, 100, **settings)


def test_a_spec_is_a_name_and_its_settings() -> None:
    assert registry.parse_spec("faf") == ("faf", {})
    assert registry.parse_spec(" pid : kp = 10% : ki=5%") == ("pid", {"kp": "10%", "ki": "5%"})


@pytest.mark.parametrize("spec", ["", ":step=1", "faf:", "faf:step", "faf:=1", "faf:step=", "faf:step=1:step=2"])
def test_a_malformed_spec_is_refused(spec: str) -> None:
    with pytest.raises(BadInputError, match="controller"):
        registry.parse_spec(spec)


def test_a_percentile_and_a_second_objective_go_around_all_other_wrappers() -> None:
    both = registry.create("faf", Slo.parse("p99 <= 2 s & >= 5k/s"), 100, max_size=500)
    assert isinstance(both, TwoObjectives)
    percentile = both.inner
    assert isinstance(percentile, Percentile)
    bounded = percentile.inner
    assert isinstance(bounded, Bounded)
    faf = bounded.inner
    assert isinstance(faf, Faf)
    assert faf.slo == Slo.parse("<= 2 s")


def test_below_a_percentile_end_to_end_a_live_query_may_wait_as_below_any_such_bound() -> None:
    controller = registry.create("faf", Slo.parse("p99 <= 2 s end-to-end"), 100, live=True, waits=True, wait=True)
    assert isinstance(controller, Percentile)
    assert isinstance(controller.inner, Waiting)
