# SPDX-License-Identifier: Apache-2.0
"""The switches between the NICs: one, or leaves and spines as at the flow level."""

from __future__ import annotations

from collections import Counter
from typing import Final

from offramp.hermod.switch.entries import SwitchPlan
from offramp.p4src import p4_source
from offramp_base.errors import OfframpError
from offramp_p4 import make_switch
from offramp_p4.frontend import load
from offramp_p4.tm.config import TmConfig
from offramp_p4.tm.line import PS_PER_S
from offramp_sim.hermod import direct
from offramp_sim.hermod.faults import RunFaults
from offramp_sim.hermod.flow.fabric import BisectionFabric
from offramp_sim.hermod.framing import NicAddress
from offramp_sim.hermod.wire import WireProperties
from offramp_sim.net.network import PacketNetwork
from offramp_sim.net.switch import SwitchNode

_PROGRAM: Final = "hermod/v1model.p4"
_FOR_EVER_PS: Final = 1 << 61


class SwitchTopology:
    """All switches of a network with their entries.

    Args:
        network: network to which the switches are added.
        fabric: fabric of the flow level; with more than one leaf ECMP gives each pair its path.
        queues: queues by DSCP.
        wire: engine and buffers.

    Attributes:
        engine: that runs the program.

    Raises:
        OfframpError: several leaves and spraying.
    """

    def __init__(
        self, network: PacketNetwork, fabric: BisectionFabric, queues: tuple[int, ...], wire: WireProperties
    ) -> None:
        if fabric.leaves > 1 and fabric.routing != "ecmp":
            raise OfframpError(f"routing {fabric.routing}: packets of a flow must stay in order here, expected ecmp")
        self._network, self._fabric = network, fabric
        config = TmConfig(buffer_bytes=wire.buffer_bytes)
        leaves, each = fabric.leaves, fabric.leaf
        paths = range(each if leaves > 1 else 1)
        self._leaves: list[SwitchNode] = []
        program = load(p4_source(_PROGRAM))

        def add(name: str, ports: dict[int, int]) -> SwitchNode:
            switch = make_switch(program, wire.engine)
            plan = SwitchPlan(dict(enumerate(queues)), hosts=ports, ports=sorted(set(ports.values())))
            direct.load(switch, plan)
            self.engine = switch.engine
            return network.add_switch(name, switch, config)

        for leaf in range(leaves):
            ports = {
                NicAddress(nic, path).mac: nic % each if nic // each == leaf else each + path
                for nic in range(fabric.count)
                for path in paths
            }
            self._leaves.append(add(f"leaf{leaf}", ports))
        self._spines: list[SwitchNode] = []
        for spine in paths if leaves > 1 else ():
            ports = {NicAddress(nic, spine).mac: nic // each for nic in range(fabric.count)}
            self._spines.append(add(f"spine{spine}", ports))

    def connect(self, hosts: list[str], rate_bps: int, delay_ns: float, faults: RunFaults) -> None:
        """Connect all links at one rate, and schedule the pauses of ports to hosts.

        Raises:
            OfframpError: a pause at a NIC that is not there.
        """
        network, each = self._network, self._fabric.leaf
        for nic, host in enumerate(hosts):
            leaf = self._leaves[nic // each]
            network.connect(host, 0, leaf.name, nic % each, rate_bps, delay_ns, faults.loss)
        for i, spine in enumerate(self._spines):
            for k, leaf in enumerate(self._leaves):
                network.connect(leaf.name, each + i, spine.name, k, rate_bps, delay_ns, faults.loss)
        for pause in faults.pauses:
            if pause.nic >= len(hosts):
                raise OfframpError(f"pause {pause}: there are {len(hosts)} NICs")
            self._pause(pause.nic, round(pause.start_s * PS_PER_S), pause.end_s)

    def _pause(self, nic: int, start_ps: int, end_s: float | None) -> None:
        leaf, port = self._leaves[nic // self._fabric.leaf], nic % self._fabric.leaf
        until_ps = _FOR_EVER_PS if end_s is None else round(end_s * PS_PER_S)

        def begin() -> None:
            leaf.tm.pause(port, until_ps)
            self._network.wake(leaf)

        self._network.at(start_ps, begin)

    @property
    def dropped(self) -> int:
        """Frames dropped for lack of buffers."""
        return sum(queue.stats.dropped for s in self._switches() for _, _, queue in s.tm.queues())

    @property
    def queues(self) -> dict[int, int]:
        """Frames that have left, by queue, as the program counts them."""
        count: Counter[int] = Counter()
        for node in self._switches():
            for port, number, queue in node.tm.queues():
                if queue.stats.enqueued:
                    count[number] += direct.sent(node.switch, port, number)[0]
        return dict(sorted(count.items()))

    def _switches(self) -> list[SwitchNode]:
        return [*self._leaves, *self._spines]
