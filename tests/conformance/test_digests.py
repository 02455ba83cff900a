# SPDX-License-Identifier: Apache-2.0
"""Digests: enabled by the controller, bundled, sent once until acknowledged (section 9.8)."""

from __future__ import annotations

from pathlib import Path

import pytest

from frames import ethernet
from offramp_base.p4rt.schema import v1
from offramp_base.p4rt.status import RpcError

PROGRAM = Path(__file__).with_name("digest.p4")
MS = 1_000_000


@pytest.fixture
def learning(make_target):
    target = make_target(PROGRAM, ports=4)
    target.open_all()
    return target, target.session()


def enable(session, **config):
    digest = session.index.digests["learn_t"].preamble.id
    entry = v1.DigestEntry(digest_id=digest, config=v1.DigestEntry.Config(**config))
    session.insert([v1.Entity(digest_entry=entry)])
    return digest


def addresses(message):
    return [int.from_bytes(data.struct.members[0].bitstring, "big") for data in message.data]


def test_nothing_is_sent_before_it_is_enabled(learning):
    target, session = learning
    target.exchange(1, ethernet(src=5))
    assert session.digest_list(0.1) is None


def test_fields_arrive_with_their_types(learning):
    target, session = learning
    digest = enable(session, max_list_size=1)
    target.exchange(3, ethernet(src=5, type=0x88AA))
    message = session.digest_list(5)
    assert message.digest_id == digest
    (data,) = message.data
    address, port, tagged = data.struct.members
    assert (address.bitstring, port.bitstring, tagged.bitstring) == (b"\x05", b"\x03", b"\x01")


def test_lists_are_bundled_and_distinct(learning):
    target, session = learning
    enable(session, max_list_size=3, max_timeout_ns=100 * MS)
    target.exchange(1, *(ethernet(src=s) for s in (1, 1, 2, 2, 3, 4)))
    lists = []
    while sum(map(len, lists)) < 4:
        lists.append(addresses(session.digest_list(5)))
    assert [a for part in lists for a in part] == [1, 2, 3, 4]
    if "exact digest lists" not in target.lacks:
        assert lists == [[1, 2, 3], [4]]


def test_what_is_not_acknowledged_is_not_sent_again(learning):
    target, session = learning
    digest = enable(session, max_list_size=1, ack_timeout_ns=300 * MS)
    target.exchange(1, ethernet(src=9))
    first = session.stream.next("digest", 5)
    target.exchange(1, ethernet(src=9))
    assert session.stream.next("digest", 0.05) is None
    session.stream.send(digest_ack=v1.DigestListAck(digest_id=digest, list_id=first.list_id))
    again = None
    while again is None:
        target.exchange(1, ethernet(src=9))
        again = session.stream.next("digest", 0.05)
    assert addresses(again) == [9]
    assert again.list_id != first.list_id


def test_disabled_digests_stop(learning):
    target, session = learning
    digest = enable(session, max_list_size=1)
    session.delete([v1.Entity(digest_entry=v1.DigestEntry(digest_id=digest))])
    target.exchange(1, ethernet(src=5))
    assert session.digest_list(0.1) is None
    with pytest.raises(RpcError, match="NOT_FOUND"):
        session.delete([v1.Entity(digest_entry=v1.DigestEntry(digest_id=digest))])
