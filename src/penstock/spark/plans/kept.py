"""The plan of a query beside its journal: written before it is used, so that no restart goes back behind it."""

from __future__ import annotations

import time
from pathlib import Path

from penstock.errors import BadInputError, PenstockError
from penstock.json_file import read_json, write_json
from penstock.plan import NO_PLAN, Plan


def kept_beside(journal: str | Path) -> Path:
    """The file of the plan that belongs to a journal.

    >>> kept_beside("/state/orders.jsonl").name
    'orders.jsonl.plan.json'
    """
    path = Path(journal)
    return path.with_name(f"{path.name}.plan.json")


def load_plan(path: Path) -> Plan:
    """The plan in a file; no plan where there is no file."""
    record = read_json(path)
    if record is None and path.exists():
        reason = "this is no plan, and its versions must not be given out again"
        raise BadInputError("plan", str(path), reason, "restore the file, or start with a new journal and checkpoint")
    return NO_PLAN if record is None else Plan.from_record(record)


def save_plan(path: Path, plan: Plan, reason: str) -> None:
    """Keep a plan, whole or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, {**plan.to_record(), "reason": reason, "set_s": time.time()})
    except OSError as error:
        raise PenstockError(
            f"plan {plan.version} cannot be written to {path} ({error.strerror}), so the one before stays in force; "
            "make the folder writable"
        ) from error
