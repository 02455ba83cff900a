# SPDX-License-Identifier: Apache-2.0
"""bmv2's run-time services and their command line, on a switch of this process.

The expected texts are what bmv2's own command line prints of bmv2 1.15 running the JSON of the same program.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from offramp_base.errors import OfframpError
from offramp_p4_tools.dropin.thrift.client import ThriftClient
from offramp_p4_tools.dropin.thrift.server import ThriftServer
from offramp_p4_tools.dropin.thrift.services import RequestRefused, TableCode
from thrift_switch import answers, serving

SOURCE = Path(__file__).parents[1] / "runtime" / "features.p4"

pytestmark = pytest.mark.p4


@pytest.fixture
def server() -> Iterator[ThriftServer]:
    with serving(SOURCE) as server:
        yield server


@pytest.fixture
def client(server: ThriftServer) -> Iterator[ThriftClient]:
    with ThriftClient("127.0.0.1", server.port) as client:
        yield client


def test_tables(client: ThriftClient) -> None:
    added, again, modified, dumped, deleted, gone = answers(
        client,
        "table_add I.flows I.to 00:11:22:33:44:55 => 3",
        "table_add flows I.to 0x001122334455 => 3",
        "table_modify I.flows flood 0 => 0x102",
        "table_dump I.flows",
        "table_delete I.flows 0",
        "table_delete I.flows 0",
    )
    assert added.splitlines() == [
        "Adding entry to exact match table I.flows",
        "match key:           EXACT-00:11:22:33:44:55",
        "action:              I.to",
        "runtime data:        00:03",
        "Entry has been added with handle 0",
    ]
    assert again.endswith("Invalid table operation (DUPLICATE_ENTRY)\n")
    assert modified == "Modifying entry 0 for exact match table I.flows\n"
    assert dumped.splitlines() == [
        "==========",
        "TABLE ENTRIES",
        "**********",
        "Dumping entry 0x0",
        "Match key:",
        "* ethernet.dst        : EXACT     001122334455",
        "Action entry: I.flood - 0102",
        "==========",
        "Dumping default entry",
        "Action entry: NoAction - ",
        "==========",
    ]
    assert deleted == "Deleting entry 0 from I.flows\n"
    assert gone.endswith("Invalid table operation (INVALID_HANDLE)\n")


def test_the_smallest_priority_wins(server: ThriftServer, client: ThriftClient) -> None:
    answers(client, "table_add policed drop 1&&&1 => 10", "table_add policed police 1&&&1 => 5")
    table = server.pipeline.switch.tables["I.policed"]
    entry = table.lookup((1,))
    assert entry is not None
    assert entry.action.action == "I.police"  # type: ignore[union-attr]


def test_selectors(client: ThriftClient) -> None:
    *_, dumped = answers(
        client,
        "act_prof_create_member I.ways I.to 4",
        "act_prof_create_member I.ways I.to 5",
        "act_prof_create_group I.ways",
        "act_prof_add_member_to_group I.ways 1 0",
        "table_indirect_add_with_group I.spread 0x800 => 0",
        "table_dump I.spread",
    )
    assert "Index: group(0)\n" in dumped
    assert "Dumping group 0\nMembers: [1]\n" in dumped
    assert dumped.endswith("Dumping default entry\nEMPTY\n==========\n")


def test_arrays(client: ThriftClient) -> None:
    assert answers(
        client,
        "register_write I.store 1 77",
        "register_read store 1",
        "register_write I.store 2-4 5",
        "register_read I.store",
        "register_read I.store 9",
        "counter_write I.events 1 5 600",
        "counter_read I.events 1",
        "meter_set_rates I.rates 1 0.5:10 1.5:20",
        "meter_get_rates I.rates 1",
    ) == [
        "",
        "store[1]= 77\n",
        "",
        "I.store= 0, 77, 5, 5\n",
        "Invalid register operation (INVALID_INDEX)\n",
        "I.events[1] has been updated\n",
        "I.events[1]= (600 bytes, 5 packets)\n",
        "",
        "0: info rate = 0.5, burst size = 10\n1: info rate = 1.5, burst size = 20\n",
    ]


def test_replication(server: ThriftServer, client: ThriftClient) -> None:
    *_, dumped, added, got, unknown = answers(
        client,
        "mc_mgrp_create 3",
        "mc_node_create 400 1 2",
        "mc_node_associate 3 0",
        "mc_dump",
        "mirroring_add_mc 7 3",
        "mirroring_get 7",
        "mirroring_get 8",
    )
    assert "mgrp(3)\n  -> (L1h=0, rid=400) -> (ports=[1, 2], lags=[])\n" in dumped
    assert (added, got) == ("", "MirroringSessionConfig(port=None, mgid=3)\n")
    assert unknown == "Invalid mirroring operation (SESSION_NOT_FOUND)\n"
    clones = server.pipeline.switch.pre.clones[7]
    assert [(r.port, r.instance) for r in clones.replicas] == [(1, 400), (2, 400)]


@pytest.mark.parametrize(
    ("method", "arguments", "code"),
    [
        ("bm_mt_get_num_entries", {"table_name": "no"}, TableCode.TABLE),
        ("bm_mt_delete_entry", {"table_name": "I.flows", "entry_handle": 5}, TableCode.HANDLE),
        ("bm_mt_delete_entry", {"table_name": "I.flows", "entry_handle": -1}, TableCode.HANDLE),
        ("bm_mt_read_counter", {"table_name": "I.flows", "entry_handle": 0}, TableCode.HANDLE),
        ("bm_mt_act_prof_get_member", {"act_prof_name": "I.ways", "mbr_handle": 1}, TableCode.MEMBER),
        ("bm_mt_act_prof_create_group", {"act_prof_name": "I.hops"}, TableCode.NO_SELECTION),
    ],
)
def test_wrong_handles_have_codes(client: ThriftClient, method: str, arguments: dict[str, object], code: int) -> None:
    with pytest.raises(RequestRefused) as refused:
        client.call("standard", method, **arguments)
    assert refused.value.code == code
    assert client.call("standard", "bm_mt_get_num_entries", table_name="I.flows") == 0


def test_what_the_switch_cannot_do_is_said(client: ThriftClient) -> None:
    with pytest.raises(OfframpError, match="bm_mt_get_num_entries: "):
        client.call("standard", "bm_mt_get_num_entries")


@pytest.mark.parametrize(
    "noise",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        bytes(64),
        struct.pack(">Ii", 0x80010001, 1 << 30),
        struct.pack(">Ii", 0x80010001, -1),
        struct.pack(">Ii4sibhi", 0x80010001, 4, b"x:yz", 1, 15, 1, 0) + b"\x0c\x7f\xff\xff\xff",
        struct.pack(">Ii4si", 0x80010001, 4, b"x:yz", 1) + b"\x0c\x00\x01" * 100,
    ],
)
def test_noise_is_counted_and_the_next_client_is_served(server: ThriftServer, noise: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.port), 10) as stranger:
        stranger.sendall(noise)
        with contextlib.suppress(OSError):  # what it has not read is lost, and it may be gone already
            stranger.shutdown(socket.SHUT_WR)
            assert stranger.recv(1) == b""
    assert sum(server.refused.values()) == 1
    with ThriftClient("127.0.0.1", server.port) as client:
        assert client.call("standard", "bm_mgmt_get_info")["thrift_port"] == server.port


def test_a_message_has_its_time_however_small_its_pieces(server: ThriftServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("offramp_p4_tools.dropin.thrift.server.MESSAGE_S", 0.5)
    with socket.create_connection(("127.0.0.1", server.port), 10) as stranger, contextlib.suppress(OSError):
        for byte in struct.pack(">Ii", 0x80010001, 250) + bytes(240):
            stranger.sendall(bytes([byte]))
            time.sleep(0.05)
        pytest.fail("the server waited for twelve seconds")
    assert dict(server.refused) == {"Thrift: a message that does not end": 1}
