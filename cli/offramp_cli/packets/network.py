# SPDX-License-Identifier: Apache-2.0
"""The network of a simulation packet by packet: a shape with equal links, or a cluster file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from offramp_base import Field, SettingsError
from offramp_base.settings import BITS_PER_SECOND, BYTES
from offramp_base.settings.units import nanoseconds

if TYPE_CHECKING:
    from collections.abc import Callable

    from offramp_sim.packets import Topology

_NUMBERS: Final = {"star": 1, "leaf-spine": 3, "fat-tree": 5}
_SHAPES: Final = "star:HOSTS, leaf-spine:LEAVESxSPINESxHOSTS or fat-tree:PODSxLEAVESxHOSTSxSPINESxCORES"


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    if Path(text).suffix in (".yaml", ".yml", ".toml"):
        return text, ()
    kind, _, sizes = text.partition(":")
    numbers = tuple(int(each) if each.isascii() and each.isdecimal() else 0 for each in sizes.split("x"))
    if len(numbers) != _NUMBERS.get(kind) or min(numbers) < 1 or max(numbers) > 65_536:
        raise ValueError(f"expected {_SHAPES}, or a cluster file (.yaml, .toml)")
    return kind, numbers


def network_field(default: str) -> Field:
    """The field of a command whose network is this by default."""
    return Field(
        f"{_SHAPES}; HOSTS are per leaf. Or a cluster file, whose NICs are the hosts",
        parse=_shape,
        metavar="SHAPE|FILE",
        shown_default=default,
    )


@dataclass(frozen=True)
class PacketNetworkSettings:
    """Switches, and links that are all alike unless a cluster file says more."""

    network: Annotated[tuple[str, tuple[int, ...]], network_field("star:33")] = ("star", (33,))
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

    def __post_init__(self) -> None:
        if not self.network[1]:
            for name in ("rate_bps", "delay_ns", "buffer"):
                if getattr(self, name) != PacketNetworkSettings.__dataclass_fields__[name].default:
                    raise SettingsError(name, "does not go with a cluster file, which has its own")
        if self.mark_all is not None and (self.mark is None or self.mark_all <= self.mark):
            raise SettingsError("mark_all", "expected more than {mark}", self.mark_all)

    def topology(self) -> Topology:
        """Hosts, switches and links.

        Raises:
            OfframpError: the cluster file cannot be read.
        """
        from offramp_sim.packets import LinkProperties, fat_tree, leaf_spine, packet_topology, star

        kind, sizes = self.network
        if not sizes:
            from offramp.fabric import read_fabric

            topology = packet_topology(read_fabric(kind))
            links = replace(
                topology.links,
                mark_bytes=self.mark,
                mark_all_bytes=self.mark_all,
                mark_probability=self.mark_probability,
                loss=self.loss,
            )
            return replace(topology, links=links)
        links = LinkProperties(
            self.rate_bps,
            round(self.delay_ns * 1000),
            self.buffer,
            self.mark,
            self.mark_all,
            self.mark_probability,
            self.loss,
        )
        makers: dict[str, Callable[..., Topology]] = {"star": star, "leaf-spine": leaf_spine, "fat-tree": fat_tree}
        return makers[kind](*sizes, links)
