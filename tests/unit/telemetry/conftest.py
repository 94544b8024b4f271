"""What tests of sinks have in common: queries by hand, scrapes over HTTP."""

from __future__ import annotations

import socket
import time
import urllib.request
from collections.abc import Callable

import pytest
from prometheus_client.parser import text_string_to_metric_families

Series = dict[tuple[str, tuple[tuple[str, str], ...]], float]
_PATIENCE_S = 30.0


def scrape(port: int) -> Series:
    """Every sample that is served at this port of loopback: name and sorted labels to value."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        text = answer.read().decode()
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {(sample.name, tuple(sorted(sample.labels.items()))): sample.value for sample in samples}


@pytest.fixture(name="scrape")
def _scrape() -> Callable[[int], Series]:
    return scrape


@pytest.fixture
def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def until() -> Callable[[Callable[[], object]], None]:
    """Wait for a condition; how long it took is nobody's business, but a test must not hang."""

    def wait(condition: Callable[[], object]) -> None:
        deadline_s = time.monotonic() + _PATIENCE_S
        while not condition():
            if time.monotonic() > deadline_s:
                pytest.fail("what the test waits for has not come")
            time.sleep(0.01)

    return wait
