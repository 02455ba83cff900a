# SPDX-License-Identifier: Apache-2.0
"""Registers over P4Runtime, which bmv2 does not serve."""

from __future__ import annotations

import pytest

from frames import ethernet
from offramp_base.p4rt.status import RpcError


@pytest.fixture(autouse=True)
def _registers(target):
    target.require("registers")


def test_data_plane_and_controller_share_the_cells(target, session):
    target.open_all()
    session.insert([session.table_entry("acl", {}, "mark", {"index": 0}, priority=1)])
    target.exchange(3, ethernet(), ethernet())
    assert target.silent(1)
    assert session.read_register("arrivals", 3) == {3: 2}
    session.write_register("arrivals", 3, 0xFFFFFFFF)
    target.exchange(3, ethernet())
    assert target.silent(1)
    assert session.read_register("arrivals", 3) == {3: 0}


def test_whole_array_at_once(session):
    session.write_register("arrivals", None, 5)
    assert session.read_register("arrivals") == dict.fromkeys(range(16), 5)


def test_index_and_value_are_checked(session):
    with pytest.raises(RpcError, match=r"OUT_OF_RANGE: register IngressImpl.arrivals: index 16 is outside 0..15"):
        session.write_register("arrivals", 16, 1)
    with pytest.raises(RpcError, match=r"INVALID_ARGUMENT: register IngressImpl.arrivals: index -1 is negative"):
        session.write_register("arrivals", -1, 1)
    assert session.read_register("arrivals") == dict.fromkeys(range(16), 0)
