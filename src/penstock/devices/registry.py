"""The devices by name, and whether each can be used here."""

from __future__ import annotations

from penstock.devices.compiled import Compiled
from penstock.devices.cuda import Cuda
from penstock.devices.device import Device
from penstock.devices.interpreted import Interpreted
from penstock.errors import BadInputError

# From the simplest to the most demanding.
ORDER = ("numpy", "numba", "numba-parallel", "cuda")

_DEVICES: dict[str, Device] = {
    "numpy": Interpreted(),
    "numba": Compiled(parallel=False),
    "numba-parallel": Compiled(parallel=True),
    "cuda": Cuda(),
}


def device(name: str) -> Device:
    """A device that can be used here.

    >>> device("numpy").name
    'numpy'
    """
    if name not in _DEVICES:
        raise BadInputError("device", name, "no such device", f"choose one of: auto, {', '.join(ORDER)}")
    found = _DEVICES[name]
    if reason := found.missing():
        raise BadInputError("device", name, reason, f"here there are: {', '.join(available())}")
    return found


def available() -> list[str]:
    """The names of the devices that can be used here, in `ORDER`."""
    return [name for name, why_not in why_not_here().items() if why_not is None]


def why_not_here() -> dict[str, str | None]:
    """Every device, and why it cannot be used here; None where it can.

    >>> why_not_here()["numpy"] is None
    True
    """
    return {name: _DEVICES[name].missing() for name in ORDER}
