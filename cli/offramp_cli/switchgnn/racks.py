# SPDX-License-Identifier: Apache-2.0
"""Embedded leaf and spine switches, joined by links, for the duration of a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from offramp.switchgnn.leaf_spine import LeafSpine
    from offramp.train import LeafSpineFabric


@contextmanager
def embedded_racks(network: LeafSpine) -> Iterator[LeafSpineFabric]:
    """Start a process for each switch; leaves connect to the spines."""
    from offramp.train import LeafSpineFabric
    from offramp_base.transport import shm
    from offramp_p4 import EmbeddedSwitch

    with ExitStack() as stack:
        spines = [stack.enter_context(EmbeddedSwitch(None, network.spine_ports())) for spine in range(network.spines)]
        leaves = []
        for leaf in range(network.leaves):
            peers = {
                network.uplink(leaf, number): spine.port_specs[spine.port_numbers.index(network.downlink(leaf))]
                for number, spine in enumerate(spines)
            }
            switch = EmbeddedSwitch(None, network.leaf_ports(leaf), peers=peers, transport=shm.or_auto())
            leaves.append(stack.enter_context(switch))
        links = [leaves[rack].port_specs[network.host_port(worker) - 1] for worker, rack in enumerate(network.racks)]
        at_leaves, at_spines = ([switch.address for switch in switches] for switches in (leaves, spines))
        with LeafSpineFabric(network, at_leaves, at_spines, links) as fabric:
            yield fabric
