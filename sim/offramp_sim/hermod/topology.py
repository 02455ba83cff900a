# SPDX-License-Identifier: Apache-2.0
"""The switches between the NICs, each with Hermod's program and a traffic manager."""

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
from offramp_sim.hermod.layout import SwitchLayout
from offramp_sim.hermod.wire import WireProperties
from offramp_sim.net.link import NetworkLink
from offramp_sim.net.network import PacketNetwork
from offramp_sim.net.switch import SwitchNode

_PROGRAM: Final = "hermod/v1model.p4"
_FOR_EVER_PS: Final = 1 << 61


class SwitchTopology:
    """All switches of a network with their entries.

    Args:
        network: network to which the switches are added.
        layout: switches, their tables and cables.
        queues: queues by DSCP.
        wire: engine and buffers.

    Attributes:
        engine: that runs the program.
        links: both directions of each cable.
    """

    def __init__(
        self, network: PacketNetwork, layout: SwitchLayout, queues: tuple[int, ...], wire: WireProperties
    ) -> None:
        self._network, self._layout = network, layout
        self.engine, self.links = "", list[tuple[NetworkLink, NetworkLink]]()
        config = TmConfig(buffer_bytes=wire.buffer_bytes)
        program = load(p4_source(_PROGRAM))
        self._switches: dict[str, SwitchNode] = {}
        for name, ports in layout.ports.items():
            switch = make_switch(program, wire.engine)
            direct.load(switch, SwitchPlan(dict(enumerate(queues)), hosts=ports, ports=sorted(set(ports.values()))))
            self.engine = switch.engine
            self._switches[name] = network.add_switch(name, switch, config)

    def connect(self, scale: float, faults: RunFaults) -> None:
        """Connect all links, at their rates by ``scale``, and schedule the pauses of ports to hosts.

        Raises:
            OfframpError: a pause at a NIC that is not there, or at no switch.
        """
        for a, a_port, b, b_port, rate_bps, delay_ns in self._layout.cables:
            rate = round(rate_bps / scale)
            self.links.append(self._network.connect(a, a_port, b, b_port, rate, delay_ns, faults.loss))
        for pause in faults.pauses:
            if pause.nic >= len(self._layout.at):
                raise OfframpError(f"pause {pause}: there are {len(self._layout.at)} NICs")
            self._pause(pause.nic, round(pause.start_s * PS_PER_S), pause.end_s)

    def _pause(self, nic: int, start_ps: int, end_s: float | None) -> None:
        at = self._layout.at[nic]
        if at is None:
            raise OfframpError(f"pause of NIC {nic}: a cable joins it to another: expected a switch")
        switch, port = self._switches[at[0]], at[1]
        until_ps = _FOR_EVER_PS if end_s is None else round(end_s * PS_PER_S)

        def begin() -> None:
            switch.tm.pause(port, until_ps)
            self._network.wake(switch)

        self._network.at(start_ps, begin)

    @property
    def link_bytes(self) -> list[int]:
        """Bytes of time on the links, both directions of each cable one after the other."""
        return [link.stats.wire_bytes for pair in self.links for link in pair]

    @property
    def dropped(self) -> int:
        """Frames dropped for lack of buffers."""
        return sum(queue.stats.dropped for s in self._switches.values() for _, _, queue in s.tm.queues())

    @property
    def queues(self) -> dict[int, int]:
        """Frames that have left, by queue, as the program counts them."""
        count: Counter[int] = Counter()
        for node in self._switches.values():
            for port, number, queue in node.tm.queues():
                if queue.stats.enqueued:
                    count[number] += direct.sent(node.switch, port, number)[0]
        return dict(sorted(count.items()))
