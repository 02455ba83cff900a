# SPDX-License-Identifier: Apache-2.0
"""A cluster in plain data; the fields say what a file may hold (docs/cluster.md)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Final

from offramp_base import arguments
from offramp_base.ending.owner import PATTERN
from offramp_base.settings.field import Field
from offramp_base.settings.units import BITS_PER_SECOND, BYTES, nanoseconds

MOST_HOSTS: Final = 16_384
MOST_SWITCHES: Final = 4096
MOST_PORTS: Final = 16_384
MOST_PROGRAM_PORTS: Final = 510
"""Ports of a switch that takes programs, which number them with nine bits."""
FASTEST_BPS: Final = 10**15
TARGETS: Final = {
    "v1model": "the embedded switch, or bmv2",
    "tna": "Tofino",
    "sonic": "SONiC: queues only",
    "plain": "forwards, and takes no program",
}
REACHES: Final = {"local": "this machine", "ssh": "ssh ADDRESS", "srun": "a step of this Slurm job"}
CARRIERS: Final = {
    "af_packet": "single frames",
    "bundle": "runs of frames in one, as a laboratory's switches take them",
}
ROUTINGS: Final = {
    "destination": "a hash of the destination's name chooses among equally short paths, as our switches forward",
    "ecmp": "a hash of each flow chooses",
    "spray": "packets of a flow take all of them evenly",
    "adaptive": "packets take the one whose queue is shortest",
}
KINDS: Final = ("ring", "fully-connected", "switch", "in-network")


def parse_mac(text: str) -> str:
    """An Ethernet address in lower case.

    Raises:
        ValueError: something else.
    """
    if not re.fullmatch(r"([0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}", text):
        raise ValueError("expected an Ethernet address such as 02:00:00:00:00:01")
    return text.lower()


def is_namespace(text: str) -> bool:
    """Whether ``reach`` leads into the namespace of a laboratory's process."""
    return re.fullmatch(f"namespace:{PATTERN}", text) is not None


def parse_known_hosts(text: str) -> str:
    """A path that ssh takes as it is.

    Raises:
        ValueError: ssh would split it, or put something in.
    """
    if not re.fullmatch(r"[A-Za-z0-9./_+@,-]{1,4096}", arguments.path(text)):
        raise ValueError("expected a path of letters, digits and ./_+@,-")
    return text


def parse_port_interface(text: str) -> str:
    """The name of a switch's interfaces with ``{port}`` for the number.

    Raises:
        ValueError: with a number it is no name of an interface.
    """
    arguments.interface(text.replace("{port}", str(MOST_PROGRAM_PORTS)))
    return text


@dataclass(frozen=True, kw_only=True)
class Agent:
    """A smartNIC's agent in a host."""

    name: Annotated[str, Field("Name of the agent, unique in its host", parse=arguments.label)]
    socket: Annotated[str, Field("Control socket of the agent", parse=arguments.path)] = "/run/offramp-nic/agent.sock"
    cores: Annotated[int, Field("Cores that work", least=1, most=1024)] = 1
    interface: Annotated[
        str | None,
        Field("Interface of the host that is the agent's port; none: it only computes", parse=arguments.interface),
    ] = None
    start: Annotated[bool, Field("Whether each job starts and ends the agent; by default it runs already")] = False
    program: Annotated[str, Field("Program of an agent that jobs start", parse=arguments.path)] = "offramp-nic-agent"


@dataclass(frozen=True, kw_only=True)
class Card:
    """An FPGA card in a host."""

    name: Annotated[str, Field("Name of the card, unique in its host", parse=arguments.label)]
    device: Annotated[
        str, Field("Device that opens the card, as for offramp leo run --device", parse=arguments.word)
    ] = "fpga:"
    memory: Annotated[int | None, Field("On the card", unit=BYTES)] = None
    board: Annotated[str, Field("Board that the card is, as for offramp fpga flash", parse=arguments.word)] = "ulx3s"
    bitstream: Annotated[
        str | None, Field("Bitstream that each job loads, a file on the host; none: it is loaded", parse=arguments.path)
    ] = None
    idle: Annotated[
        str | None,
        Field("Bitstream that is loaded when the job ends; none: the job's stays", parse=arguments.path),
    ] = None


@dataclass(frozen=True, kw_only=True)
class ClusterHost:
    """A machine that runs ranks.

    Attributes:
        hardware: LEO's model of it: the name of a built-in one or of a file, or the model itself.
    """

    name: Annotated[str, Field("Name of the host")]
    address: Annotated[
        str | None,
        Field("IPv4 address on the cluster's network; the name by default", parse=arguments.host_address),
    ] = None
    mac: Annotated[
        str | None, Field("MAC address of its first interface, where switches must know it", parse=parse_mac)
    ] = None
    cores: Annotated[int, Field("Cores", least=1, most=65536)] = 1
    gpus: Annotated[int, Field("GPUs", least=0, most=1024)] = 0
    memory: Annotated[int | None, Field("Main memory", unit=BYTES)] = None
    ranks: Annotated[int | None, Field("Processes of a job; one for each GPU by default, or one", least=0)] = None
    inside_bps: Annotated[
        int | None,
        Field(
            "Rate at which one of its GPUs exchanges with the others, one direction; none: that takes no time",
            key="inside",
            least=1,
            most=FASTEST_BPS,
            unit=BITS_PER_SECOND,
        ),
    ] = None
    speed: Annotated[float, Field("Speed of computation, as a multiple of the job's figures", above=0, most=1e6)] = 1.0
    reach: Annotated[str, Field("How commands reach the host", choices=REACHES, besides=is_namespace)] = "ssh"
    known_hosts: Annotated[
        str | None,
        Field("File with the host's ssh keys; by default those that this user has", parse=parse_known_hosts),
    ] = None
    agents: tuple[Agent, ...] = ()
    cards: tuple[Card, ...] = ()
    hardware: str | Mapping[str, Any] | None = None

    @property
    def processes(self) -> int:
        """Ranks that a job has here."""
        return max(1, self.gpus) if self.ranks is None else self.ranks

    @property
    def where(self) -> str:
        """The host's address, or else its name."""
        return self.address or self.name


@dataclass(frozen=True, kw_only=True)
class ClusterSwitch:
    """A switch; memory and queues are what jobs may use of it."""

    name: Annotated[str, Field("Name of the switch")]
    target: Annotated[str, Field("Kind of program that the switch takes", choices=TARGETS)] = "v1model"
    control: Annotated[
        str | None, Field("Address of its P4Runtime server: HOST:PORT or unix:PATH", parse=arguments.service)
    ] = None
    device: Annotated[int, Field("P4Runtime device", least=0)] = 0
    ca: Annotated[str | None, Field("CA certificates that sign the switch's own, a PEM file", parse=arguments.path)] = (
        None
    )
    cert: Annotated[str | None, Field("Client certificate to control the switch, a PEM file", parse=arguments.path)] = (
        None
    )
    key: Annotated[str | None, Field("Private key of that certificate, a PEM file", parse=arguments.path)] = None
    memory: Annotated[int, Field("Stateful memory for jobs", unit=BYTES)] = 4_000_000
    transport: Annotated[
        str,
        Field("What carries a host's frames to it: af_packet, or bundle where its ports take that", choices=CARRIERS),
    ] = "af_packet"
    ports: Annotated[int, Field("Ports, numbered from 1", least=1, most=MOST_PORTS)] = 32
    queues: Annotated[int, Field("Queues of a port", least=1, most=8)] = 8
    buffer: Annotated[
        int | None, Field("Bytes that wait at a port before frames are dropped; none: no limit", unit=BYTES, least=1)
    ] = None
    reach: Annotated[
        str | None,
        Field(
            "How commands reach the switch, to read its ports' counters; none: nobody reads them",
            choices=REACHES,
            besides=is_namespace,
        ),
    ] = None
    interface: Annotated[
        str, Field("Name of a port's interface there, with {port} for its number", parse=parse_port_interface)
    ] = "Ethernet{port}"

    @property
    def where(self) -> str:
        """The host of its control address, or else its name."""
        control = self.control or ""
        return self.name if control.startswith("unix:") or ":" not in control else control.rpartition(":")[0]

    def interface_of(self, port: int | str) -> str:
        """The interface of a port, where ``reach`` leads."""
        return self.interface.replace("{port}", str(port))


@dataclass(frozen=True, slots=True)
class CableEnd:
    """One end of a link: a node, and the number of a switch's port or the name of a host's interface."""

    node: str
    port: int | str

    def __str__(self) -> str:
        return f"{self.node}:{self.port}"


@dataclass(frozen=True, slots=True)
class Cable:
    """A cable, full duplex.

    Attributes:
        a, b: its ends.
        rate_bps: each way, in bits per second.
        delay_ns: each way.
    """

    a: CableEnd
    b: CableEnd
    rate_bps: int
    delay_ns: float = 0.0

    def far(self, node: str) -> CableEnd:
        """The end that is not at ``node``."""
        return self.b if self.a.node == node else self.a

    def near(self, node: str) -> CableEnd:
        """The end at ``node``."""
        return self.a if self.a.node == node else self.b


@dataclass(frozen=True, slots=True)
class LinkFailure:
    """A time in which all cables between two nodes carry nothing.

    Attributes:
        nodes: the nodes at both ends.
        start_ns, end_ns: from the start of what is run or simulated; infinity: it is not mended.
    """

    nodes: tuple[str, str]
    start_ns: float = 0.0
    end_ns: float = math.inf


@dataclass(frozen=True, kw_only=True)
class ClusterDimension:
    """A dimension along which ranks are joined, the innermost first (Themis)."""

    type: Annotated[str, Field("How its ranks are joined", choices=KINDS)]
    size: Annotated[int, Field("Ranks that communicate along it", least=1)]
    rate_bps: Annotated[
        int,
        Field(
            "Rate of all links of a rank on it, one direction",
            key="rate",
            least=1,
            most=FASTEST_BPS,
            unit=BITS_PER_SECOND,
        ),
    ]
    latency_ns: Annotated[float, Field("Latency of one step", key="latency", parse=nanoseconds)] = 0.0
    payload_share: Annotated[float, Field("In-network: bytes of data in a byte on the wire", above=0, most=1)] = 1.0
    bidirectional: Annotated[
        bool | None,
        Field("Ring: collectives go both ways round, or one way", shown_default="as the simulation has it"),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Everything that a file says.

    Attributes:
        routing: how switches choose among equally short paths (:data:`ROUTINGS`).
        failures: when links fail and whether they come back.
        origin: the file, for messages.
        places: ``FILE:LINE`` of hosts, switches and links by name; of a link its text.
    """

    name: str
    hosts: tuple[ClusterHost, ...] = ()
    switches: tuple[ClusterSwitch, ...] = ()
    links: tuple[Cable, ...] = ()
    dimensions: tuple[ClusterDimension, ...] = ()
    routing: str = "destination"
    failures: tuple[LinkFailure, ...] = ()
    origin: str = ""
    places: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def by_name(self) -> dict[str, ClusterHost | ClusterSwitch]:
        """Hosts and switches."""
        nodes: list[ClusterHost | ClusterSwitch] = [*self.hosts, *self.switches]
        return {each.name: each for each in nodes}

    @cached_property
    def links_of(self) -> dict[str, tuple[Cable, ...]]:
        """The links at each node, in the file's order."""
        links: dict[str, list[Cable]] = {name: [] for name in self.by_name}
        for each in self.links:
            for node in dict.fromkeys((each.a.node, each.b.node)):
                if node in links:
                    links[node].append(each)
        return {name: tuple(mine) for name, mine in links.items()}

    @property
    def ranks(self) -> list[ClusterHost]:
        """The host of each rank, in order."""
        return [host for host in self.hosts for _ in range(host.processes)]

    def place(self, name: str) -> str:
        """``FILE:LINE`` of a host, switch or link, for messages; the file alone where the line is not known."""
        return self.places.get(name, self.origin or self.name)

    def rate_bps(self, host: str) -> int:
        """Total rate of a host's links in bits per second each way; 0 if it has none."""
        return sum(link.rate_bps for link in self.links_of[host])
