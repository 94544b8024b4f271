"""Options of an application, from the command line to the app: what they mean, and what is refused in one line."""

from __future__ import annotations

import pytest

from penstock.apps import registry
from penstock.apps.gasser.app import GasserApp
from penstock.apps.gasser.queries import Q1, Q2
from penstock.bench.run import RunSpec, prepare
from penstock.cli import main as cli
from penstock.cli import run as running
from penstock.errors import BadInputError
from penstock.stages.windows.spec import WindowSpec


@pytest.mark.parametrize("name", ["q1", "q2"])
def test_both_queries_are_installed_under_their_names(name: str) -> None:
    app = registry.create(name)
    assert app.name == name
    assert name.upper() in registry.describe()[name]
    assert list(app.classes) == ["test", "small", "medium", "large", "huge"]
    assert "RocksDB" in app.session_settings["spark.sql.streaming.stateStore.providerClass"]


@pytest.mark.parametrize(
    ("size_class", "options", "window", "keys"),
    [
        ("test", {}, WindowSpec(1000, 25), None),
        ("small", {}, WindowSpec(10_000, 25), None),
        ("medium", {"window": "25k/5"}, WindowSpec(25_000, 5), None),
        ("test", {"window": "0.5k / 1e2", "keys": "0.5k"}, WindowSpec(500, 100), 500),
        ("large", {"window": "0.05M/50k"}, WindowSpec(50_000, 50_000), None),
    ],
)
def test_options_and_class_choose_the_window(
    size_class: str, options: dict[str, str], window: WindowSpec, keys: int | None
) -> None:
    prepared = prepare(RunSpec("q1", size_class, options=options))
    assert isinstance(prepared.app, GasserApp)
    assert (prepared.app.chosen.window, prepared.app.chosen.keys) == (window, keys)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"window": "0/5"}, "window = '0/5': a window and its slide are of rows"),
        ({"window": "5/0"}, "window = '5/0': a window and its slide are of rows"),
        ({"window": "-5/1"}, "window = '-5/1': a window and its slide are of rows"),
        ({"window": "5/10"}, "window = '5/10': the slide is above the length"),
        ({"window": "10k"}, "window = '10k': not LENGTH/SLIDE"),
        ({"window": "ten/2"}, "window = 'ten/2': 'ten' is not a number"),
        ({"window": "10/"}, "window = '10/': '' is not a number"),
        ({"window": "10/2/1"}, "window = '10/2/1': '2/1' is not a number"),
        ({"window": "10.5/2"}, "window = '10.5/2': '10.5' is not a whole number"),
        ({"window": "1.1M/25"}, "the 1,000,000 rows of class test fill no window"),
        ({"keys": "0"}, "keys = '0': no number of keys"),
        ({"keys": "-3"}, "keys = '-3': no number of keys"),
        ({"keys": "many"}, "keys = 'many': 'many' is not a number"),
        ({"keys": "1.5"}, "keys = '1.5': '1.5' is not a whole number"),
        ({"keys": "10M"}, "keys = '10M': no number of keys; give 1 to 8,388,608"),
        ({"keys": "2k"}, "the 1,000,000 rows of 2,000 keys of class test fill no window"),
        ({"device": "abacus"}, "device = 'abacus': no such device; choose one of: auto, numpy, numba"),
        ({"colour": "red"}, "colour = 'red': q1 has no such option; its options are window, keys, device"),
    ],
)
def test_what_cannot_be_is_refused_before_spark_starts(options: dict[str, str], said: str) -> None:
    with pytest.raises(BadInputError) as refused:
        prepare(RunSpec("q1", "test", options=options))
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_device_that_is_not_here_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    from penstock.devices.cuda import Cuda

    monkeypatch.setattr(Cuda, "missing", lambda self: "no GPU answers")
    with pytest.raises(BadInputError, match="device = 'cuda': no GPU answers"):
        prepare(RunSpec("q2", "test", options={"device": "cuda"}))


@pytest.mark.parametrize("option", ["window", "keys", "device"])
def test_an_application_without_windows_refuses_their_options(
    option: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "run", None)
    with pytest.raises(SystemExit) as ended:
        cli.main(["run", "military", "--class", "test", f"--{option}", "7"])
    assert ended.value.code == 2
    assert capfd.readouterr().err == f"penstock: {option} = '7': military has no such option; leave it out\n"


def test_options_of_the_command_line_reach_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    specs: list[RunSpec] = []

    def stopped(spec: RunSpec, *rest: object) -> dict[str, object]:
        specs.append(spec)
        raise BadInputError("run", "q2", "far enough", "stop")

    monkeypatch.setattr(running, "run", stopped)
    with pytest.raises(SystemExit):
        cli.main(["run", "q2", "--class", "test", "--window", "500/50", "--keys", "20", "--device", "numba", "--json"])
    assert [spec.options for spec in specs] == [{"window": "500/50", "keys": "20", "device": "numba"}]


def test_a_cost_or_a_class_that_is_not_there_is_refused() -> None:
    with pytest.raises(BadInputError, match="class = 'tiny'"):
        GasserApp(Q1).configured("tiny", {}).workload("tiny")
    with pytest.raises(BadInputError, match="costs the same"):
        GasserApp(Q2).workload("test", cost="constant:value=3")


def test_a_first_batch_is_smaller_where_a_row_is_in_more_windows() -> None:
    sizes = [
        GasserApp(query).configured("small", {"window": window}).first_size("small")
        for query, window in ((Q1, "1k/25"), (Q1, "10k/5"), (Q2, "10k/25"), (Q2, "50k/5"))
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == 20_000
    assert sizes[-1] == 1_000


@pytest.mark.parametrize(("name", "arrivals"), [("q1", "poisson:rate=200k/s"), ("q2", "constant:rate=115k/s")])
def test_rows_may_come_as_the_paper_has_them(name: str, arrivals: str) -> None:
    workload = prepare(RunSpec(name, "test", arrivals=arrivals)).workload
    assert workload.arrival_s(999_999) == pytest.approx(1e6 / (2e5 if name == "q1" else 1.15e5), rel=0.01)
