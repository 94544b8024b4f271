"""One Kafka broker on loopback, as a process of its own: made in a temporary folder, killed and started at will."""

from __future__ import annotations

import base64
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.errors import MissingExtraError, PenstockError
from penstock.progress import Say
from penstock.testing.kafka import jars

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

LOOPBACK = "127.0.0.1"
# Below the ports that the system hands out by itself: nobody gets them while the broker is down for a moment.
_PORTS = range(20_000, 32_000)
_HEAP = "-Xmx512m"
_PATIENCE_S = 120.0
_TAIL_LINES = 15

# Ends the broker's process group, and removes its folder if it is ours, when the pipe to this Python breaks: also when
# Python was killed and could not see to it.
_GUARD = 'read -r _; kill -s KILL -- "-$1" 2>/dev/null; if [ -n "$2" ]; then sleep 0.2; rm -rf -- "$2"; fi'

# After a kill the next start waits for the end of the old one's session, which is 9 s unless told otherwise.
_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{host}:{controller}
listeners=PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller}
advertised.listeners=PLAINTEXT://{host}:{port}
controller.listener.names=CONTROLLER
log.dirs={data}
auto.create.topics.enable=false
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
num.network.threads=2
num.io.threads=2
broker.heartbeat.interval.ms=500
broker.session.timeout.ms=3000
"""
_LOG4J = """\
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=%d %p %c{1}: %m%n
rootLogger.level=warn
rootLogger.appenderRef.out.ref=out
logger.start.name=kafka.server.KafkaRaftServer
logger.start.level=info
"""


class BrokerError(PenstockError):
    """A broker that does not start, or an answer that it does not give."""


class Broker:
    """A single KRaft node; a context manager.

    ::

        with Broker() as broker:
            broker.create_topic("clicks", partitions=3)
            ...broker.bootstrap...
            broker.kill()
            broker.start()  # the same data, the same port

    The folder is temporary and goes with the broker, unless one is given.
    """

    def __init__(self, folder: Path | None = None, progress: Say = jars.log.info) -> None:
        classpath = jars.fetch(jars.BROKER, progress)
        self._java = [jars.java(), "-cp", os.pathsep.join(map(str, classpath)), _HEAP]
        self._ours = folder is None
        self.folder = folder or Path(tempfile.mkdtemp(prefix="penstock-kafka-"))
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log = self.folder / "broker.log"
        self._port, controller = free_ports(2)
        self.bootstrap = f"{LOOPBACK}:{self._port}"
        self._properties = self.folder / "server.properties"
        settings = {"host": LOOPBACK, "port": self._port, "controller": controller, "data": self.folder / "data"}
        self._properties.write_text(_PROPERTIES.format(**settings), "utf-8")
        log4j = self.folder / "log4j2.properties"
        log4j.write_text(_LOG4J, "utf-8")
        self._java.append(f"-Dlog4j2.configurationFile={log4j.as_uri()}")
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self._admin: AdminClient | None = None

    def __enter__(self) -> Broker:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def running(self) -> bool:
        """Whether the process is there."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> Broker:
        """Start it, on the data that is there, and wait until it answers."""
        if self.running:
            return self
        try:
            if not (self.folder / "data" / "meta.properties").exists():
                self._format()
            with self.log.open("ab") as log:
                command = [*self._java, "kafka.Kafka", str(self._properties)]
                self._process = subprocess.Popen(
                    command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, process_group=0
                )
            self._guard = _guard(self._process.pid, self.folder if self._ours else None)
            self._wait()
        except BaseException:
            self.kill()
            raise
        return self

    def stop(self) -> None:
        """End it in order; the data stays for the next start."""
        if self.running:
            assert self._process is not None
            self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_PATIENCE_S)
        self.kill()

    def kill(self) -> None:
        """End it at once, as a crash would (SIGKILL); the data stays for the next start."""
        if self._process is not None:
            if self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        if self._guard is not None:
            self._guard.kill()
            self._guard.wait()
            assert self._guard.stdin is not None
            self._guard.stdin.close()
        self._process = self._guard = None

    def close(self) -> None:
        """End it, and remove its folder if that is ours."""
        self.kill()
        if self._ours:
            shutil.rmtree(self.folder, ignore_errors=True)

    def create_topic(self, name: str, partitions: int = 1, **config: Any) -> None:
        """Make a topic and wait until it can be written; `config` with `_` for `.`, e.g. `retention_ms=60_000`."""
        from confluent_kafka.cimpl import NewTopic

        settings = {key.replace("_", "."): str(value) for key, value in config.items()}
        self._ask(lambda admin: admin.create_topics([NewTopic(name, partitions, 1, config=settings)])[name])
        # Its metadata is there a moment before the partitions themselves are.
        self._until(
            lambda: count_records(self.bootstrap, name, partitions, 2.0) is not None, f"has not made topic {name!r}"
        )

    def delete_topic(self, name: str) -> None:
        """Remove a topic and its records."""
        self._ask(lambda admin: admin.delete_topics([name])[name])

    def tail(self, lines: int = _TAIL_LINES) -> str:
        """The last lines of the log, without the frames of Java's traces."""
        try:
            said = self.log.read_text("utf-8", "replace").splitlines()
        except OSError:
            return "(no log)"
        return "\n".join([line for line in said if not line.startswith("\tat ")][-lines:])

    def _format(self) -> None:
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        # An id must not begin with a dash: it would be read as an option.
        command = [
            *self._java,
            "kafka.tools.StorageTool",
            "format",
            "-t",
            f"p{cluster[1:]}",
            "-c",
            str(self._properties),
        ]
        with self.log.open("ab") as log:
            if subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False).returncode:
                raise BrokerError(f"the broker's storage could not be formatted; its log ends with:\n{self.tail()}")

    def _wait(self) -> None:
        self._until(self._accepts, "does not listen")
        self._admin = client(self.bootstrap)
        self._until(self._answers, "does not answer")

    def _accepts(self) -> bool:
        try:
            socket.create_connection((LOOPBACK, self._port), timeout=1.0).close()
        except OSError:
            return False
        return True

    def _answers(self) -> bool:
        from confluent_kafka import KafkaException

        assert self._admin is not None
        try:
            return bool(self._admin.list_topics(timeout=2.0).brokers)
        except KafkaException:
            return False

    def _until(self, condition: Callable[[], bool], complaint: str) -> None:
        deadline_s = time.monotonic() + _PATIENCE_S
        while not condition():
            if not self.running:
                raise BrokerError(f"the broker ended; its log ends with:\n{self.tail()}")
            if time.monotonic() > deadline_s:
                raise BrokerError(f"the broker {complaint} after {_PATIENCE_S:g} s; its log ends with:\n{self.tail()}")
            time.sleep(0.05)

    def _ask(self, question: Callable[[AdminClient], Any]) -> None:
        from confluent_kafka import KafkaException

        if self._admin is None:
            raise BrokerError("the broker was never started: call start() first")
        try:
            question(self._admin).result(timeout=_PATIENCE_S)
        except KafkaException as error:
            raise BrokerError(f"the broker refused: {error.args[0].str()}") from error


def client(bootstrap: str, **settings: Any) -> AdminClient:
    """An administrator's client that complains to nobody: what goes wrong is seen in its answers."""
    try:
        from confluent_kafka.admin import AdminClient
    except ModuleNotFoundError as error:
        raise MissingExtraError("confluent-kafka", "kafka") from error
    return AdminClient({"bootstrap.servers": bootstrap, "log_level": 0, "reconnect.backoff.max.ms": 500, **settings})


def count_records(bootstrap: str, topic: str, partitions: int, timeout_s: float) -> int | None:
    """How many records a topic holds now, or None where the broker does not tell."""
    from confluent_kafka import Consumer, KafkaException, TopicPartition

    # A consumer that joins no group and reads nothing: only such a client can ask for both ends.
    asker = Consumer({"bootstrap.servers": bootstrap, "group.id": "penstock", "log_level": 0})
    try:
        ends = [asker.get_watermark_offsets(TopicPartition(topic, part), timeout_s) for part in range(partitions)]
    except KafkaException:
        return None
    finally:
        asker.close()
    return sum(last - first for first, last in ends)


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody listens on."""
    with_sockets: list[socket.socket] = []
    try:
        for port in random.sample(_PORTS, len(_PORTS)):
            probe = socket.socket()
            with_sockets.append(probe)
            try:
                probe.bind((LOOPBACK, port))
            except OSError:
                with_sockets.pop().close()
            if len(with_sockets) == count:
                return [probe.getsockname()[1] for probe in with_sockets]
    finally:
        for probe in with_sockets:
            probe.close()
    raise BrokerError(f"no free port on {LOOPBACK} from {_PORTS.start} to {_PORTS.stop - 1}")


def _guard(group: int, folder: Path | None) -> subprocess.Popen[bytes]:
    command = ["/bin/sh", "-c", _GUARD, "guard", str(group), str(folder or "")]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True)
