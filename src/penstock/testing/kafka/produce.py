"""Records for a topic: as many as fit, or on the schedule of an arrival pattern.

Record i goes to partition i modulo their number, so that every run fills them alike. Producers are idempotent: after
a broker was killed, what they send again is stored once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from penstock.clock import Clock, SystemClock
from penstock.errors import BadInputError, MissingExtraError
from penstock.patterns.arrivals import AnyArrivals
from penstock.testing.kafka.broker import BrokerError

if TYPE_CHECKING:
    import confluent_kafka

ValuesOf = Callable[[NDArray[np.int64]], Sequence[bytes]]
_CHUNK = 10_000
_TICK_S = 0.01
_PATIENCE_S = 60.0


def numbered(indices: NDArray[np.int64]) -> list[bytes]:
    """The value of record i is i in decimals.

    >>> numbered(np.array([0, 41]))
    [b'0', b'41']
    """
    return [b"%d" % index for index in indices.tolist()]


def fill(bootstrap: str, topic: str, count: int, values_of: ValuesOf = numbered, first: int = 0) -> None:
    """Write records `first` to `first + count - 1`, as fast as the broker takes them, and wait until all are stored.

    `values_of` gets many indices at once and returns as many values.
    """
    with _Sender(bootstrap, topic, {"linger.ms": 20}) as sender:
        for start in range(first, first + count, _CHUNK):
            indices = np.arange(start, min(start + _CHUNK, first + count))
            sender.send(indices, values_of(indices))


class Producer:
    """Writes records in real time, each when an arrival pattern has it arrive; a context manager.

    ::

        with Producer(broker.bootstrap, "clicks", parse_arrivals("wave:..."), count=100_000) as producer:
            ...
        producer.produced, producer.late_s

    The schedule is absolute: a record that could not be written in time (the broker is down) follows as soon as it
    can, and its timestamp says when it was due, so that latency counts the wait. It ends after `count` records, after
    `for_s` seconds, or when `stop` is called, and then waits until all are stored. A thread, not a process: the work
    is in the client's own threads, outside of Python.
    """

    def __init__(
        self,
        bootstrap: str,
        topic: str,
        arrivals: AnyArrivals,
        count: int,
        for_s: float = 3600.0,
        values_of: ValuesOf = numbered,
        clock: Clock | None = None,
    ) -> None:
        if count < 1:
            raise BadInputError("count", count, "there is nothing to write", "give 1 or more")
        self._sender = _Sender(bootstrap, topic, {"linger.ms": 2})
        self._arrivals = arrivals
        self._count = count
        self._for_s = for_s
        self._values_of = values_of
        self._clock = clock or SystemClock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="penstock-producer", daemon=True)
        self._error: BaseException | None = None
        self.produced = 0
        """How many records were handed to the client so far."""
        self.late_s = 0.0
        """The longest delay of a record against its schedule."""
        self.started_wall_s = float("nan")
        """When the schedule began, in seconds since the epoch."""

    def start(self) -> Producer:
        """Begin the schedule now."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """Write no more, and wait until all that was written is stored; raises what went wrong meanwhile."""
        self._ended.set()
        self.join()

    def join(self, timeout_s: float | None = None) -> None:
        """Wait for the end of the schedule; raises what went wrong meanwhile."""
        self._thread.join(timeout_s)
        if self._error is not None:
            raise self._error

    @property
    def running(self) -> bool:
        """Whether records may still come."""
        return self._thread.is_alive()

    def __enter__(self) -> Producer:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self) -> None:
        try:
            with self._sender as sender:
                self._follow(sender)
        except BaseException as error:
            self._error = error

    def _follow(self, sender: _Sender) -> None:
        begun_s = self._clock.monotonic_s()
        self.started_wall_s = self._clock.wall_s()
        while not self._ended.is_set() and self.produced < self._count:
            elapsed_s = min(self._clock.monotonic_s() - begun_s, self._for_s)
            due = min(self._arrivals.arrived_by(elapsed_s), self._count, self.produced + _CHUNK)
            if due > self.produced:
                indices = np.arange(self.produced, due)
                due_s = self._arrivals.arrival_s(indices)
                self.late_s = max(self.late_s, elapsed_s - float(due_s[0]))
                millis = ((self.started_wall_s + due_s) * 1e3).astype(np.int64).tolist()
                self.produced += sender.send(indices, self._values_of(indices), millis, self._ended)
            elif elapsed_s >= self._for_s:
                return
            else:
                sender.poll()
                self._ended.wait(_TICK_S)


class _Sender:
    """The client, with its queue bounded; leaving it waits until all is stored."""

    def __init__(self, bootstrap: str, topic: str, settings: dict[str, Any]) -> None:
        try:
            from confluent_kafka import Producer as Client
        except ModuleNotFoundError as error:
            raise MissingExtraError("confluent-kafka", "kafka") from error
        self._topic = topic
        self._failed: str | None = None
        self._client: confluent_kafka.Producer = Client(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                # Without it every record would call back into Python.
                "delivery.report.only.error": True,
                "on_delivery": self._refused,
                "queue.buffering.max.messages": 500_000,
                "queue.buffering.max.kbytes": 262_144,
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,
                **settings,
            }
        )
        self._partitions = self._partitions_of(topic)

    def _partitions_of(self, topic: str) -> int:
        from confluent_kafka import KafkaException

        try:
            found = self._client.list_topics(topic, timeout=_PATIENCE_S).topics[topic]
        except KafkaException as error:
            raise BrokerError(f"topic {topic!r} cannot be written: {error.args[0].str()}") from error
        if found.error is not None:
            raise BrokerError(f"topic {topic!r} cannot be written: {found.error.str()}")
        return len(found.partitions)

    def __enter__(self) -> _Sender:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        unsent = self._client.flush(_PATIENCE_S)
        if kind is not None:
            return
        if unsent:
            raise BrokerError(f"{unsent:,} records were not stored in {_PATIENCE_S:g} s: does the broker answer?")
        self.poll()

    def send(
        self,
        indices: NDArray[np.int64],
        values: Sequence[bytes],
        millis: Sequence[int] | None = None,
        ended: threading.Event | None = None,
    ) -> int:
        """Hand records to the client; while its queue is full, wait. All of them, or those until the end came."""
        produce, topic = self._client.produce, self._topic
        partitions = (indices % self._partitions).tolist()
        for number, (value, partition) in enumerate(zip(values, partitions, strict=True)):
            while True:
                try:
                    produce(topic, value, partition=partition, timestamp=millis[number] if millis else 0)
                    break
                except BufferError:
                    self._client.poll(0.05)
                    if ended is not None and ended.is_set():
                        return number
        self.poll()
        return len(values)

    def poll(self) -> None:
        """Let the client report; raises when a record was refused."""
        self._client.poll(0)
        if self._failed:
            raise BrokerError(f"a record was not stored: {self._failed}")

    def _refused(self, error: Any, _message: Any) -> None:
        if error is not None:
            self._failed = error.str()
