# SPDX-License-Identifier: Apache-2.0
"""The run-time message classes: golden bytes of the wire format, written out by hand from the specification.

Cannot see: a field that neither these bytes nor bmv2 (tests/conformance) exercises.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from offramp_base.errors import OfframpError
from offramp_base.p4rt import p4info, schema
from offramp_base.p4rt.schema import config, rpc, v1, wellknown


def test_golden_write_request():
    request = v1.WriteRequest(device_id=3, election_id=v1.Uint128(low=1))
    update = request.updates.add(type=v1.Update.INSERT)
    entry = update.entity.table_entry
    entry.table_id = 0x02000001
    entry.match.add(field_id=1).lpm.CopyFrom(v1.FieldMatch.LPM(value=b"\x0a", prefix_len=8))
    entry.action.action.action_id = 0x01000002
    entry.action.action.params.add(param_id=1, value=b"\x05")
    entry.priority = -1
    assert request.SerializeToString().hex() == (
        "0803"  # device_id = 3
        "1a021001"  # election_id { low: 1 }
        "2231"  # updates {
        "0801"  # type: INSERT
        "122d"  # entity {
        "122b"  # table_entry {
        "0881808010"  # table_id
        "1209080122050a010a1008"  # match { field_id: 1 lpm { value: 0a prefix_len: 8 } }
        "1a0e0a0c0882808008"  # action { action { action_id
        "220510011a0105"  # params { param_id: 1 value: 05 } } }
        "20ffffffffffffffffff01"  # priority: -1
    )


def test_golden_stream_and_config():
    reply = v1.StreamMessageResponse(packet=v1.PacketIn(payload=b"ab", metadata=[v1.PacketMetadata(metadata_id=2)]))
    assert reply.SerializeToString().hex() == "12080a02616212020802"
    info = config.P4Info()
    info.type_info.new_types["t"].translated_type.sdn_bitwidth = 9
    assert info.SerializeToString().hex() == "c20c0b3a090a0174120412021009"
    assert v1.CapabilitiesResponse(experimental=wellknown.Any()).SerializeToString().hex() == "ba3e00"


def test_enums_and_oneofs():
    assert (v1.Update.DELETE, config.P4Ids.DIGEST, config.MatchField.OPTIONAL) == (3, 0x17, 6)
    assert v1.SetForwardingPipelineConfigRequest.RECONCILE_AND_COMMIT == 5
    entity = v1.Entity(counter_entry=v1.CounterEntry())
    entity.register_entry.register_id = 1
    assert entity.WhichOneof("entity") == "register_entry"


def test_errors_travel_inside_a_status():
    packed = wellknown.Any()
    packed.Pack(v1.Error(canonical_code=6, message="twice"))
    status = rpc.Status.FromString(rpc.Status(code=2, details=[packed]).SerializeToString())
    unpacked = v1.Error()
    assert status.details[0].type_url == "type.googleapis.com/p4.v1.Error"
    assert status.details[0].Unpack(unpacked)
    assert unpacked.message == "twice"


def test_lives_beside_another_copy_of_the_messages():
    """Another package registers p4.v1 in protobuf's default pool: ours is a pool of its own."""
    code = (
        "from google.protobuf import descriptor_pb2, descriptor_pool\n"
        "f = descriptor_pb2.FileDescriptorProto(name='p4/v1/p4runtime.proto', package='p4.v1')\n"
        "f.message_type.add(name='TableEntry')\n"
        "descriptor_pool.Default().AddSerializedFile(f.SerializeToString())\n"
        "from offramp_base.p4rt.schema import v1\n"
        "print(v1.TableEntry(table_id=1).table_id)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"


def test_unknown_message_is_named():
    with pytest.raises(AttributeError, match=r"no message p4.v1.TableEnty"):
        schema.v1.TableEnty  # noqa: B018


@pytest.mark.parametrize("value", ["4294967296", "-1", "99999999999999999999"])
def test_a_number_that_its_field_cannot_hold_is_refused_in_one_line(value: str) -> None:
    with pytest.raises(OfframpError, match=r"^P4Info: [^\n]*$"):
        p4info.parse(f"tables {{ preamble {{ id: {value} }} }}")
