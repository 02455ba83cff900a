# SPDX-License-Identifier: Apache-2.0
"""Settings of the network: one file, named by ``OFFRAMP_NETWORK``."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final, Self

from offramp.cluster import ClusterSwitch, read_cluster
from offramp.themis.plan import EXECUTED, EXECUTED_CHUNKS, schedulers
from offramp_base.errors import OfframpError
from offramp_base.settings.check import check
from offramp_base.settings.document import read_settings
from offramp_base.settings.error import SettingsError
from offramp_base.settings.field import Field
from offramp_base.settings.units import BYTES

VARIABLE: Final = "OFFRAMP_NETWORK"


@dataclass(frozen=True)
class NetworkSettings:
    """The available offloads, and when a collective goes to one; the same on every rank.

    Attributes:
        offloads: names, or ``group:name`` for groups whose description contains the word; a collective goes to the
            first that takes it.
        dimensions: dimensions of the default group, for Themis.
        link: link to this rank's port of the switch; ``{rank}`` and ``{port}`` stand for the rank in the default group
            and for its port.
        ports: ports of the switch, by rank in the default group.
    """

    offloads: Annotated[
        tuple[str, ...],
        Field("Offloads in order of preference: NAME, or GROUP:NAME for groups with that word in their description"),
    ] = ()
    least: Annotated[int, Field("A smaller collective goes to gloo", least=0, unit=BYTES)] = 64 << 10
    verify: Annotated[bool, Field("Compare every collective among the ranks before it starts")] = False
    history: Annotated[int, Field("Collectives that a dump holds", least=1, most=1 << 20)] = 256
    dump: Annotated[Path | None, Field("Folder of a rank's dumps when a collective fails, and on SIGUSR1")] = None
    micro_batches: Annotated[int | None, Field("Microbatches of a step; none: no priorities", least=1)] = None
    layers: Annotated[int, Field("Layers of the model, for priorities", least=1)] = 1
    interface: Annotated[str | None, Field("Address or network interface of Hermod's connections")] = None
    rdma: Annotated[bool, Field("Hermod: data over the RoCE v2 device that has that address")] = False
    cluster: Annotated[
        Path | None,
        Field("A cluster file: Themis's dimensions, and the switch, links and ports of all-reduce, unless given here"),
    ] = None
    dimensions: Annotated[str | None, Field("Themis: file or name of the network whose dimensions the ranks fill")] = (
        None
    )
    scheduler: Annotated[str, Field("Themis: scheduler of the chunks", choices=schedulers)] = EXECUTED
    exact: Annotated[
        bool,
        Field("Themis: sum floats as 64-bit integers, the same bits in any order, for twice the bytes of float32"),
    ] = True
    chunks: Annotated[int, Field("Themis: chunks of a collective", least=1, most=4096)] = EXECUTED_CHUNKS
    devices: Annotated[tuple[str, ...], Field("LEO: NAME=DEVICE, beside the processor")] = ()
    link: Annotated[str | None, Field("All-reduce: link to the switch; {rank} and {port} are filled in")] = None
    control: Annotated[str | None, Field("All-reduce: the switch's P4Runtime server, or fpga:udp=HOST")] = None
    ports: Annotated[tuple[int, ...], Field("All-reduce: the switch's port of each rank", least=0)] = ()
    job: Annotated[int | None, Field("All-reduce: number of a job that exists on the switches", least=1)] = None
    pages: Annotated[int, Field("All-reduce: pages of slots of a group", least=1, most=16)] = 1
    segments: Annotated[int, Field("All-reduce: segments of 256 bytes in a frame of such a job", least=1)] = 1
    bits: Annotated[int, Field("Sylvie: bits of a value on the wire, 1, 2, 4 or 8", least=1, most=8)] = 8

    def __post_init__(self) -> None:
        check(self)
        if self.bits not in (1, 2, 4, 8):
            raise SettingsError("bits", "expected 1, 2, 4 or 8", self.bits)
        for each in self.devices:
            if "=" not in each:
                raise SettingsError("devices", "expected NAME=DEVICE", each)

    @classmethod
    def from_environment(cls) -> Self | None:
        """Settings from the file that :data:`VARIABLE` names; None without it.

        Raises:
            OfframpError: the file is invalid; the message names line and field.
        """
        name = os.environ.get(VARIABLE, "")
        if not name:
            return None
        file_settings = read_settings(Path(name), (cls,))
        try:
            settings = cls(**{key: each.value for key, each in file_settings.items()})
            return settings if settings.cluster is None else settings._on(settings.cluster, Path(name).parent)
        except SettingsError as error:
            place = file_settings[error.field].place if error.field in file_settings else name
            raise OfframpError(f"{place}: {error}") from None

    def _on(self, cluster: Path, folder: Path) -> Self:
        """The settings completed with what a cluster file says about the network."""
        whole = read_cluster(folder / cluster)
        values: dict[str, Any] = {}
        if whole.dimensions:
            values["dimensions"] = str(folder / cluster)
        edge = [whole.links_of[host.name] for host in whole.ranks]
        switches = {link.far(host.name).node for host, links in zip(whole.ranks, edge, strict=True) for link in links}
        if len(switches) == 1 and all(len(links) == 1 for links in edge):
            switch = whole.by_name[switches.pop()]
            if isinstance(switch, ClusterSwitch) and switch.control and switch.target in ("v1model", "tna"):
                ends = [
                    (links[0].near(host.name), links[0].far(host.name))
                    for host, links in zip(whole.ranks, edge, strict=True)
                ]
                values |= {"control": switch.control, "ports": tuple(int(far.port) for _, far in ends)}
                names = {str(near.port) for near, _ in ends}
                if len(names) == 1:
                    values["link"] = f"af_packet:{names.pop()}"
        missing = {key: value for key, value in values.items() if not getattr(self, key)}
        return replace(self, **missing)
