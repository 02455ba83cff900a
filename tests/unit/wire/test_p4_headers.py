# SPDX-License-Identifier: Apache-2.0
"""One definition of each header: the P4 declarations must be the field tables. Blind to how fields are used."""

from __future__ import annotations

import re

import pytest

from offramp.p4src import p4_source
from offramp.switchgnn import wire as switchgnn
from offramp_base.wire import ethernet
from offramp_base.wire.fields import HeaderFormat

HEADERS = {
    "include/ethernet.p4": [ethernet.ETHERNET],
    "include/ipv4.p4": [ethernet.IPV4],
    "include/switchgnn.p4": [switchgnn.SWITCHGNN, switchgnn.PAYLOAD],
}
CONSTANTS = {
    "include/ethernet.p4": {"ETHER_TYPE_IPV4": ethernet.ETHER_TYPE_IPV4},
    "include/ipv6.p4": {"ETHER_TYPE_IPV6": ethernet.ETHER_TYPE_IPV6},
    "include/switchgnn.p4": {
        "IP_PROTOCOL_SWITCHGNN": switchgnn.IP_PROTOCOL,
        "BROADCAST_MAC": ethernet.BROADCAST_MAC,
        "BROADCAST_IP": ethernet.BROADCAST_IP,
        "NO_ID": switchgnn.NO_ID,
        "SWITCH_MAC": switchgnn.SWITCH_MAC,
        "SWITCH_IP": switchgnn.SWITCH_IP,
        "LEAF_IP": switchgnn.LEAF_IP,
        "LEVEL_LEAF": switchgnn.LEVEL_LEAF,
    },
}


def declared(text: str, header: str) -> dict[str, int]:
    body = re.search(rf"header {header}_t \{{(.*?)\}}", text, re.DOTALL)
    assert body, f"no header {header}_t"
    return {name: int(width) for width, name in re.findall(r"bit<(\d+)>\s+(\w+);", body[1])}


@pytest.mark.parametrize(
    ("file", "header"),
    [(file, h) for file, headers in HEADERS.items() for h in headers],
    ids=lambda x: getattr(x, "name", x),
)
def test_p4_declares_the_same_fields_in_the_same_order(file: str, header: HeaderFormat) -> None:
    fields = declared(p4_source(file).read_text(), header.name)
    assert list(fields.items()) == [(field.name, field.width) for field in header.fields]


@pytest.mark.parametrize("file", CONSTANTS)
def test_p4_defines_the_same_constants(file: str) -> None:
    found = re.findall(r"const bit<\d+> (\w+) = (\w+);", p4_source(file).read_text())
    assert {name: int(value, 0) for name, value in found} == CONSTANTS[file]
