"""The part of `penstock doctor` that takes a while: what it is doing goes to stderr, line by line."""

from __future__ import annotations

import os
import tempfile
from itertools import chain
from pathlib import Path

from penstock.bench.doctor.machine import Check
from penstock.cli.terminal.watch import stderr_kept, stdout_to_stderr
from penstock.testing.kafka.trial import trial
from penstock.testing.kafka.visit import visit


def kafka_checks(here: bool, bootstrap: str | None, topic: str | None) -> list[Check]:
    """Kafka on this machine, and a broker of the user's."""
    with (
        os.fdopen(os.dup(2), "w", buffering=1) as terminal,
        tempfile.TemporaryDirectory(prefix="penstock-doctor-") as folder,
        stdout_to_stderr(),
        stderr_kept() as send,
    ):

        def say(line: str) -> None:
            print("penstock:", line, file=terminal)

        # What Spark and Java have to say is for nobody: a check that fails says why.
        send(Path(folder) / "stderr.log")
        mine = trial(say) if here else ()
        yours = visit(bootstrap, topic, say) if bootstrap is not None else ()
        return list(chain(mine, yours))
