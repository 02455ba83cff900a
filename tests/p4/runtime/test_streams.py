# SPDX-License-Identifier: Apache-2.0
"""StreamChannel (sections 5.3, 16 and 16.6): what ends a stream, and what is reported on it."""

from __future__ import annotations

import threading

import pytest

from frames import ethernet
from offramp_base.p4rt.schema import v1, wellknown
from offramp_base.p4rt.status import Code, RpcError


@pytest.fixture
def stream(plain_lab):
    """A stream of its own, primary of the role "x", and what it has heard."""
    heard = []
    end = plain_lab.service.open_stream(heard.append)
    end.receive(arbitration(role="x"))
    heard.clear()
    return end, heard


def arbitration(device=0, election=1, role=""):
    update = v1.MasterArbitrationUpdate(device_id=device, election_id=v1.Uint128(low=election))
    update.role.name = role
    return v1.StreamMessageRequest(arbitration=update)


def ends_with(end, request):
    with pytest.raises(RpcError) as failure:
        end.receive(request)
    return failure.value.code


def test_what_ends_a_stream(plain_lab, stream):
    end, _ = stream
    fresh = plain_lab.service.open_stream(lambda _: None)
    assert ends_with(fresh, arbitration(device=7)) is Code.NOT_FOUND
    assert ends_with(fresh, arbitration(role="x")) is Code.INVALID_ARGUMENT
    assert ends_with(end, arbitration(device=7, role="x")) is Code.FAILED_PRECONDITION
    assert ends_with(end, arbitration(role="y")) is Code.FAILED_PRECONDITION


def packet(plain_lab, **metadata):
    out = v1.PacketOut(payload=ethernet())
    for number, value in metadata.items():
        out.metadata.add(metadata_id=int(number[1:]), value=value)
    return v1.StreamMessageRequest(packet=out)


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"_1": b"2"}, "packet_out: metadata pad is missing"),
        ({"_1": b"2", "_2": b"\x80"}, "packet_out: metadata pad: 0x80 does not fit 7 bits"),
        ({"_1": b"2", "_2": b"\x01", "_3": b"\0"}, "packet_out has no metadata field with id 3"),
    ],
)
def test_packet_out_that_does_not_fit_is_reported_and_dropped(plain_lab, stream, metadata, message):
    end, heard = stream
    request = packet(plain_lab, **metadata)
    end.receive(request)
    (response,) = heard
    assert (response.error.canonical_code, response.error.message) == (Code.INVALID_ARGUMENT, message)
    assert response.error.packet_out.packet_out == request.packet
    assert plain_lab.sent == []


def test_packet_out_of_a_backup_is_reported_and_dropped(plain_lab, stream):
    _, heard = stream
    backup = plain_lab.service.open_stream(heard.append)
    backup.receive(arbitration(election=0, role="x"))
    heard.clear()
    backup.receive(packet(plain_lab, _1=b"2", _2=b"\x01"))
    assert heard[0].error.canonical_code == Code.PERMISSION_DENIED
    assert heard[0].error.WhichOneof("details") == "packet_out"
    assert plain_lab.sent == []


def test_acknowledgement_of_no_digest_is_reported(stream):
    end, heard = stream
    end.receive(v1.StreamMessageRequest(digest_ack=v1.DigestListAck(digest_id=5)))
    assert heard[0].error.canonical_code == Code.INVALID_ARGUMENT
    assert heard[0].error.WhichOneof("details") == "digest_list_ack"


def test_messages_of_another_kind_are_reported(stream):
    end, heard = stream
    end.receive(v1.StreamMessageRequest(other=wellknown.Any(type_url="x/y")))
    end.receive(v1.StreamMessageRequest())
    assert [h.error.canonical_code for h in heard] == [Code.INVALID_ARGUMENT] * 2
    assert [h.error.WhichOneof("details") for h in heard] == ["other"] * 2


def test_a_new_primary_waits_for_the_writes_of_the_old_one(plain_lab):
    heard = []
    end = plain_lab.service.open_stream(heard.append)
    with plain_lab.device.control():  # as a Write holds it
        thread = threading.Thread(target=end.receive, args=(arbitration(election=9),))
        thread.start()
        thread.join(0.2)
        assert thread.is_alive()
        assert heard == []
    thread.join(5)
    assert heard[0].arbitration.status.code == Code.OK


def test_capabilities(plain_lab):
    assert plain_lab.service.capabilities(v1.CapabilitiesRequest()).p4runtime_api_version == "1.5.0"
    with pytest.raises(RpcError) as failure:
        plain_lab.service.capabilities(v1.CapabilitiesRequest(device_id=7))
    assert failure.value.code is Code.NOT_FOUND
