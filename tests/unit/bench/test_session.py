from __future__ import annotations

import pickle
import socket

import pytest
from pyspark import SparkContext

from penstock.bench.session import check_master, session
from penstock.errors import BadInputError


@pytest.fixture
def closed_port() -> int:
    """A port of this machine where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def test_a_master_that_does_not_answer_is_refused_before_spark_starts(
    closed_port: int, monkeypatch: pytest.MonkeyPatch
):
    # Starting Spark in this folder raises, so this ends before it; a test before may have left a session open.
    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    master = f"spark://127.0.0.1:{closed_port}"
    with (
        pytest.raises(BadInputError, match=rf"master = '{master}': no master answers .*refused.*local\[2\]"),
        session(master),
    ):
        pass


def test_one_master_of_several_is_enough(closed_port: int):
    with socket.create_server(("127.0.0.1", 0)) as server:
        open_port = server.getsockname()[1]
        check_master(f"spark://127.0.0.1:{closed_port},127.0.0.1:{open_port}")


@pytest.mark.parametrize("master", ["local[2]", "local-cluster[2,1,1024]", "yarn", "k8s://https://127.0.0.1:1"])
def test_other_masters_are_spark_s_own_business(master: str):
    check_master(master)


@pytest.mark.parametrize("master", ["spark://host", "spark://", "spark://host:port"])
def test_an_address_without_a_port_is_refused(master: str):
    with pytest.raises(BadInputError, match=r"not HOST:PORT; write e\.g\. spark://127\.0\.0\.1:7077"):
        check_master(master)


def test_bad_input_of_another_process_keeps_its_words():
    error = pickle.loads(pickle.dumps(BadInputError("master", "x", "no reason", "no remedy")))
    assert (str(error), error.remedy) == ("master = 'x': no reason; no remedy", "no remedy")
