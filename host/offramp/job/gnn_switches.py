# SPDX-License-Identifier: Apache-2.0
"""SwitchGNN on the switches between a job's ranks: one switch, or leaves that all spines join."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from offramp.allreduce.control import SwitchFullError
from offramp.cluster.model import Cluster, ClusterHost, ClusterSwitch
from offramp.cluster.names import some
from offramp.fabric import Fabric
from offramp.fabric.forwarding import ports_of_hosts
from offramp.job import systems
from offramp.job.agents import AgentThere, agent_at_link
from offramp.job.network import link_on_interface, socket_of_port
from offramp.job.shared_program import SharedSizes, sizes_for_plans
from offramp.job.switches import ProgramOnSwitch
from offramp.job.transaction import TransactionStep
from offramp.job.tree import leaves_of
from offramp.p4src import p4_text
from offramp.switchgnn import origin
from offramp.switchgnn.control import SwitchGnnControl, sizes_for
from offramp.switchgnn.leaf_spine import LeafSpine
from offramp.switchgnn.rows import PlanTooLargeError
from offramp.switchgnn.two_level import leaf_entries, spine_entries
from offramp.switchgnn.wire import LANES
from offramp_base.errors import OfframpError
from offramp_base.p4rt.session import Session

if TYPE_CHECKING:
    from offramp.switchgnn.plan import Plan

PROGRAM: Final = "switchgnn/v1model.p4"


@dataclass
class GnnOnSwitch(ProgramOnSwitch):
    """SwitchGNN with the plans of one job, which has it for itself.

    Attributes:
        sizes: sizes of the program, with room for the plans.
        segments: most segments of a frame of all-reduce, where the program carries that too.
        load: writes the plans.
    """

    program = PROGRAM
    what = systems.SWITCHGNN
    several = False
    reason_alone = ": its frames name blocks and aggregators, not jobs"
    sizes: Mapping[str, int]
    segments: int
    load: Callable[[SwitchGnnControl], None]

    @property
    def text(self) -> str:
        """Text of SwitchGNN's program."""
        return p4_text(PROGRAM, self.sizes)

    @property
    def shared_sizes(self) -> SharedSizes:
        """Sizes with the plans, and room for others."""
        return sizes_for_plans(self.switch, self.place, self.sizes, self.segments)

    @property
    def lease(self) -> str:
        """Aggregators."""
        lanes = self.sizes["SEGMENTS"] * LANES
        return f"SwitchGNN for itself, {self.sizes['AGGREGATORS']} aggregators of {lanes} lanes"

    def runs(self, session: Session) -> bool:
        """Whether the switch's program carries SwitchGNN."""
        return systems.has_switchgnn(session)

    def admit(self, session: Session) -> None:
        """The entries of all plans, where no round of an earlier job is left."""
        control = SwitchGnnControl(session)
        control.clear()
        try:
            self.load(control)
        except BaseException as error:
            with contextlib.suppress(OfframpError):
                control.clear()
            if isinstance(error, PlanTooLargeError):
                raise SwitchFullError(f"{self.place}: {self.switch.name}: {error}") from None
            raise

    def admitted(self, session: Session) -> bool:
        """Whether the job is on the switch, by the entries of workers' ports."""
        return next(iter(session.read_table(origin.TABLE)), None) is not None


@dataclass(frozen=True)
class GnnNetwork:
    """The locations of workers and switches.

    Attributes:
        cluster, hosts: the cluster, and the workers' hosts.
        switches: the only one; or leaves, then spines.
        racks: as SwitchGNN numbers their ports; None where there is one switch.
    """

    cluster: Cluster
    hosts: Sequence[ClusterHost]
    switches: tuple[ClusterSwitch, ...]
    racks: LeafSpine | None

    @classmethod
    def of(cls, cluster: Cluster, hosts: Sequence[ClusterHost]) -> GnnNetwork:
        """The network between hosts.

        Raises:
            OfframpError: switches that take no such program, or ports that are not as it expects them; with file and
                line.
        """
        if len(hosts) < 2:
            raise OfframpError("one rank has all features already")
        leaf_of = leaves_of(cluster, hosts, "SwitchGNN")
        leaves = list(dict.fromkeys(leaf_of[host.name] for host in hosts))
        if len(leaves) == 1:
            network = cls(cluster, hosts, (_takes(cluster, leaves[0]),), None)
        else:
            spines = [
                each.name
                for each in cluster.switches
                if each.name not in leaves
                and {link.far(each.name).node for link in cluster.links_of[each.name]}.issuperset(leaves)
            ]
            if not spines:
                raise OfframpError(f"{cluster.origin}: no switch joins {some(leaves)}")
            racks = LeafSpine(tuple(leaves.index(leaf_of[host.name]) for host in hosts), len(spines))
            network = cls(cluster, hosts, tuple(_takes(cluster, name) for name in [*leaves, *spines]), racks)
            network._check_ports()
        return network

    def _check_ports(self) -> None:
        racks, cluster = self.racks, self.cluster
        assert racks is not None
        if list(racks.racks) != [w * racks.leaves // racks.workers for w in range(racks.workers)]:
            raise OfframpError(f"{cluster.origin}: expected as many of the job's hosts under each leaf, side by side")
        for worker, host in enumerate(self.hosts):
            self._expect(self.switches[racks.racks[worker]], host.name, racks.host_port(worker))
        for leaf in range(racks.leaves):
            for spine in range(racks.spines):
                at, top = self.switches[leaf], self.switches[racks.leaves + spine]
                self._expect(at, top.name, racks.uplink(leaf, spine))
                self._expect(top, at.name, racks.downlink(leaf))

    def _expect(self, switch: ClusterSwitch, far: str, port: int) -> None:
        links = self.cluster.links_of[switch.name]
        ports = [link.near(switch.name).port for link in links if link.far(switch.name).node == far]
        if port not in ports:
            problem = f"{far} is at port {some(ports)}, expected {port}: SwitchGNN counts hosts, then spines"
            raise OfframpError(f"{self.cluster.place(switch.name)}: {switch.name}: {problem}")

    @property
    def addresses(self) -> list[str]:
        """P4Runtime of all switches."""
        return [switch.control or "" for switch in self.switches]

    @property
    def links(self) -> list[str]:
        """The link that each worker opens, with the switch's port in front where there is only one switch."""
        links = []
        for host in self.hosts:
            far = self.cluster.links_of[host.name][0].far(host.name)
            agent = agent_at_link(self.cluster, host)
            if agent is not None:
                link = f"nic:{agent.socket}#0"
            elif host.reach == "local":
                link = f"unix:{socket_of_port(self.cluster, host)}"
            else:
                link = link_on_interface(self.cluster, host)
            links.append(f"{far.port}@{link}" if self.racks is None else link)
        return links

    def steps(
        self, plans: Sequence[Plan], number: int, *, share: bool = False, segments: int = 1
    ) -> list[TransactionStep]:
        """The agents at workers' links, then each switch with its part of the plans; ``segments`` where they share it.

        Raises:
            OfframpError: an agent does not answer, or a switch lacks memory; with file and line.
        """
        ports = ports_of_hosts(Fabric(self.cluster).at(0.0))
        steps: list[TransactionStep] = []
        for host in self.hosts:
            agent = agent_at_link(self.cluster, host)
            if agent is not None and not agent.start:
                steps.append(AgentThere(agent, host.name, self.cluster.place(host.name)))
        for position, switch in enumerate(self.switches):
            place, sizes = (
                self.cluster.place(switch.name),
                sizes_for(plans, leaves=self.racks.leaves if self.racks else 0),
            )
            load = self._load(position, plans)
            steps.append(
                GnnOnSwitch(switch, place, ports[switch.name], number, sizes, segments, load=load, share=share)
            )
        for each in steps:
            if isinstance(each, AgentThere):
                each.apply()  # an agent that is not there is said before anything is touched
            elif isinstance(each, GnnOnSwitch):
                each.check()
        return steps

    def _load(self, position: int, plans: Sequence[Plan]) -> Callable[[SwitchGnnControl], None]:
        racks = self.racks
        if racks is None:
            at = [int(self.cluster.links_of[host.name][0].far(host.name).port) for host in self.hosts]
            return lambda control: control.load(plans, at)
        entries = leaf_entries(plans, racks, position) if position < racks.leaves else spine_entries(plans, racks)
        return lambda control: control.load_place(entries, plans)


def _takes(cluster: Cluster, name: str) -> ClusterSwitch:
    switch = cluster.by_name[name]
    assert isinstance(switch, ClusterSwitch)
    if switch.target != "v1model" or not switch.control:
        what = f"target {switch.target}" if switch.target != "v1model" else "no control address"
        raise OfframpError(f"{cluster.place(name)}: {name}: {what}: SwitchGNN among plain frames expects v1model")
    return switch
