# SPDX-License-Identifier: Apache-2.0
"""bmv2's JSON as the device configuration of P4Runtime, as p4c's users push it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from offramp_base.errors import OfframpError
from offramp_base.p4rt.session import Session
from offramp_p4.embedded import EmbeddedSwitch
from offramp_p4.frontend import load, load_text
from offramp_p4.runtime.p4info import generate
from offramp_p4_tools.bmv2.write import to_json
from psa_shell import psa_program

SOURCE = Path(__file__).parents[1] / "runtime" / "features.p4"

pytestmark = [pytest.mark.p4, pytest.mark.full]


@pytest.fixture(scope="module")
def program() -> Any:
    return load(SOURCE)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with EmbeddedSwitch(None, [1], workdir=tmp_path / "s") as switch, Session(switch.address, timeout_s=60) as session:
        yield session


def wrapped(document: bytes) -> bytes:
    """``P4DeviceConfig`` of ``p4.tmp``: reassign, then device_data."""
    size = len(document)
    octets = []
    while size > 0x7F:
        octets.append(size & 0x7F | 0x80)
        size >>= 7
    return b"\x08\x01\x1a" + bytes([*octets, size]) + document


@pytest.mark.parametrize("form", ["bare", "wrapped"])
def test_ids_are_those_of_the_p4info_that_came_with_it(form: str, program: Any, session: Session) -> None:
    info = generate(program)
    digest = info.digests[0].preamble
    digest.id = 0x17123456
    document = json.dumps(to_json(program)).encode()
    session.push(info.SerializeToString(), document if form == "bare" else wrapped(document))
    assert session.pipeline().digests[0].preamble.id == 0x17123456


def test_a_p4info_of_another_program_is_refused(program: Any, session: Session) -> None:
    info = generate(program)
    info.tables[0].preamble.name = "ingress.another"
    with pytest.raises(OfframpError, match=r"it has no table ingress\.another"):
        session.push(info.SerializeToString(), json.dumps(to_json(program)).encode())


def test_a_document_that_is_wrong_leaves_the_switch_as_it_was(program: Any, session: Session) -> None:
    info = generate(program).SerializeToString()
    document = to_json(program)
    session.push(info, json.dumps(document).encode())
    document["__meta__"]["version"] = [9, 9]
    with pytest.raises(OfframpError, match="version 9 of the format"):
        session.push(info, json.dumps(document).encode())
    session.push(info, json.dumps(to_json(program)).encode())


def test_a_psa_document_comes_with_its_p4info(session: Session) -> None:
    objects = """action to(bit<32> port) { send_to_port(o, (PortId_t)port); }
    Counter<bit<32>, bit<8>>(4, PSA_CounterType_t.BYTES) c;
    table t { key = { i.ingress_port : exact; h.w.a : optional; } actions = { to; NoAction; } }"""
    program = load_text(psa_program(objects=objects, body="t.apply(); c.count(1);"))
    info = generate(program)
    info.counters[0].preamble.id = 0x12345678
    session.push(info.SerializeToString(), json.dumps(to_json(program)).encode())
    pushed = session.pipeline()
    assert pushed.counters[0].preamble.id == 0x12345678
    assert [f.match_type for f in pushed.tables[0].match_fields] == [f.match_type for f in info.tables[0].match_fields]
