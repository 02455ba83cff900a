# SPDX-License-Identifier: Apache-2.0
"""Clients of switches whose servers send what they like: one line each, in bounded time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from offramp.bfrt.info import BfrtInfo
from offramp.bfrt.session import BfrtSession
from offramp_base.bfrt.schema import bf, rpc
from offramp_base.errors import OfframpError
from offramp_base.p4rt.connection import GrpcConnection
from offramp_base.p4rt.schema import v1

Answer = Callable[[str, grpc.ServicerContext], Iterator[bytes]]
NOISE = b"\xff\xff\xff\xff\x0f" * 20


@contextmanager
def server(folder: Path, answer: Answer) -> Iterator[str]:
    """Any method, with raw bytes."""

    class Handler(grpc.GenericRpcHandler):
        def service(self, details: Any) -> grpc.RpcMethodHandler:
            name = details.method.rsplit("/", 1)[-1]

            def stream(_: Any, context: grpc.ServicerContext) -> Iterator[bytes]:
                yield from answer(name, context)

            def unary(_: Any, context: grpc.ServicerContext) -> bytes:
                return next(answer(name, context))

            if name == "StreamChannel":
                return grpc.stream_stream_rpc_method_handler(stream)
            return (
                grpc.unary_stream_rpc_method_handler(stream)
                if name == "Read"
                else grpc.unary_unary_rpc_method_handler(unary)
            )

    running = grpc.server(futures.ThreadPoolExecutor(4), handlers=[Handler()], options=[("grpc.so_reuseport", 0)])
    address = f"unix:{folder / 'switch'}"
    running.add_insecure_port(address)
    running.start()
    try:
        yield address
    finally:
        running.stop(0).wait()


def abort(context: grpc.ServicerContext, details: bytes) -> None:
    context.set_trailing_metadata((("grpc-status-details-bin", details),))
    context.abort(grpc.StatusCode.INVALID_ARGUMENT, "no\nway\x1b[2J")


def subscribed() -> bytes:
    answer = bf.StreamMessageResponse()
    answer.subscribe.status.code = 0
    return bytes(answer.SerializeToString())


def silent(name: str, context: grpc.ServicerContext) -> Iterator[bytes]:
    while context.is_active():
        time.sleep(0.01)
    yield b""


def wrong_details(name: str, context: grpc.ServicerContext) -> Iterator[bytes]:
    status = rpc.Status()
    status.details.add(type_url="type.googleapis.com/bfrt_proto.Error", value=NOISE)
    abort(context, status.SerializeToString())
    yield b""


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        (silent, "does not answer within 2 s"),
        (lambda name, context: iter(()), "no answer to its subscription"),
        (lambda name, context: iter([b""]), "no answer to its subscription"),
        (lambda name, context: iter([NOISE]), "INTERNAL: "),
        (lambda name, context: iter([bytes(65 << 20)]), "RESOURCE_EXHAUSTED: "),
        (lambda name, context: abort(context, NOISE), "INVALID_ARGUMENT: no way"),
        (wrong_details, "INVALID_ARGUMENT: no way"),
    ],
)
def test_a_bfrt_server_that_subscribes_nobody(
    tmp_path: Path, answer: Answer, line: str, caplog: pytest.LogCaptureFixture
) -> None:
    begun = time.monotonic()
    with (
        server(tmp_path, answer) as address,
        pytest.raises(OfframpError) as refusal,
        BfrtSession(address, "program", timeout_s=2),
    ):
        pass
    assert line in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert "\x1b" not in str(refusal.value)
    assert time.monotonic() - begun < 60
    assert not [record for record in caplog.records if record.exc_info]


INFO = (
    b'{"tables": [{"name": "c", "id": 1, "size": 4, "key": [{"name": "$COUNTER_INDEX", "id": 1, "type": {"type": '
    b'"uint32"}}], "data": [{"singleton": {"name": "$COUNTER_SPEC_PKTS", "id": 2, "type": {"type": "uint64"}}}]}]}'
)


@pytest.mark.parametrize("index", [None, b"\4", b"\xff" * 100])
def test_a_bfrt_server_that_counts_what_nobody_asked_for(tmp_path: Path, index: bytes | None) -> None:
    def answer(name: str, context: grpc.ServicerContext) -> Iterator[bytes]:
        if name == "StreamChannel":
            yield subscribed()
            yield from silent(name, context)
        elif name == "GetForwardingPipelineConfig":
            reply = bf.GetForwardingPipelineConfigResponse()
            reply.config.add(p4_name="program", bfruntime_info=INFO)
            yield reply.SerializeToString()
        else:
            reply = bf.ReadResponse()
            entry = reply.entities.add().table_entry
            entry.table_id = 1
            if index is not None:
                entry.key.fields.add(field_id=1).exact.value = index
            yield reply.SerializeToString()

    with server(tmp_path, answer) as address, BfrtSession(address, "program", timeout_s=5) as session:
        session.bind()
        with pytest.raises(OfframpError, match="counter c: the device answers with an index that was not asked for"):
            session.read_counter("c", 4)


@pytest.mark.parametrize(
    "text", [b"[" * 100_000, b"[]", b'{"tables": [1]}', b'{"tables": 1}', b"\xff", b'{"tables":[{}]}']
)
def test_descriptions_that_are_none(text: bytes) -> None:
    with pytest.raises(OfframpError, match=r"^bf-rt.json: [^\n]*$"):
        BfrtInfo.parse(text)


@pytest.mark.parametrize("answer", [wrong_details, lambda name, context: iter([NOISE])])
def test_a_p4runtime_server_that_answers_noise(tmp_path: Path, answer: Answer) -> None:
    with server(tmp_path, answer) as address:
        connection = GrpcConnection(address)
        calls = [
            lambda: connection.unary("Write", v1.WriteRequest(), 5),
            lambda: list(connection.read(v1.ReadRequest(), 5)),
            lambda: list(connection.stream(iter([v1.StreamMessageRequest()]))),
        ]
        for call in calls:
            with pytest.raises(OfframpError) as refusal:
                call()
            assert "\n" not in str(refusal.value)
            assert "\x1b" not in str(refusal.value)
        connection.close()
