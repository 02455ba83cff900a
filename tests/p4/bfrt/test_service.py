# SPDX-License-Identifier: Apache-2.0
"""The BF-RT service: who may write, what is all or nothing, what clients are told, and what it refuses."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from bfrt_requests import Requests, refused
from offramp_base.bfrt.schema import bf
from offramp_base.p4rt.status import RpcError
from offramp_p4.runtime.device import P4Device
from offramp_p4.switch import Switch
from offramp_p4_tools.bfrt.service import BfrtService
from tna_programs import packet, tna

pytestmark = pytest.mark.p4
EXACT = "pipe.I.exact"


@pytest.mark.parametrize("atomicity", ["ROLLBACK_ON_ERROR", "DATAPLANE_ATOMIC"])
def test_a_batch_that_fails_leaves_no_trace(bed, atomicity: str) -> None:
    c = bed.client
    c.insert(EXACT, {"hdr.h.a": 9}, "to", port=5, COUNTER_SPEC_PKTS=3)
    before = c.get(EXACT)
    updates = [
        ("MODIFY", c.entry(EXACT, {"hdr.h.a": 9}, "to", port=6)),
        ("INSERT", c.entry(EXACT, {"hdr.h.a": 10}, "to", port=6)),
        ("MODIFY", c.entry(EXACT, None, "to", port=9)),
        ("DELETE", c.entry(EXACT, {"hdr.h.a": 9})),
        ("INSERT", c.entry(EXACT, {"hdr.h.a": 10}, "to", port=7)),
    ]
    request = bf.WriteRequest(client_id=1, atomicity=bf.WriteRequest.Atomicity.Value(atomicity))
    request.target.pipe_id = 0
    for kind, entry in updates:
        request.updates.add(type=bf.Update.Type.Value(kind)).entity.table_entry.CopyFrom(entry)
    with pytest.raises(RpcError) as error:
        bed.service.write(request)
    assert [e.canonical_code for e in error.value.errors] == [10, 10, 10, 10, 6]
    assert c.get(EXACT) == before
    assert c.get(EXACT, default=True)[0]["action"] == "miss"


def test_errors_come_in_the_response_if_metadata_say_so(bed) -> None:
    request = bf.WriteRequest(client_id=1, updates=[bf.Update()])
    request.target.pipe_id = 0xFFFF
    assert [e.canonical_code for e in bed.service.write(request, {"error_in_resp": "1"}).status] == [3]


def test_one_client_is_in_charge(bed) -> None:
    with pytest.raises(RpcError, match="client 1 is bound to all already"):
        Requests(bed.service, client_id=2)
    stranger = bf.WriteRequest(client_id=77)
    with pytest.raises(RpcError, match="client 77 has not subscribed"):
        bed.service.write(stranger)
    bed.client.stream.close()
    again = Requests(bed.service, client_id=4)
    again.insert(EXACT, {"hdr.h.a": 9}, "to", port=5)


def test_what_is_wrong_with_entries(bed) -> None:
    c = bed.client
    entry = c.entry(EXACT, {"hdr.h.a": 9}, "to", port=5)

    def code(change: Callable[[bf.TableEntry], None]) -> str:
        message = bf.TableEntry()
        message.CopyFrom(entry)
        change(message)
        return refused(lambda: c.write("INSERT", message))

    def wide(e):
        e.data.fields[0].stream = b"\xff\xff"

    cases = [
        (lambda e: setattr(e, "table_id", 7), "NOT_FOUND"),
        (lambda e: setattr(e.data, "action_id", 7), "INVALID_ARGUMENT"),
        (lambda e: e.data.ClearField("fields"), "INVALID_ARGUMENT"),
        (lambda e: e.data.ClearField("action_id"), "INVALID_ARGUMENT"),
        (lambda e: e.ClearField("key"), "INVALID_ARGUMENT"),
        (lambda e: e.data.fields.append(e.data.fields[0]), "INVALID_ARGUMENT"),
        (lambda e: e.key.fields.append(e.key.fields[0]), "INVALID_ARGUMENT"),
        (lambda e: setattr(e.key.fields[0], "field_id", 9), "INVALID_ARGUMENT"),
        (lambda e: setattr(e.key.fields[0].exact, "value", b"\1\1"), "INVALID_ARGUMENT"),
        (lambda e: e.key.fields[0].ternary.SetInParent(), "INVALID_ARGUMENT"),
        (lambda e: setattr(e.data.fields[0], "str_val", "x"), "INVALID_ARGUMENT"),
        (lambda e: setattr(e, "handle_id", 99), "NOT_FOUND"),
        (wide, "INVALID_ARGUMENT"),
    ]
    assert [code(change) for change, _ in cases] == [wanted for _, wanted in cases]
    assert c.get(EXACT) == []


def test_handles_usage_and_ids_by_name(bed) -> None:
    c = bed.client
    c.insert(EXACT, {"hdr.h.a": 9}, "to", port=5)
    entry = c.entry(EXACT, {"hdr.h.a": 9})
    (entity,) = c.read(bf.Entity(handle=bf.HandleId(table_id=entry.table_id, key=entry.key)))
    by_handle = bf.TableEntry(table_id=entry.table_id, handle_id=entity.handle.handle_id)
    (read,) = c.read(bf.Entity(table_entry=by_handle))
    assert c.plain(EXACT, read.table_entry)["port"] == 5
    (usage,) = c.read(bf.Entity(table_usage=bf.TableUsage(table_id=entry.table_id)))
    assert usage.table_usage.usage == 1
    wanted = bf.ObjectId()
    wanted.table_object.table_name = EXACT
    wanted.table_object.key_field_name.field = "hdr.h.a"
    assert c.read(bf.Entity(object_id=wanted))[0].object_id.id == 1


def test_digests_are_told(bed) -> None:
    bed.send((1, packet(6, c=7)), (1, packet(6, c=8)))
    learned = [m.digest for m in bed.client.heard if m.HasField("digest")]
    values = [[int.from_bytes(f.stream, "big") for f in data.fields] for d in learned for data in d.data]
    assert values == [[6, 7], [6, 8]]
    assert learned[0].digest_id == bed.client.digests["pipe.ID.note"]["id"]


def test_idle_entries_are_told(bed) -> None:
    c = bed.client
    table = c.tables[EXACT]["id"]
    settings = bf.IdleTable(enable=True, idle_table_mode=1, ttl_query_interval=10, max_ttl=1000, min_ttl=1)
    c.write("INSERT", bf.TableAttribute(table_id=table, idle_table=settings))
    c.insert(EXACT, {"hdr.h.a": 9}, "to", port=5, ENTRY_TTL=30)
    assert refused(lambda: c.insert(EXACT, {"hdr.h.a": 8}, "to", port=5, ENTRY_TTL=5000)) == "INVALID_ARGUMENT"
    end = time.monotonic() + 10
    while not any(m.HasField("idle_timeout_notification") for m in c.heard) and time.monotonic() < end:
        time.sleep(0.005)
        bed.device.send_notices()
    (notice,) = (m.idle_timeout_notification for m in c.heard)
    assert c.plain(EXACT, notice.table_entry)["key"] == {"hdr.h.a": 9}
    assert c.get(EXACT)[0]["ENTRY_HIT_STATE"] == "ENTRY_IDLE"
    bed.send((1, packet(9)))
    assert c.get(EXACT)[0]["ENTRY_HIT_STATE"] == "ENTRY_ACTIVE"


def test_attributes_and_operations(bed) -> None:
    c = bed.client
    table = c.tables[EXACT]["id"]
    scope = bf.TableAttribute(table_id=table)
    scope.entry_scope.pipe_scope.predef = bf.Mode.SINGLE
    c.write("INSERT", scope)
    asked = bf.TableAttribute(table_id=table)
    asked.entry_scope.SetInParent()
    assert c.read(bf.Entity(table_attribute=asked))[0].table_attribute == scope
    scope.entry_scope.pipe_scope.user_defined = 3
    assert refused(lambda: c.write("INSERT", scope)) == "UNIMPLEMENTED"
    wrong = bf.TableAttribute(table_id=table)
    wrong.intvl_ms.intvl_val = 4
    assert refused(lambda: c.write("INSERT", wrong)) == "INVALID_ARGUMENT"
    c.write("INSERT", bf.TableOperation(table_id=table, table_operations_type="SyncCounters"))
    other = bf.TableOperation(table_id=table, table_operations_type="Explode")
    assert refused(lambda: c.write("INSERT", other)) == "INVALID_ARGUMENT"


def test_ports_and_the_device(bed) -> None:
    c = bed.client
    c.insert("$PORT", {"$DEV_PORT": 9}, SPEED="BF_SPEED_100G", PORT_ENABLE=True)
    (port,) = c.get("$PORT", {"$DEV_PORT": 9})
    assert (port["PORT_NAME"], port["PORT_UP"], port["TX_MTU"]) == ("3/1", True, 10240)
    assert c.get("$PORT_STR_INFO", {"$PORT_NAME": "3/1"})[0]["DEV_PORT"] == 9
    assert refused(lambda: c.insert("$PORT", {"$DEV_PORT": 8}, SPEED="FAST")) == "INVALID_ARGUMENT"
    assert refused(lambda: c.modify("$PORT", {"$DEV_PORT": 9}, PORT_UP=True)) == "INVALID_ARGUMENT"
    (device,) = c.get("tf1.dev.device_configuration", default=True)
    assert (device["num_pipes"], device["recirc_port_list"]) == (1, [68])


def test_a_switch_without_a_program_for_tofino() -> None:
    service = BfrtService(P4Device(0, Switch))
    heard: list = []
    stream = service.open_stream(heard.append, lambda _: None)
    stream.receive(bf.StreamMessageRequest(client_id=1, subscribe=bf.Subscribe(device_id=3)))
    assert (heard.pop().subscribe.status.message, stream.arbitrated) == ("no device 3; this switch is device 0", False)
    stream.receive(bf.StreamMessageRequest(client_id=1, subscribe=bf.Subscribe()))
    assert not heard.pop().subscribe.status.code
    bind = bf.SetForwardingPipelineConfigRequest(client_id=1)
    bind.config.add(p4_name="x")
    with pytest.raises(RpcError, match="no program 'x'; this switch runs no program"):
        service.set_pipeline(bind)
    bind.config.add(p4_name="y")
    with pytest.raises(RpcError, match="2 programs; a client binds to one"):
        service.set_pipeline(bind)
    del bind.config[1]
    bind.action = bf.SetForwardingPipelineConfigRequest.WARM_INIT_END
    with pytest.raises(RpcError, match="FAILED_PRECONDITION: no program has been begun"):
        service.set_pipeline(bind)


def test_counts_are_those_of_the_last_sync(bed) -> None:
    c = bed.client
    c.insert(EXACT, {"hdr.h.a": 9}, "to", port=5)
    bed.send((1, packet(9)))
    assert c.get(EXACT, from_hw=False)[0]["COUNTER_SPEC_PKTS"] == 0
    c.write("INSERT", bf.TableOperation(table_id=c.tables[EXACT]["id"], table_operations_type="SyncCounters"))
    assert c.get(EXACT, from_hw=False)[0]["COUNTER_SPEC_PKTS"] == 1
    bed.send((1, packet(9)))
    assert c.get(EXACT)[0]["COUNTER_SPEC_PKTS"] == 2


def test_hits_are_looked_for_when_asked(bed) -> None:
    c = bed.client
    table = c.tables[EXACT]["id"]
    c.write("INSERT", bf.TableAttribute(table_id=table, idle_table=bf.IdleTable(enable=True)))
    c.insert(EXACT, {"hdr.h.a": 9}, "to", port=5)
    look = bf.TableOperation(table_id=table, table_operations_type="UpdateHitState")
    states = []
    for hit in (False, True, False):
        if hit:
            bed.send((1, packet(9)))
        c.write("INSERT", look)
        states.append(c.get(EXACT)[0]["ENTRY_HIT_STATE"])
    assert states == ["ENTRY_IDLE", "ENTRY_ACTIVE", "ENTRY_IDLE"]


def test_a_push_has_one_program_of_one_profile() -> None:
    service = BfrtService(P4Device(0, Switch))
    stream = service.open_stream(lambda _: None, lambda _: None)
    stream.receive(bf.StreamMessageRequest(client_id=1, subscribe=bf.Subscribe()))
    request = bf.SetForwardingPipelineConfigRequest(client_id=1, action=bf.SetForwardingPipelineConfigRequest.VERIFY)
    with pytest.raises(RpcError, match="0 programs; this switch runs one at a time"):
        service.set_pipeline(request)
    config = request.config.add(p4_name="small")
    with pytest.raises(RpcError, match="expected one profile, whose binary is the text of a P4 program"):
        service.set_pipeline(request)
    config.profiles.add(binary=tna("tm.ucast_egress_port = 1;").encode())
    assert service.set_pipeline(request) == bf.SetForwardingPipelineConfigResponse()
    request.config.add(p4_name="another")
    with pytest.raises(RpcError, match="2 programs; this switch runs one at a time"):
        service.set_pipeline(request)
