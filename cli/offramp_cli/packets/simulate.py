# SPDX-License-Identifier: Apache-2.0
"""``offramp simulate packets``: incasts and permutations, packet by packet, under several congestion controls."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from offramp_base import Field, SettingsError
from offramp_base.settings import BYTES
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.packets.network import PacketNetworkSettings
from offramp_cli.result import Result

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from offramp_sim.packets import PacketRun
    from offramp_sim.packets.control import Control
    from offramp_sim.packets.flows import FlowSchedule


def _controls() -> tuple[str, ...]:
    from offramp_sim.packets.control import CONTROLS

    return ("none", *CONTROLS)


@dataclass(frozen=True)
class PacketSettings(PacketNetworkSettings):
    """A network, its traffic, and the senders' congestion control."""

    traffic: Annotated[
        str,
        Field(
            "All hosts send to one, each to one other, each to the next, or each to all",
            choices=("incast", "permutation", "ring", "all-to-all"),
        ),
    ] = "incast"
    flows: Annotated[Path | None, Field("A connection matrix of htsim (.cm), in place of --traffic and --size")] = None
    size: Annotated[int, Field("Bytes of each flow", unit=BYTES, least=1)] = 1_000_000
    control: Annotated[tuple[str, ...], Field("Congestion control; repeatable; all by default", choices=_controls)] = ()
    pfc: Annotated[
        int | None,
        Field(
            "Switches pause the sender of a link of which they hold so many bytes, until four fifths are left; slow",
            unit=BYTES,
            least=1,
        ),
    ] = None
    spray: Annotated[bool, Field("Choose one of the equal paths for each packet at random")] = False
    cores: Annotated[int, Field("Cores that simulate; the result does not depend on it", least=1, most=64)] = 1
    seed: Annotated[int, Field("Random seed", least=0)] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.network[1] and self.spray:
            raise SettingsError("spray", "does not go with a cluster file, which has its own")
        if self.pfc is not None:
            for name in ("buffer", "mark_all", "loss", "cores"):
                if getattr(self, name) != type(self).__dataclass_fields__[name].default:
                    raise SettingsError(name, "does not go with pauses ({pfc})")


@command(PacketSettings, Result, example="simulate packets --network leaf-spine:4x4x8 --traffic permutation --json -")
def packets(settings: PacketSettings, outputs: Result) -> None:
    """Simulate flows packet by packet: completion times, fairness, queues, marks and losses of congestion controls."""
    from offramp_sim.packets.control import CONTROLS
    from offramp_sim.packets.flows import pattern, read_matrix
    from offramp_sim.packets.simulate import simulate

    kind, sizes = settings.network
    topology = settings.topology()
    if settings.flows is None:
        traffic = settings.traffic
        table = pattern(traffic, topology.hosts, settings.size, settings.seed)
    else:
        traffic = settings.flows.name
        table = read_matrix(settings.flows, topology.hosts)

    run = partial(simulate, flows=table, seed=settings.seed, spray=settings.spray, cores=settings.cores)
    outcomes = {}
    for name in dict.fromkeys(settings.control or _controls()):
        control = CONTROLS[name]() if name in CONTROLS else None
        if settings.pfc is None:
            outcomes[name] = _numbers(run(topology, control=control), table.size)
        else:
            outcomes[name] = _paused_numbers(settings, table, control)
    console = show.console()
    last = "dropped" if settings.pfc is None else "pauses"
    headings = ("control", "last, us", "mean", "fair", "queue, KB", "delay, us", "marked", last)
    shown = show.table(*headings, title=f"{kind} of {topology.hosts} hosts, {len(table)} flows: {traffic}")
    for name, one in outcomes.items():
        shown.add_row(
            name,
            f"{one['seconds'] * 1e6:,.1f}",
            f"{one['mean_s'] * 1e6:,.1f}",
            f"{one['fairness']:.3f}",
            f"{one['peak_queue_bytes'] / 1000:,.0f}",
            "" if one["mean_delay_s"] is None else f"{one['mean_delay_s'] * 1e6:,.2f}",
            f"{one['marked']:,}",
            f"{one['dropped'] + one['lost'] if settings.pfc is None else one['pauses']:,}",
        )
    console.print(shown)
    console.print(
        "fair: Jain's index of the flows' rates, 1 where all are equal; queue: the longest; delay: one way, mean"
    )
    fields = ("traffic", "size", "rate_bps", "delay_ns", "spray", "seed", "pfc")
    known = {name: getattr(settings, name) for name in fields}
    outputs.write("offramp.simulate.packets/1", {"settings": known | {"network": [kind, *sizes]}, "controls": outcomes})


def _paused_numbers(settings: PacketSettings, flows: FlowSchedule, control: Control | None) -> dict[str, Any]:
    """Results of a run in which switches pause senders, for JSON."""
    from offramp.fabric import fabric_of, make_cluster, read_fabric
    from offramp_sim.packets.lossless import Pauses, run_lossless

    kind, sizes = settings.network
    if sizes:
        shape = f"{kind}:{'x'.join(map(str, sizes))}"
        routing = "spray" if settings.spray else "ecmp"
        fabric = fabric_of(make_cluster(shape, rate_bps=settings.rate_bps, delay_ns=settings.delay_ns, routing=routing))
    else:
        fabric = read_fabric(kind)
    stop = settings.pfc or 0
    held = Pauses(stop, stop * 4 // 5)
    run = run_lossless(fabric, flows, held, control, mark_bytes=settings.mark, seed=settings.seed)
    return {
        "seconds": run.seconds,
        "mean_s": float(run.finish_ps.mean()) / 1e12,
        "fairness": _fairness(flows.size / run.finish_ps),
        "peak_queue_bytes": run.peak_port_bytes,
        "mean_delay_s": float(run.delay_ps.mean()) / 1e12,
        "packets": run.packets,
        "marked": run.marked,
        "dropped": 0,
        "lost": 0,
        "cuts": run.cuts,
        "pauses": int(run.pauses.sum()),
        "paused_s": float(run.paused_ps.sum()) / 1e12,
        "peak_held_bytes": int(run.held_bytes.max(initial=0)),
        "packets_per_second": run.packets / run.wall_s,
    }


def _fairness(rates: npt.NDArray[np.float64]) -> float:
    """Jain's index."""
    return float(rates.sum() ** 2 / len(rates) / (rates**2).sum())


def _numbers(run: PacketRun, size: npt.NDArray[np.int64]) -> dict[str, Any]:
    """Results of a run, for JSON."""
    return {
        "seconds": run.seconds,
        "mean_s": float(run.finish_ps.mean()) / 1e12,
        "fairness": _fairness(size / run.finish_ps),
        "peak_queue_bytes": run.peak_port_bytes,
        "mean_delay_s": float(run.delay_ps[:, 0].mean()) / 1e12 if len(run.delay_ps) else None,
        "packets": run.packets,
        "marked": run.marked,
        "dropped": run.dropped,
        "lost": run.lost,
        "cuts": run.cuts,
        "resent_bytes": run.resent_bytes,
        "packets_per_second": run.packets / run.wall_s,
    }
