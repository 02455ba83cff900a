# SPDX-License-Identifier: Apache-2.0
"""Set without a wire: what each operation does to the ports, all of it or nothing.

Oracle: whether frames pass the ports afterwards. Blind to: faults of gRPC; test_traffic.py has a whole switch.
"""

from __future__ import annotations

from typing import Any

import pytest

from frames import arrived
from gnmi_lab import Bench, json_value, refusal, truth
from offramp_base.gnmi.paths import parse_path
from offramp_base.gnmi.schema import TypedValue, gnmi

pytestmark = pytest.mark.p4
PORT = "/interfaces/interface[name={}]"
ENABLED = PORT + "/config/enabled"


def passing(bench: Bench) -> dict[int, bool]:
    """Whether a frame gets through each port, in both directions alike."""
    out = {}
    for number, port in bench.ports.items():
        link = bench.links[number]
        link.arriving.append(bytes(64))
        came = len(arrived(port))
        before = len(link.left)
        frame = bench.links[number]
        frame.arriving.append(bytes(64))
        port.send(arrived(frame))
        assert came == len(link.left) - before
        out[number] = bool(came)
    assert out == bench.enabled()
    return out


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (ENABLED.format(2), truth(False)),
        (ENABLED.format(2), json_value("false")),
        (ENABLED.format(2), TypedValue(json_val=b"false")),
        (PORT.format(2) + "/config", json_value('{"enabled": false}')),
        (PORT.format(2) + "/config", json_value('{"openconfig-interfaces:enabled": false, "name": "2"}')),
        (PORT.format(2), json_value('{"config": {"enabled": false, "openconfig-p4rt:id": 2}}')),
        ("/interfaces", json_value('{"interface": [{"name": "2", "config": {"enabled": false}}]}')),
        ("/", json_value('{"interfaces": {"interface": [{"name": "2", "config": {"enabled": false}}]}}')),
    ],
)  # fmt: skip
def test_update_disables_a_port(bench: Bench, path: str, value: Any) -> None:
    reply = bench.set(update=[(path, value)])
    assert [(each.op, each.path) for each in reply.response] == [(gnmi.UpdateResult.UPDATE, parse_path(path))]
    assert passing(bench) == {1: True, 2: False, 3: True}
    state = bench.get(PORT.format(2) + "/state").popitem()[1]
    assert (state["admin-status"], state["oper-status"], state["enabled"]) == ("DOWN", "DOWN", False)
    assert state["counters"]["in-discards"] == state["counters"]["out-discards"] == 1
    bench.set(update=[(ENABLED.format(2), truth(True))])
    assert passing(bench) == {1: True, 2: True, 3: True}
    counters = bench.get(PORT.format(2) + "/state/counters").popitem()[1]
    assert (counters["in-discards"], counters["interface-transitions"]) == (1, 2)


@pytest.fixture
def dark(bench: Bench) -> Bench:
    """All ports disabled."""
    bench.panel.enable({1: False, 2: False, 3: False})
    return bench


@pytest.mark.parametrize(
    ("path", "value", "enabled"),
    [
        (PORT.format(1), json_value('{"name": "1"}'), {1: True, 2: False, 3: False}),
        (PORT.format(1) + "/config", json_value("{}"), {1: True, 2: False, 3: False}),
        (PORT.format(1) + "/config/name", json_value('"1"'), {1: False, 2: False, 3: False}),
        (
            "/interfaces",
            json_value('{"interface": [{"name": "3", "config": {"enabled": false}}]}'),
            {1: True, 2: True, 3: False},
        ),
    ],
)
def test_replace_gives_the_rest_its_default(dark: Bench, path: str, value: Any, enabled: dict[int, bool]) -> None:
    dark.set(replace=[(path, value)])
    assert passing(dark) == enabled


@pytest.mark.parametrize(
    ("path", "enabled"),
    [
        (ENABLED.format(1), {1: True, 2: False, 3: False}),
        (ENABLED.format("*"), {1: True, 2: True, 3: True}),
        (PORT.format(2), {1: False, 2: True, 3: False}),
        ("/", {1: True, 2: True, 3: True}),
        (PORT.format(9), {1: False, 2: False, 3: False}),
    ],
)
def test_delete_brings_the_default_back(dark: Bench, path: str, enabled: dict[int, bool]) -> None:
    dark.set(delete=[path])
    assert passing(dark) == enabled


def test_first_what_is_deleted_then_replaced_then_updated(bench: Bench) -> None:
    reply = bench.set(
        update=[(ENABLED.format(1), truth(False))],
        replace=[(ENABLED.format(1), truth(True)), (ENABLED.format(2), truth(False))],
        delete=[ENABLED.format(2)],
    )
    assert passing(bench) == {1: False, 2: False, 3: True}
    assert [each.op for each in reply.response] == [1, 2, 2, 3]


@pytest.mark.parametrize(
    ("path", "value", "code"),
    [
        (ENABLED.format(9), truth(False), "NOT_FOUND"),
        (ENABLED.format("*"), truth(False), "INVALID_ARGUMENT"),
        ("/interfaces/interface/config/enabled", truth(False), "INVALID_ARGUMENT"),
        ("/interfaces/.../enabled", truth(False), "NOT_FOUND"),
        ("/system", truth(False), "NOT_FOUND"),
        (PORT.format(1) + "/nothing", truth(False), "NOT_FOUND"),
        (PORT.format(1) + "/state/enabled", truth(False), "INVALID_ARGUMENT"),
        (PORT.format(1) + "/config/name", TypedValue(string_val="x"), "INVALID_ARGUMENT"),
        (PORT.format(1) + "/config/id", TypedValue(uint_val=7), "INVALID_ARGUMENT"),
        (ENABLED.format(1), TypedValue(uint_val=0), "INVALID_ARGUMENT"),
        (ENABLED.format(1), json_value("0"), "INVALID_ARGUMENT"),
        (ENABLED.format(1), json_value("null"), "INVALID_ARGUMENT"),
        (ENABLED.format(1), json_value("nothing"), "INVALID_ARGUMENT"),
        (ENABLED.format(1), TypedValue(), "INVALID_ARGUMENT"),
        (ENABLED.format(1), TypedValue(ascii_val="false"), "UNIMPLEMENTED"),
        (PORT.format(1), json_value("{}"), "INVALID_ARGUMENT"),
        (PORT.format(1), json_value("[]"), "INVALID_ARGUMENT"),
        (PORT.format(1), json_value('{"name": "2"}'), "INVALID_ARGUMENT"),
        (PORT.format(1), json_value('{"config": {"mtu": 9}}'), "INVALID_ARGUMENT"),
        (PORT.format(1), json_value('{"name": "1", "openconfig-interfaces:name": "1"}'), "INVALID_ARGUMENT"),
        (PORT.format(1), json_value('{"other:config": {}}'), "INVALID_ARGUMENT"),
        ("/interfaces", json_value('{"interface": {}}'), "INVALID_ARGUMENT"),
        ("/interfaces", json_value('{"interface": [{"config": {}}]}'), "INVALID_ARGUMENT"),
        ("/interfaces", json_value('{"interface": [{"name": "9"}]}'), "NOT_FOUND"),
        ("/", json_value("[" * 100_000), "INVALID_ARGUMENT"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_leaves_all_as_it_is(bench: Bench, path: str, value: Any, code: str) -> None:
    code_sent, message = refusal(bench.set, update=[(ENABLED.format(3), truth(False)), (path, value)])
    assert code_sent == code
    assert message.isprintable()
    assert passing(bench) == {1: True, 2: True, 3: True}


def test_what_is_not_offered(bench: Bench) -> None:
    union = [gnmi.Update(path=parse_path(ENABLED.format(1)), val=truth(False))]
    assert refusal(bench.set, union_replace=union)[0] == "UNIMPLEMENTED"
    assert refusal(bench.set, delete=[PORT.format(1) + "/state/enabled"])[0] == "INVALID_ARGUMENT"
    assert refusal(bench.set, delete=["/"] * 10_001)[0] == "RESOURCE_EXHAUSTED"
    assert passing(bench) == {1: True, 2: True, 3: True}


def test_a_port_whose_frames_go_elsewhere_cannot_be_disabled() -> None:
    bench = Bench((1,), ungated=(2,))
    code, message = refusal(bench.set, update=[(ENABLED.format(n), truth(False)) for n in (1, 2)])
    assert (code, "port 2 cannot be disabled" in message) == ("FAILED_PRECONDITION", True)
    assert bench.enabled() == {1: True, 2: True}
    bench.set(update=[(ENABLED.format(2), truth(True))])


def test_the_rest_of_the_switch_sees_the_link_go_down(bench: Bench) -> None:
    bench.set(update=[(ENABLED.format(2), truth(False))])
    assert [bench.device.environment.links.up(number) for number in (1, 2, 3)] == [True, False, True]


def test_a_member_that_stands_there_twice_is_named_in_part(bench: Bench) -> None:
    long = "n" * 100
    value = json_value(f'{{"{long}": 1, "openconfig-interfaces:{long}": 2}}')
    code, message = refusal(bench.set, update=[(PORT.format(2) + "/config", value)])
    assert code == "INVALID_ARGUMENT"
    assert f"{'n' * 80!r} stands there twice" in message
    code, message = refusal(bench.set, update=[(PORT.format(2) + "/config", json_value('{"enabled": fals'))])
    assert (code, "the value is not JSON: " in message) == ("INVALID_ARGUMENT", True)
    assert passing(bench) == {1: True, 2: True, 3: True}
