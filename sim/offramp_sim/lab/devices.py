# SPDX-License-Identifier: Apache-2.0
"""Devices of a laboratory beside the hosts: switches as processes, bridges, smartNIC agents."""

from __future__ import annotations

from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from offramp.cluster import Cluster, ClusterSwitch
from offramp.fabric import Fabric
from offramp.fabric.forwarding import BASE_PROGRAMS, entries, ports_of_hosts, reroute
from offramp.p4src import p4_text
from offramp_base.errors import OfframpError
from offramp_base.p4rt.session import Session
from offramp_p4.embedded import EmbeddedSwitch
from offramp_p4.tm.config import TmConfig
from offramp_sim.lab.namespaces import Spaces, switch_end

if TYPE_CHECKING:
    from offramp.nic.process import AgentProcess

CARRIER: Final = "bundle" if find_spec("llvmlite") is not None else "af_packet"
"""Transport of the switches' ports on interfaces: hosts' frames cost the kernel of one machine what many would pay."""
_BUFFER_S: Final = 0.02
_LEAST_BUFFER: Final = 16 << 20
"""Bytes of a switch's buffer that slow links do not make smaller."""


def start_switches(fabric: Fabric, folder: Path, spaces: Spaces | None, stack: ExitStack) -> dict[str, EmbeddedSwitch]:
    """Start an embedded switch for each programmable one, as an Ethernet switch that knows all hosts.

    Args:
        fabric: what to build, as it is at the start.
        folder: folder for sockets and logs.
        spaces: that hold its ports' interfaces; None: ports are Unix sockets.
        stack: ends them.

    Raises:
        OfframpError: a switch does not start.
    """
    cluster = fabric.cluster
    switches: dict[str, EmbeddedSwitch] = {}
    for each in cluster.switches:
        if each.target not in BASE_PROGRAMS:
            continue
        links = cluster.links_of[each.name]
        numbers = [int(link.near(each.name).port) for link in links]
        names = [switch_end(cluster, each.name, number) for number in numbers] if spaces else []
        peers = {} if spaces else _peers(cluster, each, switches)
        rates = {int(link.near(each.name).port): link.rate_bps for link in links}
        buffer_bytes = max(_LEAST_BUFFER, round(sum(rates.values()) / 8 * _BUFFER_S))
        config = TmConfig.uniform(queues=each.queues, rates=rates if spaces else {}, buffer_bytes=buffer_bytes)
        at = {"interfaces": names, "transport": CARRIER} if names else {"peers": peers}
        process = EmbeddedSwitch(None, numbers or [1], workdir=folder / each.name, tm=config, **at)
        switches[each.name] = stack.enter_context(process)
        bring_base(process, fabric, each)
    return switches


def bring_base(process: EmbeddedSwitch, fabric: Fabric, switch: ClusterSwitch) -> None:
    """Make a switch that has just started an Ethernet switch that knows all hosts.

    Raises:
        OfframpError: it does not answer.
    """
    with Session(process.address, timeout_s=60.0) as session:
        session.push(b"", p4_text(BASE_PROGRAMS[switch.target]).encode())
        session.insert(entries(session, ports_of_hosts(fabric)[switch.name]))


def steer(process: EmbeddedSwitch, ports: dict[int, int]) -> None:
    """Let a switch forward by these ports, whatever program it runs.

    Raises:
        OfframpError: it does not answer, or its program forwards no plain frames.
    """
    with Session(process.address, timeout_s=60.0) as session:
        reroute(session, ports)


def _peers(cluster: Cluster, each: ClusterSwitch, there: dict[str, EmbeddedSwitch]) -> dict[int, str]:
    """Ports that lead to switches that run already."""
    specs = {}
    for link in cluster.links_of[each.name]:
        far = link.far(each.name)
        if far.node in there:
            other = there[far.node]
            specs[int(link.near(each.name).port)] = other.port_specs[other.port_numbers.index(int(far.port))]
    return specs


def start_agents(cluster: Cluster, spaces: Spaces | None, stack: ExitStack) -> dict[tuple[str, str], AgentProcess]:
    """Start the smartNIC agents of all hosts, each in its host's namespace, but for those that jobs start.

    Raises:
        OfframpError: an agent does not start, or cannot be built; names file and line of the host.
    """
    from offramp.nic.process import AgentProcess

    agents: dict[tuple[str, str], AgentProcess] = {}
    for host in cluster.hosts:
        for agent in (each for each in host.agents if not each.start):
            ports = [agent.interface] if agent.interface and spaces else []
            launcher = spaces.inside(host.name) if spaces else []
            process = AgentProcess(ports, cores=agent.cores, launcher=launcher)
            try:
                agents[host.name, agent.name] = stack.enter_context(process)
                if spaces:
                    spaces.acquaint(host.name)
            except OfframpError as error:
                raise OfframpError(f"{cluster.place(host.name)}: agent {agent.name} of {host.name}: {error}") from None
    return agents
