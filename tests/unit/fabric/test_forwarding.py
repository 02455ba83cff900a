# SPDX-License-Identifier: Apache-2.0
"""Entries by which switches forward plain frames, and what changes in them.

Blind spot: the session is a table of this file; ``tests/e2e/test_lab.py`` sends frames through running switches.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from offramp.fabric.forwarding import TABLES, entries, mac_of, reroute
from offramp_base.errors import OfframpError


class FakeSession:
    """A switch with one table, whose entries are tuples of table, match, action and parameters."""

    name = "leaf1"

    def __init__(self, table: str, held: dict[int, int]) -> None:
        self.index = SimpleNamespace(tables={"other": 0, table: 1})
        self.held, self.changes, self.reads = held, [], []

    def table_entry(self, *parts: Any) -> Any:
        return parts

    def read_table(self, table: str) -> list[Any]:
        self.reads.append(table)

        def of(value: int, size: int) -> Any:
            return SimpleNamespace(value=value.to_bytes(size, "big"))

        return [
            SimpleNamespace(
                match=[SimpleNamespace(exact=of(mac, 6))],
                action=SimpleNamespace(action=SimpleNamespace(params=[of(port, 2)])),
            )
            for mac, port in self.held.items()
        ]

    def modify(self, changed: list[Any]) -> None:
        self.changes += changed


@pytest.mark.parametrize("prefix", ["", "pipe."])
@pytest.mark.parametrize("table", TABLES)
def test_entries_are_of_the_programs_own_table(prefix: str, table: str) -> None:
    session: Any = FakeSession(prefix + table, {})
    assert entries(session, {0x0200_0000_0001: 3}) == [
        (prefix + table, {"dst_addr": 0x0200_0000_0001}, prefix + TABLES[table], {"port": 3})
    ]


def test_only_ports_that_differ_are_changed() -> None:
    table, action = next(iter(TABLES.items()))
    session: Any = FakeSession(table, {0x0200_0000_0001: 300, 0x0200_0000_0002: 2})
    reroute(session, {0x0200_0000_0001: 300, 0x0200_0000_0002: 4, 0x0200_0000_0003: 5})
    assert session.reads == [table]
    assert session.changes == [(table, {"dst_addr": 0x0200_0000_0002}, action, {"port": 4})]


def test_a_program_without_the_table_is_named() -> None:
    with pytest.raises(OfframpError, match="switch leaf1: its program forwards no plain frames"):
        entries(FakeSession("X.macs", {}), {})  # type: ignore[arg-type]


def test_the_address_of_a_host() -> None:
    cluster: Any = SimpleNamespace(place=lambda name: f"c.yaml:{len(name)}")
    host: Any = SimpleNamespace(name="h1", mac="02:00:00:00:01:ff")
    assert mac_of(cluster, host) == 0x0200_0000_01FF
    host.mac = None
    with pytest.raises(OfframpError, match=r"c\.yaml:2: h1: expected mac"):
        mac_of(cluster, host)
