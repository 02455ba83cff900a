# SPDX-License-Identifier: Apache-2.0
"""A reliable queue pair: writes into a peer's memory, each announced by a message with a frame's header."""

from __future__ import annotations

import ctypes
import errno
import math
import os
import secrets
import struct
from typing import TYPE_CHECKING, Any, Final

from offramp.hermod.endhost.rdma.gids import gid_of
from offramp.hermod.endhost.rdma.library import (
    VerbsCompletion,
    VerbsPiece,
    VerbsQueuePairAttributes,
    VerbsQueuePairInit,
    VerbsReceive,
    VerbsSend,
    check_zero,
    library,
    pointer_or_raise,
)
from offramp.hermod.endhost.rdma.wire import QueuePairAddress, RemoteMemory
from offramp.hermod.endhost.wire import HEADER_BYTES

if TYPE_CHECKING:
    from offramp.hermod.endhost.priorities import CoflowPriority
    from offramp.hermod.endhost.rdma.port import RdmaPort, RegisteredMemory

DEPTH: Final = 64
"""Messages for which a receiver has room; a sender has one on its way, and repeats one that finds none."""
_RELIABLE: Final = 2
_INIT, _RTR, _RTS = 1, 2, 3
_STATE, _ACCESS, _PKEY, _PORT, _AV, _PATH_MTU = 1, 1 << 3, 1 << 4, 1 << 5, 1 << 7, 1 << 8
_TIMEOUT, _RETRIES, _RNR, _RQ_PSN, _SQ_READS, _RNR_TIMER = 1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 15
_SQ_PSN, _DEST_READS, _DEST_NUMBER = 1 << 16, 1 << 17, 1 << 20
_LOCAL_WRITE, _REMOTE_WRITE = 1, 2
_WRITE, _SEND = 0, 2
_SIGNALED: Final = 1 << 1
_RECEIVED: Final = 1 << 7
_HOPS: Final = 64
_FLUSHED: Final = 5
_RETRY_COUNT: Final = 7
_ALWAYS: Final = 7
_RNR_5_MS: Final = 17
_TICK_S: Final = 4.096e-6


class QueuePair:
    """One end, with a channel that becomes readable when something is complete.

    Attributes:
        number, first: its number, and that of the first packet that it sends.
    """

    def __init__(self, port: RdmaPort) -> None:
        verbs = library()
        self._port = port
        self._pair: Any = None
        self._queue: Any = None
        self._channel: Any = None
        self._slots = bytearray((DEPTH + 1) * HEADER_BYTES)
        self._memory: RegisteredMemory | None = None
        self._completion = VerbsCompletion()
        self.first = secrets.randbits(24)
        try:
            self._channel = pointer_or_raise(verbs.ibv_create_comp_channel(port.context), "rdma: completion channel")
            os.set_blocking(self._channel.contents.fd, False)
            self._queue = pointer_or_raise(
                verbs.ibv_create_cq(port.context, DEPTH + 4, None, self._channel, 0), "rdma: completion queue"
            )
            init = VerbsQueuePairInit(send_cq=self._queue, recv_cq=self._queue, qp_type=_RELIABLE)
            init.cap.max_send_wr, init.cap.max_recv_wr = 4, DEPTH
            init.cap.max_send_sge = init.cap.max_recv_sge = 1
            self._pair = pointer_or_raise(verbs.ibv_create_qp(port.domain, init), "rdma: queue pair")
            self._memory = port.register(memoryview(self._slots), writable=True)
            start = VerbsQueuePairAttributes(qp_state=_INIT, port_num=port.number, qp_access_flags=_REMOTE_WRITE)
            self._modify(start, _STATE | _PKEY | _PORT | _ACCESS)
            for slot in range(DEPTH):
                self._post_receive(slot)
            self._arm()
        except BaseException:
            self.close()
            raise
        self.number = int(self._pair.contents.qp_num)

    def fileno(self) -> int:
        """Descriptor of the channel."""
        return int(self._channel.contents.fd)

    def address(self, mark: CoflowPriority) -> QueuePairAddress:
        """What the other end has to know."""
        return QueuePairAddress(self.number, self.first, mark.dscp, mark.queue)

    def connect(self, host: str, other: QueuePairAddress, mtu: int, dead_s: float) -> None:
        """Connect with a queue pair of a host; packets carry its class from the first one on.

        Args:
            host: IP address of the other port.
            other: the other end.
            mtu: the smaller of both ports' ``mtu``.
            dead_s: seconds of silence after which the connection is lost, to within a factor of two.

        Raises:
            OfframpError: there is no way to the host.
        """
        ready = VerbsQueuePairAttributes(
            qp_state=_RTR, path_mtu=mtu, dest_qp_num=other.number, rq_psn=other.first, max_dest_rd_atomic=1,
            min_rnr_timer=_RNR_5_MS,
        )  # fmt: skip
        route = ready.ah_attr
        route.grh.dgid[:] = struct.unpack("=QQ", gid_of(host))
        route.grh.sgid_index, route.grh.hop_limit = self._port.gid_index, _HOPS
        route.grh.traffic_class = other.mark.traffic_class
        route.sl, route.is_global, route.port_num = other.level, 1, self._port.number
        self._modify(ready, _STATE | _AV | _PATH_MTU | _DEST_NUMBER | _RQ_PSN | _DEST_READS | _RNR_TIMER, host)
        sending = VerbsQueuePairAttributes(
            qp_state=_RTS, sq_psn=self.first, timeout=timeout_of(dead_s), retry_cnt=_RETRY_COUNT, rnr_retry=_ALWAYS,
            max_rd_atomic=1,
        )  # fmt: skip
        self._modify(sending, _STATE | _TIMEOUT | _RETRIES | _RNR | _SQ_PSN | _SQ_READS, host)

    def write(self, memory: RegisteredMemory, start: int, count: int, remote: RemoteMemory, header: bytes) -> None:
        """Write ``count`` bytes from ``start`` on to the same place in the remote memory; then the header as a message.

        Raises:
            OSError: the queue pair is lost.
        """
        piece = VerbsPiece(memory.address + start, count, memory.local_key)
        data = VerbsSend(sg_list=ctypes.addressof(piece), num_sge=1, opcode=_WRITE)
        data.remote_addr, data.rkey = remote.address + start, remote.key
        self._post_send(header, data)

    def say(self, header: bytes) -> None:
        """Send a message.

        Raises:
            OSError: the queue pair is lost.
        """
        self._post_send(header, None)

    def completed(self) -> tuple[int, list[bytes]]:
        """The number of messages that have reached the other end, and the headers of those that came, in order.

        When there is none the channel becomes readable with the next.

        Raises:
            OSError: the queue pair is lost; ECONNABORTED: the other end, or something before, is to blame.
        """
        verbs, queue, context = library(), ctypes.c_void_p(), ctypes.c_void_p()
        while verbs.ibv_get_cq_event(self._channel, queue, context) == 0:
            verbs.ibv_ack_cq_events(self._queue, 1)
        sent, received = self._poll()
        if not sent and not received:
            self._arm()
            sent, received = self._poll()
        return sent, received

    def close(self) -> None:
        """Give everything back; the other end is not told."""
        verbs = library()
        if self._pair is not None:
            verbs.ibv_destroy_qp(self._pair)
        if self._queue is not None:
            verbs.ibv_destroy_cq(self._queue)
        if self._channel is not None:
            verbs.ibv_destroy_comp_channel(self._channel)
        if self._memory is not None:
            self._memory.close()
        self._pair = self._queue = self._channel = self._memory = None

    def _modify(self, attributes: VerbsQueuePairAttributes, mask: int, host: str = "") -> None:
        what = f"rdma: queue pair to {host}" if host else "rdma: queue pair"
        check_zero(library().ibv_modify_qp(self._pair, attributes, mask), what)

    def _slot(self, slot: int, count: int = HEADER_BYTES) -> VerbsPiece:
        assert self._memory is not None
        return VerbsPiece(self._memory.address + slot * HEADER_BYTES, count, self._memory.local_key)

    def _post_receive(self, slot: int) -> None:
        piece = self._slot(slot)
        request = VerbsReceive(wr_id=slot, sg_list=ctypes.addressof(piece), num_sge=1)
        _check_posted(self._port.operations.post_recv(self._pair, request, ctypes.c_void_p()))

    def _post_send(self, header: bytes, first: VerbsSend | None) -> None:
        self._slots[DEPTH * HEADER_BYTES :] = header  # the message before has arrived
        piece = self._slot(DEPTH)
        message = VerbsSend(
            wr_id=DEPTH, sg_list=ctypes.addressof(piece), num_sge=1, opcode=_SEND, send_flags=_SIGNALED
        )  # fmt: skip
        if first is not None:
            first.next = ctypes.addressof(message)
        _check_posted(self._port.operations.post_send(self._pair, first or message, ctypes.c_void_p()))

    def _arm(self) -> None:
        _check_posted(self._port.operations.req_notify_cq(self._queue, 0))

    def _poll(self) -> tuple[int, list[bytes]]:
        sent, received, entry = 0, [], self._completion
        for _ in range(DEPTH):
            count = self._port.operations.poll_cq(self._queue, 1, entry)
            if count == 0:
                break
            if count < 0:
                raise OSError(errno.EIO, "its completion queue is lost")
            if entry.status:
                number = errno.ECONNABORTED if entry.status == _FLUSHED else errno.EIO
                raise OSError(number, library().ibv_wc_status_str(entry.status).decode())
            if entry.wr_id == DEPTH:
                sent += 1
            else:
                start = entry.wr_id * HEADER_BYTES
                received.append(bytes(self._slots[start : start + entry.byte_len]))
                self._post_receive(int(entry.wr_id))
        return sent, received


def timeout_of(dead_s: float) -> int:
    """The exponent of a queue pair's timeout, with which its retries take about ``dead_s`` together."""
    return min(31, max(1, round(math.log2(dead_s / (_RETRY_COUNT + 1) / _TICK_S))))


def _check_posted(status: int) -> None:
    if status:
        raise OSError(status, os.strerror(abs(status)))
