"""What a controller has learned, as plain data: the loop goes back to it, and a restart begins with it.

A snapshot holds every attribute of a controller and of the parts it is made of. It is taken before each batch, since a
batch is observed more than once (`penstock.control.loop`), and it is kept beside the journal.
"""

from __future__ import annotations

import copy
import importlib
from array import array
from collections import deque
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

import numpy as np

from penstock.slo import Slo

Snapshot = dict[str, Any]
"""Attributes by name. Numbers, texts, lists, arrays and objectives are themselves; the rest is `{kind: content}`."""

_PLAIN = (type(None), bool, int, float, str, Slo)


class Remembers:
    """A controller or wrapper whose attributes are all its memory: a base class that gives it both methods.

    >>> class Count(Remembers):
    ...     def __init__(self) -> None:
    ...         self.seen = [1.0]
    >>> count = Count()
    >>> before = count.snapshot()
    >>> count.seen.append(2.0)
    >>> count.restore(before)
    >>> count.seen
    [1.0]
    """

    def snapshot(self) -> Snapshot:
        """All that was learned so far. Nothing that the controller does later changes it."""
        package = _package(type(self))
        return {name: _stored(value, package) for name, value in _attributes(self).items()}

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to what was learned when the snapshot was taken; ValueError where it is of another class."""
        _set(self, snapshot)


def snapshot_of(controller: object) -> Snapshot:
    """The snapshot of any controller: its own where it offers one."""
    own: Callable[[], Snapshot] | None = getattr(controller, "snapshot", None)
    return own() if own is not None else Remembers.snapshot(controller)  # type: ignore[arg-type]


def restore_to(controller: object, snapshot: Snapshot) -> None:
    """Restore any controller: by its own method where it offers one."""
    own: Callable[[Snapshot], None] | None = getattr(controller, "restore", None)
    if own is not None:
        own(snapshot)
    else:
        Remembers.restore(controller, snapshot)  # type: ignore[arg-type]


def to_json(value: object) -> object:
    """What `json.dumps` asks for arrays and objectives, which JSON does not know."""
    if isinstance(value, array):
        return {"array": value.typecode, "of": value.tolist()}
    if isinstance(value, Slo):
        return {"slo": str(value)}
    raise TypeError(f"{value!r} cannot be kept in a file: give the controller snapshot() and restore()")


def from_json(fields: dict[str, Any]) -> object:
    """The other way, as an `object_hook`."""
    if fields.keys() == {"array", "of"}:
        return array(fields["array"], fields["of"])
    return Slo.parse(fields["slo"]) if fields.keys() == {"slo"} else fields


def fits(kept: Snapshot, now: Snapshot) -> bool:
    """Whether two snapshots have the same attributes, also those of the parts that both have.

    >>> part = {"class": "penstock.model.past:Past", "has": {"window": 5}}
    >>> fits({"past": part}, {"past": part}), fits({"past": part}, {"past": {**part, "has": {"size": 5}}})
    (True, False)
    """
    return kept.keys() == now.keys() and all(
        fits(value["has"], now[name]["has"])
        for name, value in kept.items()
        if _class_of(value) is not None and _class_of(value) == _class_of(now[name])
    )


def _class_of(stored: Any) -> str | None:
    return stored.get("class") if isinstance(stored, dict) else None


def _attributes(part: object) -> dict[str, Any]:
    found = dict(getattr(part, "__dict__", {}))
    for cls in type(part).__mro__:
        names = getattr(cls, "__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            if hasattr(part, name):
                found[name] = getattr(part, name)
    return found


def _package(cls: type) -> str:
    return cls.__module__.partition(".")[0]


def _stored(value: Any, package: str) -> Any:
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is array:
        return value[:]
    if kind is list:
        return [_stored(each, package) for each in value]
    if kind is tuple:
        return {"tuple": [_stored(each, package) for each in value]}
    if kind is dict:
        return {"dict": [[_stored(key, package), _stored(each, package)] for key, each in value.items()]}
    if kind is deque:
        return {"deque": [_stored(each, package) for each in value], "most": value.maxlen}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return {"numpy": value.tolist(), "dtype": str(value.dtype)}
    if _package(kind) not in ("penstock", package) or isinstance(value, dict | list | set):
        # Good for going back, not for a file.
        return {"copy": copy.deepcopy(value)}
    name = _name(kind)
    if isinstance(value, Enum):
        return {"enum": name, "is": value.name}
    if isinstance(value, tuple):
        return {"named": name, "of": [_stored(each, package) for each in value]}
    inside = _package(kind)
    return {"class": name, "has": {key: _stored(each, inside) for key, each in _attributes(value).items()}}


def _name(cls: type) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


def _set(part: object, snapshot: Snapshot) -> None:
    now, package = _attributes(part), _package(type(part))
    for name in now.keys() - snapshot.keys():
        object.__delattr__(part, name)
    for name, stored in snapshot.items():
        object.__setattr__(part, name, _alive(stored, now.get(name), package))


def _alive(stored: Any, now: Any, package: str) -> Any:
    """The value as it was; an object that is there already is set and not made anew, so that who has it keeps it."""
    kind = type(stored)
    if kind in _PLAIN:
        return stored
    if kind is array:
        return stored[:]
    if kind is list:
        return [_alive(each, None, package) for each in stored]
    if "class" in stored:
        known = _name(type(now)) == stored["class"]
        cls = type(now) if known else _found(stored["class"], package)
        part = now if known and not _frozen(cls) else object.__new__(cls)
        _set(part, stored["has"])
        return part
    return _ALIVE[next(iter(stored))](stored, package)


_ALIVE: Mapping[str, Callable[[Any, str], Any]] = {
    "tuple": lambda stored, package: tuple(_alive(each, None, package) for each in stored["tuple"]),
    "dict": lambda stored, package: {
        _alive(key, None, package): _alive(each, None, package) for key, each in stored["dict"]
    },
    "deque": lambda stored, package: deque((_alive(each, None, package) for each in stored["deque"]), stored["most"]),
    "copy": lambda stored, package: copy.deepcopy(stored["copy"]),
    "numpy": lambda stored, package: np.array(stored["numpy"], dtype=stored["dtype"]),
    "enum": lambda stored, package: _found(stored["enum"], package)[stored["is"]],
    "named": lambda stored, package: _found(stored["named"], package)(
        *(_alive(each, None, package) for each in stored["of"])
    ),
}


def _frozen(cls: type) -> bool:
    parameters = getattr(cls, "__dataclass_params__", None)
    return bool(parameters is not None and parameters.frozen)


def _found(name: str, package: str) -> Any:
    """A class by its name; of Penstock or of the package of what it is a part of: a file must not name any other."""
    module, _, path = name.partition(":")
    if module.partition(".")[0] not in ("penstock", package):
        raise ValueError(f"{name} is no class of this controller")
    found: Any = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    return found
