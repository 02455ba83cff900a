# SPDX-License-Identifier: Apache-2.0
"""Election of the primary controller (P4Runtime specification, section 5)."""

from __future__ import annotations

import time

import pytest

from frames import mac
from offramp_base.errors import OfframpError
from offramp_base.p4rt.session import Session
from offramp_base.p4rt.status import Code, RpcError


def entry(session, port=1):
    return session.table_entry("mac", {"hdr.ethernet.dst": mac(1)}, "forward", {"port": port})


def becomes(session, code):
    deadline = time.monotonic() + 5
    while session.stream.status()[0] != code and time.monotonic() < deadline:
        time.sleep(0.01)
    return session.stream.status()[0] == code


@pytest.mark.smoke
def test_higher_election_id_takes_over(target):
    first = target.session()
    second = target.session()
    second.insert([entry(second)])
    assert becomes(first, Code.ALREADY_EXISTS)
    with pytest.raises(RpcError, match="PERMISSION_DENIED"):
        first.insert([entry(first, 2)])


def test_lower_election_id_is_told_that_another_is_primary(target):
    first = target.session()
    with pytest.raises(OfframpError, match=r"another controller is primary \(election id \d+; ours is 0\)"):
        Session(target._connect(), election_id=0).__enter__()
    first.insert([entry(first)])


def test_backups_hear_that_the_primary_left(target):
    target.require("P4Runtime 1.3 arbitration")
    backup = target.session()
    primary = target.session()
    assert becomes(backup, Code.ALREADY_EXISTS)
    primary.close()
    assert becomes(backup, Code.NOT_FOUND)


def test_reading_needs_no_election(target, session):
    session.insert([entry(session)])
    reader = Session(target._connect())
    try:
        assert len(reader.read_table("mac")) == 1
    finally:
        reader.close()


def test_unknown_device_is_refused(target, session):
    other = Session(target._connect(), device_id=77)
    with pytest.raises(OfframpError, match=r"NOT_FOUND|FAILED_PRECONDITION"):
        other.pipeline()
    other.close()
