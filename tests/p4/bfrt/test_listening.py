# SPDX-License-Identifier: Apache-2.0
"""The BF-RT listener, and clients that mean it no good: one status each, and the next client is served.

Oracle: an honest client's session afterwards. Blind spot: floods that fill the machine.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from bfrt_device import BfrtDevice, bfrt_device
from offramp.bfrt.session import BfrtSession
from offramp_base.bfrt.schema import SERVICE, bf
from offramp_base.errors import OfframpError
from offramp_p4.runtime import calls
from offramp_p4.runtime.device import P4Device
from offramp_p4.runtime.server import Server
from offramp_p4.settings import Settings
from offramp_p4.switch import Switch
from offramp_p4_tools.bfrt.service import BfrtService

pytestmark = pytest.mark.p4


@pytest.fixture
def device(tmp_path: Path, program) -> Iterator[BfrtDevice]:
    with bfrt_device(tmp_path, program) as running:
        yield running


@pytest.fixture
def channel(device: BfrtDevice) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(device.address, [("grpc.use_local_subchannel_pool", 1)]) as opened:
        yield opened


def serves(device: BfrtDevice) -> None:
    with BfrtSession(device.address, "all", client_id=50) as session:
        session.bind()
        assert "pipe.I.exact" in session.info


def test_it_is_off_unless_asked_for() -> None:
    assert Settings().bfrt is None


def test_a_unix_socket_is_this_user_s_alone(device: BfrtDevice) -> None:
    assert stat.S_IMODE(Path(device.address.removeprefix("unix:")).stat().st_mode) == 0o600


def test_other_machines_need_certificates_or_a_word() -> None:
    with pytest.raises(OfframpError, match="other machines reach this address"):
        Server(BfrtService(P4Device(0, Switch)), "0.0.0.0:0")


@pytest.mark.parametrize("method", ["Write", "Read", "SetForwardingPipelineConfig", "StreamChannel"])
def test_garbage_is_said_to_be_garbage(device: BfrtDevice, channel: grpc.Channel, method: str) -> None:
    with pytest.raises(grpc.RpcError) as error:
        list(channel.stream_stream(f"/{SERVICE}/{method}")(iter([b"\xff" * 30]), timeout=5))
    assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    serves(device)


def test_a_message_that_is_too_large_is_refused(device: BfrtDevice, channel: grpc.Channel) -> None:
    with pytest.raises(grpc.RpcError) as error:
        channel.unary_unary(f"/{SERVICE}/Write")(bytes(5 << 20), timeout=5)
    assert error.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    serves(device)


def test_a_stream_that_never_subscribes_is_ended(
    device: BfrtDevice, channel: grpc.Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "SILENT_S", 0.2)
    refused = bf.StreamMessageRequest(client_id=1, subscribe=bf.Subscribe(device_id=9)).SerializeToString()

    def forever() -> Iterator[bytes]:
        yield refused
        ended.wait(10)

    from threading import Event

    ended = Event()
    answers = channel.stream_stream(f"/{SERVICE}/StreamChannel")(forever(), timeout=10)
    assert bf.StreamMessageResponse.FromString(next(answers)).subscribe.status.code == 5
    with pytest.raises(grpc.RpcError) as error:
        next(answers)
    ended.set()
    assert error.value.code() == grpc.StatusCode.CANCELLED
    assert device.server.refusals.counts == {"a silent call": 1}
    serves(device)


def test_there_is_a_limit_to_clients(device: BfrtDevice) -> None:
    device.service.limit(2)
    sessions = [BfrtSession(device.address, "all", client_id=n).__enter__() for n in range(2)]
    with (
        pytest.raises(OfframpError, match="more than 2 clients"),
        BfrtSession(device.address, "all", client_id=9),
    ):
        pass
    for session in sessions:
        session.close()
