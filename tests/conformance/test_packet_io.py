# SPDX-License-Identifier: Apache-2.0
"""Packets between the controller and the CPU port."""

from __future__ import annotations

import itertools

import pytest

from frames import ethernet
from offramp_base.errors import OfframpError


def test_punted_packet_reaches_the_controller_with_metadata(target, session):
    target.open_all()
    session.insert([session.table_entry("acl", {"hdr.ethernet.src": 0x77}, "punt", priority=1)])
    frame = ethernet(dst=1, src=0x77) + b"to the controller"
    target.exchange(3, frame)
    assert session.packet_in(5) == (frame, {"ingress_port": 3, "reason": 3})
    assert session.packet_in(0.1) is None


def test_packet_out_leaves_by_the_named_port(target, session):
    target.open_all()
    frame = ethernet(dst=9) + b"from the controller"
    session.packet_out(frame, {"egress_port": 4, "padding": 0})
    assert target.receive(4, 1) == [frame]
    assert target.silent(1)


def test_many_packets_in_keep_their_order(target, session):
    target.open_all()
    session.insert([session.table_entry("acl", {}, "punt", priority=1)])
    frames = [ethernet(src=i) + bytes(20) for i in range(30)]
    target.exchange(2, *frames)
    got = list(itertools.islice(iter(lambda: session.packet_in(2), None), len(frames)))
    assert [payload for payload, _ in got] == frames


def test_packet_out_metadata_is_checked_by_name(session):
    with pytest.raises(OfframpError, match="packet_out: metadata padding is missing"):
        session.packet_out(b"", {"egress_port": 1})
    with pytest.raises(OfframpError, match="packet_out has no field 'port'; it has egress_port, padding"):
        session.packet_out(b"", {"port": 1})


def test_packet_out_of_a_backup_is_refused(target, session):
    target.require("our error messages")
    newer = target.session()
    session.packet_out(ethernet(), {"egress_port": 1, "padding": 0})
    error = session.stream.next("error", 5)
    assert (error.canonical_code, error.message) == (7, "only the primary controller may send packets")
    assert error.packet_out.packet_out.payload == ethernet()
    assert newer.stream.next("error", 0.05) is None
