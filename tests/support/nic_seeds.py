# SPDX-License-Identifier: Apache-2.0
"""Seeds of each fuzzer: inputs in the form that it reads them, of which it makes others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from nic_agent import job_of
from nic_vectors import all_vectors
from offramp.allreduce.numbers import CODES, EXPONENT_BIAS
from offramp.allreduce.tensor_sum import WILD
from offramp.allreduce.wire import ALLREDUCE
from offramp.allreduce.wire import AllReducePacketType as Sum
from offramp.nic import wire
from offramp.switch_packets import PREFIX_BYTES
from offramp.switchgnn import worker_plans
from offramp.switchgnn.local_block import PlanShare
from offramp.switchgnn.wire import DATA_FRAME_BYTES, NO_ID, SHORT_FRAME_BYTES, SWITCHGNN, SwitchGnnPacketType

_MOST = 4096


def write_seeds(name: str, folder: Path) -> None:
    """Files of the corpus of a fuzzer."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(_SEEDS[name]()):
        (folder / f"seed-{number}").write_bytes(seed)


def _packets() -> Iterator[bytes]:
    """An exchange of one block, and one of each kind of packet; see ``smartnic/fuzz/packet.cpp``."""

    def frame(kind: SwitchGnnPacketType, size: int = 16, **fields: int) -> bytes:
        flags = {"is_ack": kind >> 2, "is_fetch": kind >> 1 & 1, "resend": kind & 1}
        header = SWITCHGNN.pack({**fields, **flags}, 1).tobytes()
        return bytes([size]) + header.ljust(size, b"\1")

    full = DATA_FRAME_BYTES - PREFIX_BYTES
    go = [frame(SwitchGnnPacketType.DONE, src_id=NO_ID, round=number) for number in range(1, 5)]
    results = [
        frame(SwitchGnnPacketType.DATA, full, src_id=NO_ID, dst_id=vertex, block_id=3, count=2, chunk_id=chunk, round=1)
        for vertex in (1, 5)
        for chunk in (0, 1)
    ]
    yield b"".join([go[0], *results, go[1]])
    for kind in SwitchGnnPacketType:
        size = (
            full if kind in (SwitchGnnPacketType.DATA, SwitchGnnPacketType.RESEND) else SHORT_FRAME_BYTES - PREFIX_BYTES
        )
        for source, target in ((2, 1), (2, NO_ID), (1, 2)):
            asked = frame(kind, size, src_id=source, dst_id=target, block_id=3, count=1, round=1)
            yield go[0] + asked + asked + go[1]


def _messages() -> Iterator[bytes]:
    """The control protocol's messages, and requests to every offload; see ``smartnic/fuzz/control.cpp``."""
    bodies = {
        wire.ControlMessageType.HELLO: wire.HELLO.pack(wire.VERSION),
        wire.ControlMessageType.MAP: wire.MAP.pack(4096),
        wire.ControlMessageType.QUEUE: wire.QUEUE.pack(0, 64, 0),
        wire.ControlMessageType.TABLES: wire.TABLES.pack(0, wire.NicFunction.KVS_LOOKUP, 0, 0, 0, 1024, 16, 0, 0, 0),
        wire.ControlMessageType.TRANSPORT: wire.TRANSPORT.pack(
            0, 0, 0, 0, 0, 256, 64, 4096, 0, 10**6, 10**7, 10**9, 0, 1e11, 0.1, 0.1, 1
        ),
        wire.ControlMessageType.STATS: b"",
        wire.ControlMessageType.COFLOWS: wire.COFLOWS.pack(0, 0, 0, 2, 0, 46, 64, 10**6, 0.1, 1),
        wire.ControlMessageType.RANK: wire.RANK.pack(0, 0, 1, 4, 0x5EED, 1, 4, 128, 10**8, 10**10, 0.1, 1),
    }
    for kind, body in bodies.items():
        yield bytes([0, kind, kind == wire.ControlMessageType.MAP, 0]) + body
    for vector in all_vectors(1):
        if len(vector.message) < _MOST:
            yield bytes([128, vector.function, 255, 0]) + vector.message


def _plans() -> Iterator[bytes]:
    """Plans of small jobs."""
    for seed in range(4):
        job, _ = job_of(seed, workers=2 + seed % 2, width=40 * (seed % 2 + 1))
        for worker in range(2):
            text = worker_plans.write([PlanShare(plan, worker) for plan in job.plans])
            yield text
            yield text[:12] + b"\xff\xff\xff\x7f" + text[16:]  # more rows than there are


def _coflows() -> Iterator[bytes]:
    """A message out in order and one in, READY, DATA and DONE of them; see ``smartnic/fuzz/coflows.cpp``."""
    head = wire.COFLOW.pack(1, 10, 1, 1, 1, 1, 1, 2, 0) + bytes(8)
    lists = [(1, 0, 3000), (2, 4000, 1500), (1, 0, 1408), (1, 1408, 1592)]
    request = head + b"".join(wire.TRANSFER.pack(peer, 0, start, length) for peer, start, length in lists)

    def step(kind: int, content: bytes) -> bytes:
        return bytes([kind]) + len(content).to_bytes(2, "big") + content

    def frame(kind: int, rank: int, start: int, stop: int, total: int, payload: bytes = b"") -> bytes:
        numbers = b"".join(number.to_bytes(8, "big") for number in (start, stop, total))
        return step(2, bytes([kind, 0, 0, rank, 0, 0, 0, 1]) + numbers + payload)

    data = [frame(0, 2, at, stop, 1500, bytes(stop - at)) for at, stop in ((0, 1408), (1408, 1500))]
    ready, again = frame(1, 1, 0, 3000, 3000), frame(1, 1, 1408, 2816, 3000)
    yield b"".join([step(0, request), ready, *data, again, frame(2, 1, 0, 3000, 3000)])
    yield b"".join([ready, step(0, request), *data[::-1], *data])


def _sums() -> Iterator[bytes]:
    """A tensor of each type, its sums in order and out of it, and a PULL; see ``smartnic/fuzz/sums.cpp``."""

    def frame(kind: Sum, chunk: int, exponent: int = 0, flags: int = 0) -> bytes:
        fields = {"chunk": chunk, "kind": kind, "exponent": exponent, "flags": flags, "present": 5}
        header = ALLREDUCE.pack(fields, 1).tobytes()
        return bytes([len(header)]) + header

    for type_ in CODES.values():
        exponent = EXPONENT_BIAS if type_ <= CODES["bfloat16"] else 40
        for flags in (0, WILD):
            sums = [frame(Sum.RESULT, chunk, exponent, flags) for chunk in range(60)]
            for order in (sums, [sums[0], *sums[:0:-1]], [sums[0], *(3 * sums[5:])]):
                yield bytes([type_ - 1, 9, 7]) + b"".join([frame(Sum.PULL, 0), *order])


_SEEDS = {"packet": _packets, "control": _messages, "plans": _plans, "coflows": _coflows, "sums": _sums}
