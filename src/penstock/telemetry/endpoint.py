"""Where metrics are served: one server for each address, shared by all queries of the application."""

from __future__ import annotations

import logging
import os
import socket
import threading
from socketserver import TCPServer, ThreadingMixIn
from typing import TYPE_CHECKING

from penstock.errors import BadInputError, MissingExtraError, PenstockError

if TYPE_CHECKING:
    from penstock.telemetry.prometheus import Exporter

log = logging.getLogger("penstock")

VARIABLE = "PENSTOCK_METRICS"
LOOPBACK = "127.0.0.1"
SILENT_S = 10.0
"""After this time a scraper that neither asks nor reads is dropped (s)."""

_HOW = "write a port, e.g. 9464, or '0.0.0.0:9464' for scrapers on other machines"
_exporters: dict[tuple[str, int], Exporter] = {}
_warned: set[str] = set()
_lock = threading.Lock()


class _Server(ThreadingMixIn, TCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A scraper that went away, or was dropped, is its own affair."""
        log.debug("penstock: the scraper %s was not served", client_address, exc_info=True)


def exporter_for(metrics: int | str | None) -> Exporter | None:
    """What serves at this address, or at that of the variable `PENSTOCK_METRICS`; None where neither is given.

    An address that cannot be served is refused. The variable's is not: it is the machine's, and no reason to keep a
    query from running, so that there a warning is all.
    """
    if metrics is not None:
        return _serve("metrics", metrics)
    given = os.environ.get(VARIABLE, "").strip()
    if not given:
        return None
    try:
        return _serve(VARIABLE, given)
    except PenstockError as error:
        if str(error) not in _warned:
            _warned.add(str(error))
            log.warning("penstock: no metrics are served: %s", error)
        return None


def parse_address(field: str, address: object) -> tuple[str, int]:
    """Host and port.

    >>> parse_address("metrics", 9464), parse_address("metrics", "0.0.0.0:9464"), parse_address("metrics", "[::1]:9464")
    (('127.0.0.1', 9464), ('0.0.0.0', 9464), ('::1', 9464))
    """
    host, _, port = str(address).strip().rpartition(":")
    if isinstance(address, bool) or not (port.isascii() and port.isdigit() and 0 < int(port) < 2**16):
        raise BadInputError(field, address, "no port is in it", _HOW)
    return host.removeprefix("[").removesuffix("]") or LOOPBACK, int(port)


def _serve(field: str, given: object) -> Exporter:
    host, port = address = parse_address(field, given)
    with _lock:
        if address not in _exporters:
            try:
                _exporters[address] = _start(host, port)
            except ModuleNotFoundError as error:
                raise MissingExtraError("prometheus-client", "metrics") from error
            except OSError as error:
                why = f"nothing can be served at {host} port {port} ({error.strerror or error})"
                raise BadInputError(field, given, why, "choose another port, or end what has it") from error
            log.info("penstock: metrics are served at http://%s:%d/metrics", host, port)
        return _exporters[address]


def _start(host: str, port: int) -> Exporter:
    from prometheus_client import CollectorRegistry
    from prometheus_client.exposition import MetricsHandler

    from penstock.telemetry.prometheus import Exporter

    exporter = Exporter()
    registry = CollectorRegistry()
    registry.register(exporter)

    class Handler(MetricsHandler.factory(registry)):  # type: ignore[misc]
        timeout = SILENT_S

    class Server(_Server):
        address_family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]

    server = Server((host, port), Handler)
    threading.Thread(target=server.serve_forever, name="penstock-metrics", daemon=True).start()
    return exporter
