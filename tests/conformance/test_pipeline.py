# SPDX-License-Identifier: Apache-2.0
"""Loading pipelines (P4Runtime specification, sections 14 and 15)."""

from __future__ import annotations

import pytest

from frames import ethernet, mac
from offramp_base.errors import OfframpError
from offramp_base.p4rt.schema import v1
from offramp_base.p4rt.session import Session
from offramp_base.p4rt.status import RpcError


def test_pipeline_is_read_back(target, session):
    names = {t.preamble.name for t in session.pipeline().tables}
    assert names == {f"IngressImpl.{t}" for t in ("mac", "routes", "acl", "fixed")}


def test_pushing_again_clears_the_state(target, session):
    session.insert([session.table_entry("mac", {"hdr.ethernet.dst": mac(1)}, "drop")])
    session.push(*target._device_config())
    assert session.read_table("mac") == []


def test_cookie_comes_back(target, session):
    session.push(*target._device_config(), cookie=12345)
    request = v1.GetForwardingPipelineConfigRequest(
        device_id=session.device_id, response_type=v1.GetForwardingPipelineConfigRequest.COOKIE_ONLY
    )
    reply = session._call("GetForwardingPipelineConfig", request)
    assert reply.config.cookie.cookie == 12345


def test_refused_program_leaves_the_old_one(target, session):
    target.require("our error messages")
    target.open_all()
    session.insert([session.table_entry("mac", {"hdr.ethernet.dst": mac(1)}, "forward", {"port": 2})])
    with pytest.raises(RpcError, match=r"INVALID_ARGUMENT: .*device0.p4:1:1: error: "):
        session.push(b"", b"this is not a program")
    target.exchange(1, ethernet(dst=1))
    assert target.receive(2, 1) == [ethernet(dst=1)]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (b"", "p4_device_config is empty; this switch takes the text of a P4 program or bmv2's JSON"),
        (b"\xff\xfe", "p4_device_config is not text; this switch takes a P4 program or bmv2's JSON"),
        (b'{"program": 1}', "device0.p4: the document: 'headers' is missing"),
    ],
)
def test_golden_errors_of_the_device_config(target, session, config, message):
    target.require("our error messages")
    with pytest.raises(RpcError) as failure:
        session.push(b"", config)
    assert failure.value.message == f"switch {session.name}: {message}"


def test_p4info_of_another_program_is_refused(target, session):
    target.require("our error messages")
    info = session.pipeline()
    info.tables[0].preamble.name = "IngressImpl.other"
    with pytest.raises(RpcError, match=r"the P4Info is not of this program: it has no table IngressImpl.other with"):
        session.push(info, target.program.read_bytes())


def test_verify_saves_nothing_and_commit_needs_a_saved_one(target, session):
    target.require("our error messages")
    session.insert([session.table_entry("mac", {"hdr.ethernet.dst": mac(1)}, "drop")])
    session.push(b"", target.program.read_bytes(), action="VERIFY")
    assert len(session.read_table("mac")) == 1
    with pytest.raises(RpcError, match=r"NOT_FOUND: .*no configuration has been saved"):
        session.push(b"", b"", action="COMMIT")


def test_saved_pipeline_is_written_before_it_is_committed(target, session):
    target.require("our error messages")
    target.open_all()
    forward = {"hdr.ethernet.dst": mac(1)}
    session.insert([session.table_entry("mac", forward, "forward", {"port": 2})])
    session.push(b"", target.program.read_bytes(), action="VERIFY_AND_SAVE")
    session.insert([session.table_entry("mac", forward, "forward", {"port": 3})])
    target.exchange(1, ethernet(dst=1))
    assert target.receive(2, 1) == [ethernet(dst=1)]
    session.push(b"", b"", action="COMMIT")
    target.exchange(1, ethernet(dst=1))
    assert target.receive(3, 1) == [ethernet(dst=1)]


def test_backup_may_not_push(target, session):
    target.session()
    with pytest.raises(RpcError, match="PERMISSION_DENIED"):
        session.push(*target._device_config())


def test_version_is_told(target, session):
    assert session.capabilities().startswith("1.")


def test_no_answer_is_one_clear_line():
    with pytest.raises(OfframpError, match=r"^switch 127.0.0.1:1 does not answer: connection refused$"):
        Session("127.0.0.1:1", timeout_s=2).__enter__()
