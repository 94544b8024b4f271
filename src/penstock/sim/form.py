"""Which controllers the kernel knows, and their settings as its numbers."""

from __future__ import annotations

from penstock.control.faf import Faf
from penstock.control.fixed import Fixed
from penstock.control.mbaf import Mbaf
from penstock.control.pbaf import Pbaf, PbafWt
from penstock.control.pid import Pid
from penstock.control.pmbaf import Pmbaf
from penstock.control.protocol import Controller
from penstock.control.step import StepController
from penstock.control.wrappers import Sampled
from penstock.errors import UnsupportedError
from penstock.sim import kernel
from penstock.sim.reported import REPORTED
from penstock.slo import Kind, Metric, Slo

KERNEL_ORACLES = {"oracle": kernel.ORACLE, "oracle-causal": kernel.CAUSAL}
"""Two limits of itemized hits: one knows all costs, the other that of the last processed item. No controllers."""
ORACLES = (*KERNEL_ORACLES, REPORTED)
"""All that know what no controller knows; the last one is a yardstick, and can be beaten by foresight."""

# PBAF-WT is PBAF with nothing between the edges of its band.
_STEPS: dict[type, int] = {
    Faf: kernel.FAF,
    Pbaf: kernel.PBAF,
    PbafWt: kernel.PBAF,
    Mbaf: kernel.MBAF,
    Pmbaf: kernel.PMBAF,
}


def form_of(controller: Controller, slo: Slo) -> list[float] | None:
    """A controller as the kernel's numbers; None where only the controller itself knows what it does.

    Only exact types count: a subclass, or a wrapper other than sampling, may do anything.

    >>> form_of(Faf(Slo.parse("1 s ± 10%"), 100, step=5), Slo.parse("1 s ± 10%"))[kernel.STEP]
    5.0
    """
    if slo.metric is Metric.THROUGHPUT:
        return None
    form = _blank(slo)
    if type(controller) is Sampled:
        form[kernel.SAMPLE] = float(controller.k)
        controller = controller.inner
    if isinstance(controller, StepController) and type(controller) in _STEPS:
        form[kernel.KIND] = float(_STEPS[type(controller)])
        form[kernel.LOW], form[kernel.HIGH] = controller.band
        form[kernel.STEP] = controller.step.amount
        form[kernel.RELATIVE] = float(controller.step.relative)
        form[kernel.LINEAR] = float(getattr(controller, "lower", "") == "linear")
    elif type(controller) is Pid and not controller.relative:
        form[kernel.KIND] = float(kernel.PID)
        form[kernel.KP], form[kernel.KI], form[kernel.KD] = controller.kp, controller.ki, controller.kd
    elif type(controller) is not Fixed:
        return None
    return form


def has_oracle(slo: Slo) -> bool:
    """Whether the limits mean anything: a bound is met by any batch that is small enough, which limits nobody.

    >>> has_oracle(Slo.parse("1 s ± 10%")), has_oracle(Slo.parse("<= 1 s")), has_oracle(Slo.parse("5k/s"))
    (True, False, False)
    """
    return slo.kind is Kind.HOLD and slo.metric is not Metric.THROUGHPUT and slo.also is None


def check_oracle(name: str, slo: Slo) -> None:
    """Refuse an oracle where there is nothing to hold."""
    if not has_oracle(slo):
        raise UnsupportedError(f"{name} holds a latency, and {slo} is none to hold; write e.g. '1 s ± 10%'")


def oracle_form(name: str, slo: Slo) -> list[float]:
    """An oracle as the kernel's numbers."""
    check_oracle(name, slo)
    form = _blank(slo)
    form[kernel.KIND] = float(KERNEL_ORACLES[name])
    return form


def _blank(slo: Slo) -> list[float]:
    form = [0.0] * (kernel.WAITS + 1)
    form[kernel.AIM] = slo.aim
    form[kernel.SAMPLE] = 1.0
    form[kernel.WAITS] = float(slo.metric is Metric.END_TO_END)
    return form
