"""How fast the switch is: both engines, and bmv2 where it is installed, on the same packets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from offramp_sim.p4.native.bench.rates import Rate
    from offramp_sim.p4.native.bench.workloads import Workload

__all__ = ["run", "standard_workloads"]

SWITCHES = ("native", "python", "bmv2")


def standard_workloads(frame_bytes: Sequence[int] = (64, 512, 1500)) -> list[Workload]:
    """SwitchGNN, and an IPv4 router with 10,000 routes for frames of these sizes."""
    from offramp_sim.p4.native.bench.workloads import router, switchgnn

    return [switchgnn(), *(router(size) for size in frame_bytes)]


def run(workload: Workload, *, switches: Sequence[str] = SWITCHES, seconds: float = 1.0) -> list[Rate]:
    """Measure switches one after the other on the packets of a workload.

    Args:
        workload: what to run.
        switches: of ``native``, ``python`` and ``bmv2``; the last is left out where it is not installed.
        seconds: how long each of them runs packets.

    Raises:
        OfframpError: the program cannot be run.
    """
    from offramp_sim.p4.native.bench import bmv2
    from offramp_sim.p4.native.bench.rates import measure
    from offramp_sim.p4.native.switch import NativeSwitch
    from offramp_sim.p4.switch import Switch

    rates = []
    native = NativeSwitch(workload.program)
    if "native" in switches:
        rates.append(measure("native", native, workload, seconds))
    if "python" in switches:
        rates.append(measure("python", Switch(workload.program), workload, seconds))
    if "bmv2" in switches and not bmv2.missing():
        rates.append(bmv2.measure(native, workload, seconds))
    return rates
