# SPDX-License-Identifier: Apache-2.0
"""``offramp simulate packets``: incasts and permutations, packet by packet, under several congestion controls."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from offramp_base import Field, SettingsError
from offramp_base.settings import BITS_PER_SECOND, BYTES
from offramp_base.settings.units import nanoseconds
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import Result

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import numpy.typing as npt

    from offramp_sim.packets import PacketRun, Topology
    from offramp_sim.packets.control import Control
    from offramp_sim.packets.flows import FlowSchedule

_NUMBERS: Final = {"star": 1, "leaf-spine": 3, "fat-tree": 5}
_SHAPES: Final = "star:HOSTS, leaf-spine:LEAVESxSPINESxHOSTS or fat-tree:PODSxLEAVESxHOSTSxSPINESxCORES"


def _controls() -> tuple[str, ...]:
    from offramp_sim.packets.control import CONTROLS

    return ("none", *CONTROLS)


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    if Path(text).suffix in (".yaml", ".yml", ".toml"):
        return text, ()
    kind, _, sizes = text.partition(":")
    numbers = tuple(int(each) if each.isascii() and each.isdecimal() else 0 for each in sizes.split("x"))
    if len(numbers) != _NUMBERS.get(kind) or min(numbers) < 1 or max(numbers) > 65_536:
        raise ValueError(f"expected {_SHAPES}, or a cluster file (.yaml, .toml)")
    return kind, numbers


@dataclass(frozen=True)
class PacketSettings:
    """A network, its traffic, and the senders' congestion control."""

    network: Annotated[
        tuple[str, tuple[int, ...]],
        Field(
            f"{_SHAPES}; HOSTS are per leaf. Or a cluster file, whose NICs are the hosts",
            parse=_shape,
            metavar="SHAPE|FILE",
            shown_default="star:33",
        ),
    ] = ("star", (33,))
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
    rate_bps: Annotated[
        int, Field("Rate of every link", key="rate", above=0, unit=BITS_PER_SECOND, shown_default="100gbit")
    ] = 100_000_000_000
    delay_ns: Annotated[
        float, Field("Delay of every link", key="delay", parse=nanoseconds, metavar="TIME", shown_default="1us")
    ] = 1000.0
    buffer: Annotated[int | None, Field("Buffer of a switch's port in bytes; unlimited by default", unit=BYTES)] = None
    mark: Annotated[
        int | None,
        Field("Queued bytes above which packets are marked; each control's own threshold by default", unit=BYTES),
    ] = None
    mark_all: Annotated[
        int | None,
        Field(
            "Queued bytes above which all packets are marked; between the thresholds the probability rises", unit=BYTES
        ),
    ] = None
    mark_probability: Annotated[
        float, Field("Probability of a mark just below the upper threshold", least=0, most=1)
    ] = 1.0
    loss: Annotated[float, Field("Probability that a link loses a packet", least=0, below=1)] = 0.0
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
        if not self.network[1]:
            for name in ("rate_bps", "delay_ns", "buffer", "spray"):
                if getattr(self, name) != type(self).__dataclass_fields__[name].default:
                    raise SettingsError(name, "does not go with a cluster file, which has its own")
        if self.pfc is not None:
            for name in ("buffer", "mark_all", "loss", "cores"):
                if getattr(self, name) != type(self).__dataclass_fields__[name].default:
                    raise SettingsError(name, "does not go with pauses ({pfc})")
        if self.mark_all is not None and (self.mark is None or self.mark_all <= self.mark):
            raise SettingsError("mark_all", "expected more than {mark}", self.mark_all)


@command(PacketSettings, Result, example="simulate packets --network leaf-spine:4x4x8 --traffic permutation --json -")
def packets(settings: PacketSettings, outputs: Result) -> None:
    """Simulate flows packet by packet: completion times, fairness, queues, marks and losses of congestion controls."""
    from offramp_sim.packets.control import CONTROLS
    from offramp_sim.packets.flows import pattern, read_matrix
    from offramp_sim.packets.simulate import simulate

    kind, sizes = settings.network
    topology = _topology(settings)
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


def _topology(settings: PacketSettings) -> Topology:
    from offramp_sim.packets import LinkProperties, fat_tree, leaf_spine, packet_topology, star

    kind, sizes = settings.network
    if not sizes:
        from offramp.fabric import read_fabric

        topology = packet_topology(read_fabric(kind))
        links = replace(
            topology.links,
            mark_bytes=settings.mark,
            mark_all_bytes=settings.mark_all,
            mark_probability=settings.mark_probability,
            loss=settings.loss,
        )
        return replace(topology, links=links)
    links = LinkProperties(
        settings.rate_bps,
        round(settings.delay_ns * 1000),
        settings.buffer,
        settings.mark,
        settings.mark_all,
        settings.mark_probability,
        settings.loss,
    )
    makers: dict[str, Callable[..., Topology]] = {"star": star, "leaf-spine": leaf_spine, "fat-tree": fat_tree}
    return makers[kind](*sizes, links)


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
