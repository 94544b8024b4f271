"""Where metrics are served, and what happens where they cannot be."""

from __future__ import annotations

import logging
import socket
import sys

import pytest

from penstock.distribution import penstock_version
from penstock.errors import BadInputError, MissingExtraError
from penstock.sample import BatchSample
from penstock.slo import Slo
from penstock.telemetry.endpoint import VARIABLE, exporter_for
from penstock.telemetry.query import Query

QUERY = Query("id-1", "orders", "FileStreamSource[in]", "files", Slo.parse("<= 1 s"))


@pytest.fixture(autouse=True)
def _no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


@pytest.fixture
def taken_port():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield int(other.getsockname()[1])


def test_nothing_is_served_unless_asked_for():
    assert exporter_for(None) is None


def test_queries_that_name_one_port_share_the_server(free_port: int, scrape):
    first, second = exporter_for(free_port), exporter_for(f"127.0.0.1:{free_port}")
    assert first is second is not None
    first.open(QUERY)
    assert scrape(free_port)["penstock_slo_target_seconds", (("query", "orders"),)] == 1


def test_the_variable_asks_for_it_too(free_port: int, scrape, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(VARIABLE, str(free_port))
    assert exporter_for(None) is exporter_for(free_port)
    assert scrape(free_port)["penstock_build_info", (("version", penstock_version()),)] == 1


def test_it_is_served_on_loopback_only_unless_asked_for(free_port: int):
    exporter_for(free_port)
    # Every address of 127.0.0.0/8 is this machine's: a server on all of them would answer at the second one too.
    with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.2", free_port)):
        pass


def test_another_address_is_served_when_asked_for(free_port: int):
    exporter_for(f"0.0.0.0:{free_port}")
    with socket.create_connection(("127.0.0.2", free_port)) as connection:
        assert connection.getpeername() == ("127.0.0.2", free_port)


def test_a_port_that_is_taken_is_refused_in_one_line(taken_port: int):
    with pytest.raises(BadInputError, match=rf"^metrics = {taken_port}: .*in use.*; choose another port[^\n]*$"):
        exporter_for(taken_port)


def test_behind_the_variable_a_port_that_is_taken_is_one_warning(
    taken_port: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setenv(VARIABLE, str(taken_port))
    with caplog.at_level(logging.WARNING, "penstock"):
        assert exporter_for(None) is exporter_for(None) is None
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert f"{VARIABLE} = '{taken_port}'" in caplog.text


@pytest.mark.parametrize("metrics", [0, -1, 65536, True, "", "all", "localhost", "9464x", "localhost:", 94.64])
def test_what_is_no_port_is_refused(metrics: object):
    with pytest.raises(BadInputError, match=r"write a port, e\.g\. 9464"):
        exporter_for(metrics)  # type: ignore[arg-type]


def test_a_host_that_is_not_there_is_refused(free_port: int):
    with pytest.raises(BadInputError, match="nothing can be served"):
        exporter_for(f"no.such.host.invalid:{free_port}")


def test_without_the_package_the_command_to_install_it_is_told(free_port: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'penstock-spark\[metrics\]'"):
        exporter_for(free_port)


def test_a_scraper_that_connects_and_says_nothing_holds_up_neither_counting_nor_another_scraper(free_port: int, scrape):
    exporter = exporter_for(free_port)
    assert exporter is not None
    numbers = exporter.open(QUERY)
    silent = [socket.create_connection(("127.0.0.1", free_port)) for _ in range(20)]
    # These have asked, and read nothing of the answer.
    for each in silent[:10]:
        each.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
    for batch_id in range(50):
        numbers.sample(BatchSample(batch_id, 10, 10, processing_s=0.5))
    assert scrape(free_port)["penstock_slo_met_total", (("query", "orders"),)] == 50
    for each in silent:
        each.close()
