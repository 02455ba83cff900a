# SPDX-License-Identifier: Apache-2.0
"""Ports that bmv2's run-time services attach and detach; the switch is a list of what it is told."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from offramp_base.errors import OfframpError
from offramp_p4.tm.config import MAX_PORT
from offramp_p4_tools.dropin.thrift import management as module
from offramp_p4_tools.dropin.thrift.management import Management
from offramp_p4_tools.dropin.thrift.services import RequestRefused


class Running:
    """A switch whose ports are held while they are changed."""

    def __init__(self) -> None:
        self.ports: dict[int, Any] = {}
        self.management: Any = None
        self.full = False
        self.device = SimpleNamespace(environment=SimpleNamespace(links=SimpleNamespace(up=lambda number: number == 3)))

    def attach(self, number: int, port: Any) -> None:
        assert self.management._lock.locked()
        if self.full:
            raise OfframpError("no more ports")
        self.ports[number] = port

    def detach(self, number: int) -> None:
        assert self.management._lock.locked()
        if number not in self.ports:
            raise OfframpError(f"no port {number}")
        del self.ports[number]


def test_ports_come_and_go(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []

    def opened(name: str, ring_bytes: int) -> Any:
        assert ring_bytes == module.LEAST_RING_BYTES
        return SimpleNamespace(name=name, close=lambda: closed.append(name))

    monkeypatch.setattr(module, "open_port", opened)
    running = Running()
    running.management = management = Management(cast("Any", running), dict, swap=False)
    management.bm_dev_mgr_add_port("eth1", MAX_PORT)
    management.bm_dev_mgr_add_port("udp:127.0.0.1:9", 3)
    shown = [(row["port_num"], row["iface_name"], row["is_up"]) for row in management.bm_dev_mgr_show_ports()]
    assert shown == [(3, "udp:127.0.0.1:9", True), (MAX_PORT, "eth1", False)]
    for name, number, message in (
        ("eth2", 3, "port 3 is taken"),
        ("eth2", MAX_PORT + 1, "is taken or outside"),
        ("eth2", -1, "port -1 is taken or outside"),
        ("unix:/x", 4, "expected an interface"),
    ):
        with pytest.raises(RequestRefused, match=message):
            management.bm_dev_mgr_add_port(name, number)
    with pytest.raises(RequestRefused, match="name their files when the switch starts"):
        management.bm_dev_mgr_add_port("eth2", 4, "x.pcap")
    running.full = True
    with pytest.raises(RequestRefused, match="no more ports"):
        management.bm_dev_mgr_add_port("eth2", 4)
    assert closed == ["eth2"], "a port that the switch does not take is closed"
    management.bm_dev_mgr_remove_port(3)
    assert [*running.ports] == [MAX_PORT]
    with pytest.raises(RequestRefused, match="no port 3"):
        management.bm_dev_mgr_remove_port(3)
