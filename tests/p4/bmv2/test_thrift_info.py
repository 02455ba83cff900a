# SPDX-License-Identifier: Apache-2.0
"""Ids and times that bmv2's service says of a switch, which is given here."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace
from typing import Any

import pytest

from offramp_p4_tools.dropin.thrift.info import Info
from offramp_p4_tools.dropin.thrift.services import RequestRefused

pytestmark = pytest.mark.p4

DOCUMENT = {
    "pipelines": [
        {"tables": [{"name": "I.t", "id": 3}], "action_profiles": [{"name": "I.p", "id": 4}]},
        {"tables": [{"name": "E.t", "id": 5}]},
    ],
    "counter_arrays": [{"name": "same", "id": 6}],
    "meter_arrays": [{"name": "same", "id": 7}],
    "register_arrays": [{"name": "same", "id": 8}],
    "learn_lists": [{"name": "l", "id": 9}],
}


@pytest.fixture
def info() -> Info:
    running: Any = SimpleNamespace(device=SimpleNamespace(now_ns=12_345_678_901))
    service = Info(running, SimpleNamespace(), 9090, {})  # type: ignore[arg-type]
    service._document = json.dumps(DOCUMENT)
    return service


@pytest.mark.each
@pytest.mark.parametrize(
    ("kind", "name", "number"),
    [(0, "I.t", 3), (0, "E.t", 5), (1, "I.p", 4), (2, "same", 6), (3, "same", 7), (4, "same", 8), (5, "l", 9)],
)
def test_ids_are_those_of_the_document(info: Info, kind: int, name: str, number: int) -> None:
    assert info.bm_get_id_from_name(kind, name) == number


@pytest.mark.parametrize(("kind", "name"), [(6, "I.t"), (0, "same"), (2, "I.t")])
def test_what_there_is_not_has_no_id(info: Info, kind: int, name: str) -> None:
    with pytest.raises(RequestRefused):
        info.bm_get_id_from_name(kind, name)


def test_times_are_in_microseconds(info: Info, monkeypatch: pytest.MonkeyPatch) -> None:
    assert info.get_time_elapsed_us() == 12_345_678
    monkeypatch.setattr(time, "time_ns", lambda: 1_700_000_000_123_456_789)
    assert info.get_time_since_epoch_us() == 1_700_000_000_123_456
