# SPDX-License-Identifier: Apache-2.0
"""How embedded leaves and spines are joined, by the ports that the network itself names; no switch is started."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import pytest

import offramp.train
import offramp_p4
from offramp.switchgnn.leaf_spine import LeafSpine, even_racks
from offramp_base.transport import shm
from offramp_cli.switchgnn.racks import embedded_racks


class FakeSwitch:
    """A switch with a name, whose links are named after it and their port."""

    started: list[FakeSwitch]

    def __init__(self, _: object, ports: Any, peers: Any = None, transport: str = "") -> None:
        self.port_numbers, self.peers, self.transport = list(ports), peers, transport
        self.address = f"switch{len(self.started)}"
        self.port_specs = [f"{self.address}/{port}" for port in self.port_numbers]
        self.running = False
        self.started.append(self)

    def __enter__(self) -> Self:
        self.running = True
        return self

    def __exit__(self, *_: object) -> None:
        self.running = False


@pytest.mark.parametrize(("workers", "racks", "spines"), [(4, 2, 1), (6, 2, 2), (6, 3, 3)])
def test_each_leaf_reaches_each_spine_and_each_worker_its_leaf(
    monkeypatch: pytest.MonkeyPatch, workers: int, racks: int, spines: int
) -> None:
    @contextmanager
    def fabric(*given: Any) -> Iterator[tuple[Any, ...]]:
        assert all(switch.running for switch in FakeSwitch.started)
        yield given

    FakeSwitch.started = []
    monkeypatch.setattr(offramp_p4, "EmbeddedSwitch", FakeSwitch)
    monkeypatch.setattr(offramp.train, "LeafSpineFabric", fabric)
    monkeypatch.setattr(shm, "or_auto", lambda: "shared memory")
    network: LeafSpine = even_racks(workers, racks, spines)
    with embedded_racks(network) as (of, leaves, tops, links):
        assert of is network
        assert tops == [f"switch{number}" for number in range(spines)]
        assert leaves == [f"switch{spines + leaf}" for leaf in range(racks)]
        for leaf, switch in enumerate(FakeSwitch.started[spines:]):
            assert switch.port_numbers == list(network.leaf_ports(leaf))
            assert switch.transport == "shared memory"
            assert switch.peers == {
                network.uplink(leaf, number): f"{top}/{network.downlink(leaf)}" for number, top in enumerate(tops)
            }
        assert links == [f"{leaves[rack]}/{network.host_port(w)}" for w, rack in enumerate(network.racks)]
    assert not any(switch.running for switch in FakeSwitch.started)
