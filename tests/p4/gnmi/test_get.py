# SPDX-License-Identifier: Apache-2.0
"""Capabilities and Get without a wire: which leaves a path names, and how they are written.

Oracle: the specification's rules, written out for ports in memory; RFC 7951 for JSON_IETF. Blind to: faults of gRPC.
"""

from __future__ import annotations

import time
from typing import Any

import pytest

import frames
from gnmi_lab import Bench, refusal
from offramp_base.gnmi.paths import parse_path
from offramp_base.gnmi.schema import JSON, JSON_IETF, PROTO, gnmi
from offramp_p4_tools.gnmi import tree
from offramp_p4_tools.gnmi.model import LEAVES

pytestmark = pytest.mark.p4
UNICAST, GROUP, EVERYBODY = (bytes([first]) * 6 + bytes(58) for first in (0x02, 0x01, 0xFF))
NAME_1, NAME_2 = (f"/interfaces/interface[name={n}]" for n in (1, 2))
IFINDEX = {f"/interfaces/interface[name={n}]/state/ifindex" for n in (1, 2, 3)}


def test_capabilities(bench: Bench) -> None:
    reply = bench.service.unary("Capabilities", gnmi.CapabilityRequest())
    assert [model.name for model in reply.supported_models] == ["openconfig-interfaces", "openconfig-p4rt"]
    assert list(reply.supported_encodings) == [JSON, JSON_IETF, PROTO]
    assert reply.gNMI_version == "0.10.0"


def test_every_leaf_of_a_port(bench: Bench) -> None:
    got = bench.get(NAME_1, encoding=PROTO)
    assert set(got) == {f"{NAME_1}/{'/'.join(leaf.names)}" for leaf in LEAVES}
    below = {path.removeprefix(NAME_1): value for path, value in got.items()}
    expected: dict[str, Any] = {
        "/name": "1",
        "/config/name": "1",
        "/config/enabled": True,
        "/config/type": "iana-if-type:ethernetCsmacd",
        "/state/description": "link1",
        "/state/ifindex": 1,
        "/state/id": 1,
        "/state/oper-status": "UP",
        "/state/admin-status": "UP",
        "/state/counters/in-octets": 0,
    }
    assert {path: below[path] for path in expected} == expected
    assert abs(time.time_ns() - below["/state/last-change"]) < 60e9


def test_counters_are_those_of_the_frames(bench: Bench) -> None:
    bench.links[1].arriving = [UNICAST, UNICAST, UNICAST, GROUP, GROUP, EVERYBODY, b"\xff" * 5]
    batch = frames.arrived(bench.ports[1])
    bench.ports[2].send(batch)
    bench.links[1].stats.malformed, bench.links[1].stats.missed = 2, 4
    bench.links[2].stats.dropped, bench.links[2].stats.unfit = 7, 3
    of = {
        n: {k.rpartition("/")[2]: v for k, v in bench.get(f"/interfaces/interface[name={n}]/state/counters/*").items()}
        for n in (1, 2, 3)
    }
    arrived = {
        "in-octets": 6 * 64 + 5,
        "in-pkts": 9,
        "in-unicast-pkts": 4,
        "in-multicast-pkts": 2,
        "in-broadcast-pkts": 1,
        "in-discards": 4,
        "in-errors": 2,
    }
    left = {
        "out-octets": 6 * 64 + 5,
        "out-pkts": 7,
        "out-unicast-pkts": 4,
        "out-multicast-pkts": 2,
        "out-broadcast-pkts": 1,
        "out-discards": 4,
        "out-errors": 3,
    }
    assert of[1] == dict.fromkeys(of[1], 0) | arrived
    assert of[2] == dict.fromkeys(of[2], 0) | left
    assert set(of[3].values()) == {0}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/interfaces/interface[name=*]/state/ifindex", IFINDEX),
        ("/interfaces/interface/state/ifindex", IFINDEX),
        ("/*/*/state/ifindex", IFINDEX),
        ("/.../ifindex", IFINDEX),
        ("/.../interface[name=2]/.../ifindex", {"/interfaces/interface[name=2]/state/ifindex"}),
        ("/interfaces/*[name=2]/state/ifindex", {"/interfaces/interface[name=2]/state/ifindex"}),
        ("/interfaces/interface[name=2]/*/enabled", {f"{NAME_2}/{c}/enabled" for c in ("config", "state")}),
        ("/interfaces/interface[name=3]/config", {"/interfaces/interface[name=3]/config"}),
        ("/interfaces/interface", {f"/interfaces/interface[name={n}]" for n in (1, 2, 3)}),
        ("/interfaces", {"/interfaces"}),
        ("/", {"/"}),
        ("/...", {"/"}),
    ],
)  # fmt: skip
def test_wildcards(bench: Bench, path: str, expected: set[str]) -> None:
    assert set(bench.get(path)) == expected


def test_json_of_a_container_is_the_tree_below_it(bench: Bench) -> None:
    (config,) = bench.get(f"{NAME_1}/config").values()
    assert config == {
        "name": "1",
        "type": "iana-if-type:ethernetCsmacd",
        "description": "link1",
        "enabled": True,
        "id": 1,
    }
    (root,) = bench.get("/").values()
    assert [entry["name"] for entry in root["interfaces"]["interface"]] == ["1", "2", "3"]
    assert root["interfaces"]["interface"][0]["config"] == config


def test_json_ietf_is_as_rfc_7951_has_it(bench: Bench) -> None:
    (entry,) = bench.get(NAME_1, encoding=JSON_IETF).values()
    assert set(entry) == {f"openconfig-interfaces:{name}" for name in ("name", "config", "state")}
    state = entry["openconfig-interfaces:state"]
    assert state["openconfig-p4rt:id"] == 1  # of 32 bits: a number, of another module: with its name
    assert state["counters"]["in-octets"] == "0"  # of 64 bits: text
    assert bench.get(f"{NAME_1}/state/counters/in-octets", encoding=JSON_IETF).popitem()[1] == "0"
    assert bench.get(f"{NAME_1}/state/counters/in-octets").popitem()[1] == 0


@pytest.mark.parametrize(
    ("kind", "below"),
    [
        ("CONFIG", {"name", "config"}),
        ("STATE", {"state"}),
        ("OPERATIONAL", {"state"}),
        ("ALL", {"name", "config", "state"}),
    ],
)
def test_types_of_data(bench: Bench, kind: str, below: set[str]) -> None:
    (entry,) = bench.get(NAME_1, type=gnmi.GetRequest.DataType.Value(kind)).values()
    assert set(entry) == below
    if kind == "OPERATIONAL":
        assert "enabled" not in entry["state"]
        assert "oper-status" in entry["state"]


def test_models_restrict_what_there_is(bench: Bench) -> None:
    (entry,) = bench.get(NAME_1, use_models=[gnmi.ModelData(name="openconfig-p4rt")]).values()
    assert entry == {"config": {"id": 1}, "state": {"id": 1}}
    models = [gnmi.ModelData(name="openconfig-bgp")]
    assert refusal(bench.get, "/", use_models=models)[0] == "INVALID_ARGUMENT"


def test_one_notification_for_each_path_below_a_prefix_with_its_target(bench: Bench) -> None:
    prefix = parse_path("/interfaces/interface[name=2]", origin="openconfig")
    prefix.target = "leaf1"
    reply = bench.reply("/state/ifindex", "/config/enabled", "/state/ifindex", prefix=prefix, encoding=JSON)
    assert [len(each.update) for each in reply.notification] == [1, 1, 1]
    assert {(each.prefix.target, each.prefix.origin) for each in reply.notification} == {("leaf1", "openconfig")}
    assert not bench.reply("/", encoding=JSON).notification[0].HasField("prefix")


def test_ports_of_others_have_the_counts_that_they_have() -> None:
    bench = Bench((1,), ungated=(2,))
    (theirs,) = bench.get("/interfaces/interface[name=2]/state/counters").values()
    assert "in-pkts" in theirs
    assert "in-octets" not in theirs
    assert refusal(bench.get, "/interfaces/interface[name=2]/state/counters/in-octets")[0] == "NOT_FOUND"
    assert set(bench.get("/interfaces/interface/state/counters/in-octets")) == {f"{NAME_1}/state/counters/in-octets"}


def test_port_0_has_no_id_which_the_model_begins_with_1() -> None:
    assert refusal(Bench((0,)).get, "/interfaces/interface[name=0]/state/id")[0] == "NOT_FOUND"


DEEP = "/a" * 65


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/interfaces/interface[name=9]", "NOT_FOUND"),
        ("/interfaces/interface[name=]", "NOT_FOUND"),
        ("/interfaces/interface[name=1]/nothing", "UNIMPLEMENTED"),
        ("/system", "UNIMPLEMENTED"),
        ("/interfaces/interface[name=1]/state/ifindex/deeper", "UNIMPLEMENTED"),
        ("/interfaces/interface[port=1]", "INVALID_ARGUMENT"),
        ("/interfaces[name=1]", "INVALID_ARGUMENT"),
        ("/interfaces/...[name=1]", "INVALID_ARGUMENT"),
        (DEEP, "INVALID_ARGUMENT"),
    ],
)
def test_paths_that_lead_nowhere(bench: Bench, path: str, code: str) -> None:
    assert refusal(bench.get, path)[0] == code


def test_malformed_requests(bench: Bench) -> None:
    assert refusal(bench.reply)[0] == "INVALID_ARGUMENT"
    assert refusal(bench.get, "/", type=9)[0] == "INVALID_ARGUMENT"
    for encoding in (gnmi.Encoding.Value("BYTES"), gnmi.Encoding.Value("ASCII"), 77):
        code, message = refusal(bench.get, "/", encoding=encoding)
        assert (code, "not supported" in message) == ("UNIMPLEMENTED", True)
    cases = {
        "UNIMPLEMENTED": gnmi.Path(origin="cli"),
        "INVALID_ARGUMENT": gnmi.Path(element=["interfaces"]),
    }
    for code, path in cases.items():
        assert refusal(bench.service.unary, "Get", gnmi.GetRequest(path=[path]))[0] == code
    nameless = gnmi.Path(elem=[gnmi.PathElem(name="")])
    assert refusal(bench.service.unary, "Get", gnmi.GetRequest(path=[nameless]))[0] == "INVALID_ARGUMENT"
    targeted = gnmi.GetRequest(path=[gnmi.Path(target="x")])
    assert refusal(bench.service.unary, "Get", targeted)[0] == "INVALID_ARGUMENT"
    twice = gnmi.GetRequest(prefix=gnmi.Path(origin="openconfig"), path=[gnmi.Path(origin="openconfig")])
    assert refusal(bench.service.unary, "Get", twice)[0] == "INVALID_ARGUMENT"
    extended = gnmi.GetRequest(path=[gnmi.Path()])
    extended.extension.add().history.snapshot_time = 1
    assert refusal(bench.service.unary, "Get", extended)[0] == "UNIMPLEMENTED"


def test_a_request_for_too_much(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    assert refusal(bench.get, *["/"] * 1025)[0] == "RESOURCE_EXHAUSTED"
    monkeypatch.setattr(tree, "MOST_LEAVES", 3 * len(LEAVES))
    assert bench.get("/")
    assert refusal(bench.get, "/", "/")[0] == "RESOURCE_EXHAUSTED"


def test_many_wildcards_cost_no_more_than_a_few(bench: Bench) -> None:
    begin = time.process_time()
    assert bench.get("/..." * 31 + "/ifindex" + "/..." * 32)
    assert time.process_time() - begin < 5  # a search that goes back takes hours
