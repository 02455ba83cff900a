# SPDX-License-Identifier: Apache-2.0
"""Moments of a request: pieces without gaps, and clocks that are compared by messages in both directions."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offramp.leo import hops
from offramp.leo.devices import open_device
from offramp.leo.devices.traced import TracedDevice
from offramp.leo.hops import HopMoment
from offramp_base.errors import OfframpError

times = st.lists(st.integers(0, 10**6), min_size=1, max_size=20)


@given(st.integers(-(10**12), 10**12), times, times)
def test_another_clock_is_found_within_what_is_said(ahead, there, back):
    """Whatever messages take in each direction, also where one of them is always slow."""
    sent = [(1000 * n, 1000 * n + took + ahead) for n, took in enumerate(there)]
    answers = [(1000 * n + ahead, 1000 * n + took) for n, took in enumerate(back)]
    offset, error = hops.offset_ns(sent, answers)
    assert abs(offset - ahead) <= error
    assert error == (min(there) + min(back)) / 2


def test_clocks_that_cannot_be_compared():
    with pytest.raises(OfframpError, match="messages in both directions"):
        hops.offset_ns([(0, 1)], [])
    with pytest.raises(OfframpError, match="came before they left"):
        hops.offset_ns([(5, 1)], [(5, 1)])


@given(st.lists(st.integers(0, 100)), st.integers(0, 40), st.integers(41, 100))
def test_pieces_fill_the_time_of_a_request(at, begun, ended):
    cut = hops.pieces([HopMoment(each, f"place {each}") for each in at], begun, ended, "first")
    assert (cut[0][0], cut[0][1], cut[-1][2]) == ("first", begun, ended)
    assert all(one[2] == other[1] for one, other in pairwise(cut))
    assert sum(end - begin for _, begin, end, _ in cut) == ended - begun
    assert len(cut) == 1 + sum(begun <= each < ended for each in at)


def test_a_device_notes_its_requests_where_anybody_wants_to_know(tmp_path, monkeypatch):
    plain = open_device("cpu:1", "card")
    assert not isinstance(plain, TracedDevice)
    plain.close()
    monkeypatch.setenv(hops.FOLDER, str(tmp_path))
    monkeypatch.setenv(hops.SIDE, "requester")
    hops.recorder.cache_clear()
    try:
        device = open_device("cpu:1", "card")
        device.submit("echo", 1, b"x" * 9)
        while not device.poll():
            pass
        device.close()
        [noted] = hops.read(tmp_path, "requester")
    finally:
        hops.recorder().close()
        hops.recorder.cache_clear()
    assert noted.boot == hops.boot()
    assert [each.where for each in noted.moments] == ["card", "requester"]
    assert noted.moments[0].note == {"function": "echo", "bytes": 9}
    trace = hops.chrome_trace(hops.pieces(noted.moments, 0, 1 << 62, "requester"), ("requester", "card"), "r")
    assert [event["name"] for event in trace["traceEvents"] if event["ph"] == "X"] == ["requester", "card", "requester"]


@pytest.mark.parametrize("text", ["", "[]", "x", json.dumps({"boot": "b"}) + "\n{}"])
def test_notes_that_are_none(tmp_path, text):
    (tmp_path / "requester-1.jsonl").write_text(text)
    with pytest.raises(OfframpError, match="no moments"):
        hops.read(tmp_path, "requester")
