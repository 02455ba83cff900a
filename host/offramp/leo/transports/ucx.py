# SPDX-License-Identifier: Apache-2.0
"""Rings in registered memory, written by UCX puts: RDMA on a NIC that has it, TCP or shared memory elsewhere.

The sides exchange address and key of their inboxes (specification section 7). A sender puts published bytes into the
peer's inbox, and after a fence their end position; a receiver puts the position up to which it has released bytes. UCX
chooses the transport; ``UCX_TLS`` and ``UCX_NET_DEVICES`` restrict it.

Only the inbox is registered: a line with the position that the peer has published, one with the position that it has
released, and the bytes of the ring that it fills. The peer may write all of that and nothing else. UCX itself has no
authentication and accepts anyone who reaches its sockets: between processes of one machine it is told to use the
loopback interface.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import struct
import time
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, Self

import numpy as np

from offramp.leo.native.mover import CLOSED, UCX, LinkMover
from offramp.leo.transports.greeting import parse_memory
from offramp.leo.transports.link import (
    TRANSPORTS,
    Fields,
    GreetingSocket,
    Guest,
    LinkDown,
    RequesterGreeting,
    check_ends,
)
from offramp.leo.transports.moving import Moving, function_address
from offramp_base.errors import OfframpError
from offramp_base.native.ring_end import RING_HEADER_WORDS, RingSide, Words, ring_words

_API: Final = 1, 10  # of ucp_init_version; later 1.x libraries take it
_RMA: Final = 1 << 1
_SERIALIZED: Final = 1
_PEER_ERRORS: Final = 1
_FORCE: Final = 1
_CHECKED: Final = 256
_TAIL_WORD: Final = RING_HEADER_WORDS // 2
_MOST_ERRORS: Final = 100
"""Size of the range of negative numbers that UCX returns as errors in place of a request."""
_IN_PROGRESS: Final = 1
_CONNECTED_S: Final = 1.0
_ARRIVED_S: Final = 0.25
_PADDING: Final = 4096
"""Zeros that follow an address or a key of the peer, since UCX reads them without knowing their length."""


@cache
def library() -> Any:
    """The UCP library.

    Raises:
        OfframpError: it is not installed.
    """
    name = ctypes.util.find_library("ucp") or "libucp.so.0"
    try:
        loaded = ctypes.CDLL(name)
    except OSError:
        raise OfframpError("transport ucx needs the library UCX: apt install libucx0") from None
    for name in ("ucp_ep_close_nbx", "ucp_ep_flush_nbx"):
        getattr(loaded, name).restype = ctypes.c_void_p
    return loaded


def _check(what: str, status: int) -> None:
    if status:
        text = library().ucs_status_string if hasattr(library(), "ucs_status_string") else None
        if text is not None:
            text.restype = ctypes.c_char_p
        raise OfframpError(f"ucx: {what}: {text(status).decode() if text else status}")


def _params(**words: Any) -> Any:
    """A parameter structure: its field mask and the words of the fields that the mask names, which come first."""
    return ctypes.create_string_buffer(struct.pack(f"<{len(words)}Q", *words.values()), 512)


_KEPT: Final[list[UcxLink]] = []
"""Links that could not be closed; they are kept for the rest of the process."""


@TRANSPORTS.register("ucx")
class UcxLink:
    """See the module; a :class:`offramp.leo.transports.link.Link`."""

    shared = False

    def __init__(self, ring_bytes: int, longest: int | None, *, local: bool) -> None:
        """Register memory for rings of ``ring_bytes``; ``local``: whether the peer is on this machine."""
        self._ucp, self._size, self._local = library(), ring_bytes, local
        self.control: GreetingSocket | None = None
        self._inbox = np.zeros(ring_words(ring_bytes), np.int64)
        tail = self._inbox[_TAIL_WORD : _TAIL_WORD + 1]
        own = np.zeros(2, np.int64)
        self.sent = RingSide(own[:1], tail, np.zeros(ring_bytes // 8, np.int64))
        self.received = RingSide(self._inbox[:1], own[1:], self._inbox[RING_HEADER_WORDS:], longest)
        self._base, self._calls = self._inbox.ctypes.data, 0
        self._moving: Moving | None = None
        self._closing: list[tuple[str, list[Any]]] = []
        self._connecting: int | None = None
        self._is_requester = False
        self._no_options = ctypes.create_string_buffer(256)
        self._peer, self._key = ctypes.c_void_p(), ctypes.c_void_p()
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    @classmethod
    def connect(cls, call: RequesterGreeting) -> tuple[Self, Fields]:
        """Exchange the addresses of registered memory with the greeting."""
        link = cls(call.ring_bytes, None, local=call.address.local)
        try:
            link.control, answer = call.dial(ucx=link.offer())
            link._is_requester = True
            try:
                link.attach(parse_memory(answer.get("ucx")))
            except ValueError as error:
                raise OfframpError(f"responder at {call.address}: its answer's field ucx: expected {error}") from None
        except BaseException:
            link.close()
            raise
        return link, answer

    @classmethod
    def accept(cls, guest: Guest) -> Self:
        """Connect to the requester's memory, and offer this side's.

        Raises:
            OfframpError: the responder serves other machines, for which UCX has no authentication; or UCX fails.
        """
        if not (guest.local or guest.insecure):
            raise OfframpError(
                "transport ucx: UCX has no authentication; a responder for other machines needs --insecure"
            )
        link = cls(guest.hello.ring_bytes, guest.hello.longest, local=guest.local)
        try:
            offered = link.offer()
            assert guest.hello.ucx is not None
            link.attach(guest.hello.ucx)
            link.control = guest.welcome(ucx=offered)
        except BaseException:
            link.close()
            raise
        return link

    def _open(self) -> None:
        self._context, self._worker, self._registered = (ctypes.c_void_p() for _ in range(3))
        config = ctypes.c_void_p()
        _check("configuration", self._ucp.ucp_config_read(None, None, ctypes.byref(config)))
        if self._local and not os.environ.get("UCX_NET_DEVICES"):
            _check("configuration", self._ucp.ucp_config_modify(config, b"NET_DEVICES", b"lo"))
        features = _params(mask=1, features=_RMA)
        status = self._ucp.ucp_init_version(*_API, features, config, ctypes.byref(self._context))
        self._ucp.ucp_config_release(config)
        _check("start", status)
        self._closing.append(("ucp_cleanup", [self._context]))
        mode = _params(mask=1, mode=_SERIALIZED)
        _check("worker", self._ucp.ucp_worker_create(self._context, mode, ctypes.byref(self._worker)))
        self._closing.append(("ucp_worker_destroy", [self._worker]))
        where = _params(mask=3, address=self._base, length=self._inbox.nbytes)
        _check("memory", self._ucp.ucp_mem_map(self._context, where, ctypes.byref(self._registered)))
        self._closing.append(("ucp_mem_unmap", [self._context, self._registered]))

    def offer(self) -> dict[str, Any]:
        """Description of this side's memory for the peer."""
        address, length = ctypes.c_void_p(), ctypes.c_size_t()
        _check("address", self._ucp.ucp_worker_get_address(self._worker, ctypes.byref(address), ctypes.byref(length)))
        worker = ctypes.string_at(address, length.value).hex()
        self._ucp.ucp_worker_release_address(self._worker, address)
        key, size = ctypes.c_void_p(), ctypes.c_size_t()
        packed = self._ucp.ucp_rkey_pack(self._context, self._registered, ctypes.byref(key), ctypes.byref(size))
        _check("key", packed)
        rkey = ctypes.string_at(key, size.value).hex()
        self._ucp.ucp_rkey_buffer_release(key)
        return {"worker": worker, "rkey": rkey, "base": self._base}

    def attach(self, offered: Mapping[str, Any]) -> None:
        """Connect to the peer's inbox (:func:`offramp.leo.transports.greeting.parse_memory`).

        Raises:
            OfframpError: UCX cannot reach it.
        """
        worker, rkey = offered["worker"], offered["rkey"]
        kept = ctypes.create_string_buffer(worker, len(worker) + _PADDING)
        where = _params(mask=3, address=ctypes.addressof(kept), errors=_PEER_ERRORS)
        _check("peer", self._ucp.ucp_ep_create(self._worker, where, ctypes.byref(self._peer)))
        self._closing.append(("ucp_ep_close_nbx", [self._peer, _params(mask=1 << 4 | _FORCE << 32)]))
        self._connecting = self._ucp.ucp_ep_flush_nbx(self._peer, self._no_options)
        key = ctypes.create_string_buffer(rkey, len(rkey) + _PADDING)
        _check("key", self._ucp.ucp_ep_rkey_unpack(self._peer, key, ctypes.byref(self._key)))
        self._closing.append(("ucp_rkey_destroy", [self._key]))
        functions = {
            LinkMover.progress: self._ucp.ucp_worker_progress,
            LinkMover.put: self._ucp.ucp_put_nbx,
            LinkMover.fence: self._ucp.ucp_worker_fence,
            LinkMover.check: self._ucp.ucp_request_check_status,
            LinkMover.free: self._ucp.ucp_request_free,
        }
        objects = {
            LinkMover.worker: self._worker.value or 0,
            LinkMover.peer: self._peer.value or 0,
            LinkMover.key: self._key.value or 0,
            LinkMover.options: ctypes.addressof(self._no_options),
            LinkMover.inbox: offered["base"],
        }
        numbers = {word: function_address(function) for word, function in functions.items()} | objects
        self._moving = Moving(UCX, self.sent, self.received, numbers)

    @property
    def mover(self) -> Words | None:
        """The record for compiled loops, once the peer's memory is reached; None before."""
        return None if self._moving is None else self._moving.words

    def pump(self) -> bool:
        """Put new bytes to the peer, and let UCX make progress."""
        self._calls += 1
        check_ends(self.sent, self.received)
        if self._calls % _CHECKED == 0 and self.control is not None and not self.control.alive():
            raise LinkDown("the peer has ended")
        assert self._moving is not None
        moved = self._moving()
        if fault := self._moving.fault:
            raise LinkDown(f"ucx: put failed ({fault})")
        return moved

    def _settled(self, request: int | None, seconds: float) -> bool:
        """Whether a request is carried out or fails within so many seconds; it is freed then."""
        if not request or request >= (1 << 64) - _MOST_ERRORS:
            return True
        end = time.monotonic() + seconds
        while self._ucp.ucp_request_check_status(ctypes.c_void_p(request)) == _IN_PROGRESS:
            if time.monotonic() > end:
                return False
            self._ucp.ucp_worker_progress(self._worker)
        self._ucp.ucp_request_free(ctypes.c_void_p(request))
        return True

    def close(self) -> None:
        """Release memory, worker and socket.

        UCX 1.13 aborts the process if an endpoint is closed while it connects, which takes messages of both sides over
        RDMA: an endpoint that has not connected within a second is kept, with its worker and the memory that the peer
        may write. UCX also aborts a responder that cannot tell a requester any more that bytes have arrived: a
        requester waits for that. A responder does not, since to listen to a requester that has gone may abort it.
        """
        if self._moving is not None:
            self._moving.stop(CLOSED)
        if not self._settled(self._connecting, _CONNECTED_S):
            _KEPT.append(self)
            self._closing.clear()
        elif self._closing and self._peer and self._is_requester:
            self._settled(self._ucp.ucp_ep_flush_nbx(self._peer, self._no_options), _ARRIVED_S)
        self._connecting = None
        while self._closing:
            name, args = self._closing.pop()
            getattr(self._ucp, name)(*args)
        if self.control is not None:
            self.control.close()
