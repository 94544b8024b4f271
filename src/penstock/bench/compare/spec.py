"""What to compare: an application under several controllers, all else the same."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from penstock.bench.run import RunSpec, prepare
from penstock.control import registry
from penstock.distribution import penstock_version
from penstock.errors import BadInputError
from penstock.units import parse_count

PLAIN = "plain"
AUTO = "fixed:auto"
ORACLE = "oracle"
ORACLE_CONTROLLER = "predictive"


@dataclass(frozen=True)
class CompareSpec:
    """One application, class and objective under several controllers.

    A controller is written as `penstock list controllers` names it, with settings after colons (`pid:kp=20%`); `size`
    is its first size in rows, and `admit=cost` makes its sizes count what the workload declares items to cost. Three
    more names are known: `plain` is Spark without any limit, `fixed:auto` the best fixed size that a short search
    finds, and `oracle` the best controller, told the true cost of every item.
    """

    app: str
    controllers: tuple[str, ...]
    size_class: str = "small"
    slo: str = "1 s ± 10%"
    arrivals: str = "saturated"
    cost: str = "thesis"
    seed: int = 1
    master: str = "local[2]"

    def to_json(self) -> dict[str, Any]:
        """What makes two comparisons the same one; runs of another version of Penstock are another matter."""
        return {**asdict(self), "controllers": list(self.controllers), "penstock": penstock_version()}

    @property
    def digest(self) -> str:
        """Eight hexadecimal digits that differ from those of any other comparison.

        >>> len(CompareSpec("military", ("pid",)).digest)
        8
        """
        text = json.dumps(self.to_json(), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    @property
    def folder_name(self) -> str:
        """Where its runs go unless the user says otherwise."""
        return f"compare-{self.app}-{self.size_class}-{self.digest}"


@dataclass(frozen=True)
class Entry:
    """One controller of a comparison: as the user wrote it, its folder's name, and how to run it.

    `limit` marks an oracle. The size of `fixed:auto` has to be found before it can run.
    """

    text: str
    label: str
    run: RunSpec
    limit: bool = False
    auto: bool = False


def split_controllers(text: str) -> tuple[str, ...]:
    """The controllers of a list separated by commas.

    >>> split_controllers("plain, pid:kp=20%,oracle")
    ('plain', 'pid:kp=20%', 'oracle')
    """
    found = tuple(each.strip() for each in text.split(",") if each.strip())
    if not found:
        raise BadInputError("controllers", text, "nothing to compare", "write e.g. plain,fixed:auto,pmbaf,oracle")
    return found


def everything() -> tuple[str, ...]:
    """Every registered controller, and the three that only a comparison knows."""
    return (PLAIN, AUTO, *(name for name in registry.names() if name != "fixed"), ORACLE)


def entries_of(spec: CompareSpec) -> list[Entry]:
    """The entries of a comparison, each found good before Spark is started for any of them."""
    entries = [_entry(spec, text) for text in spec.controllers]
    labels: set[str] = set()
    for entry in entries:
        if entry.label in labels:
            raise BadInputError("controllers", entry.text, "given twice", "name each controller once")
        labels.add(entry.label)
        prepare(entry.run)
    return entries


def label_of(text: str) -> str:
    """A controller as a folder's name.

    >>> label_of("pmbaf:step=10%:sample=5")
    'pmbaf-step=10%-sample=5'
    """
    return re.sub(r"[^\w.=%+-]+", "-", text).strip("-")


def _entry(spec: CompareSpec, text: str) -> Entry:
    label = label_of(text)
    if text == PLAIN:
        return Entry(text, label, _run_spec(spec, "fixed", {}, gated=False, label=text))
    if text == AUTO:
        return Entry(text, label, _run_spec(spec, "fixed", {}, label=text), auto=True)
    name, settings = registry.parse_spec(text)
    if name == ORACLE:
        run_spec = _run_spec(spec, ORACLE_CONTROLLER, settings, admit="cost", label=text)
        return Entry(text, label, run_spec, limit=True)
    return Entry(text, label, _run_spec(spec, name, settings, label=text))


def _run_spec(spec: CompareSpec, controller: str, settings: dict[str, Any], **fields: Any) -> RunSpec:
    size = settings.pop("size", None)
    fields = {"admit": settings.pop("admit", "rows"), **fields}
    return RunSpec(
        spec.app,
        spec.size_class,
        slo=spec.slo,
        controller=controller,
        settings=settings,
        arrivals=spec.arrivals,
        cost=spec.cost,
        seed=spec.seed,
        size=None if size is None else parse_count(size, "size"),
        master=spec.master,
        **fields,
    )


def order_of(entries: Sequence[Entry], number: int, rounds: int) -> list[Entry]:
    """The entries in the order of a round (from 1): each round begins elsewhere, so that none is always first.

    >>> spec = CompareSpec("military", ("faf", "pid", "mbaf"))
    >>> [[each.label for each in order_of(entries_of(spec), number, 2)] for number in (1, 2)]
    [['faf', 'pid', 'mbaf'], ['pid', 'mbaf', 'faf']]
    """
    at = (number - 1) * max(len(entries) // rounds, 1) % len(entries)
    return [*entries[at:], *entries[:at]]
