# SPDX-License-Identifier: Apache-2.0
"""A port of an RDMA device: memory that it may access, and queue pairs."""

from __future__ import annotations

import ctypes
import threading
from typing import Any, Final

import numpy as np

from offramp.hermod.endhost.rdma.gids import GidPlace, find_gid
from offramp.hermod.endhost.rdma.library import VerbsOperations, VerbsPort, check_zero, library, pointer_or_raise
from offramp.hermod.endhost.rdma.queue_pair import QueuePair
from offramp_base.errors import OfframpError

LOCAL_WRITE: Final = 1
REMOTE_WRITE: Final = 2
_ACTIVE: Final = 4


class RegisteredMemory:
    """Memory that the port may access until it is closed; keeps the memory alive.

    Attributes:
        address: address of the first byte.
        local_key, remote_key: keys for this port's own accesses, and for a peer's.
    """

    def __init__(self, port: RdmaPort, view: memoryview, *, writable: bool) -> None:
        array = np.frombuffer(view, np.uint8)
        self.address, self._kept, self._port = int(array.ctypes.data), array, port
        access = LOCAL_WRITE | REMOTE_WRITE if writable else 0
        self._memory = pointer_or_raise(
            library().ibv_reg_mr(port.domain, self.address, len(array), access),
            f"rdma: registering {len(array)} bytes (ulimit -l)",
        )
        self.local_key, self.remote_key = int(self._memory.contents.lkey), int(self._memory.contents.rkey)

    def close(self) -> None:
        """End the access, before the memory is used for something else."""
        if self._port.forget(self):
            library().ibv_dereg_mr(self._memory)


class RdmaPort:
    """The port of a RoCE v2 device that has one of this machine's addresses.

    Args:
        address: IP address of the port.

    Attributes:
        mtu: number of the largest packets that it takes: 1 for 256 bytes to 5 for 4096.
        most: bytes of the largest message.

    Raises:
        OfframpError: libibverbs is missing, no device has the address, or it is not active or not ours.
    """

    def __init__(self, address: str) -> None:
        verbs, place = library(), find_gid(address)
        self.number, self.gid_index = place.port, place.index
        self._lock = threading.Lock()
        self._registered: set[RegisteredMemory] = set()
        self.context = _open(place.device)
        self.domain: Any = None
        try:
            state = _active_port(self.context, place)
            self.mtu, self.most = int(state.active_mtu), int(state.max_msg_sz)
            self.operations = VerbsOperations(self.context)
            self.domain = pointer_or_raise(verbs.ibv_alloc_pd(self.context), f"rdma: {place.device}")
        except BaseException:
            self.close()
            raise

    def register(self, view: memoryview, *, writable: bool) -> RegisteredMemory:
        """Let the port read memory, or also let peers that have its key write it.

        Raises:
            OfframpError: the system allows no more.
        """
        memory = RegisteredMemory(self, view, writable=writable)
        with self._lock:
            self._registered.add(memory)
        return memory

    def forget(self, memory: RegisteredMemory) -> bool:
        """Strike registered memory out; whether it was not yet."""
        with self._lock:
            if memory not in self._registered:
                return False
            self._registered.remove(memory)
            return True

    def queue_pair(self) -> QueuePair:
        """A new queue pair, not connected.

        Raises:
            OfframpError: the device has no more.
        """
        return QueuePair(self)

    def close(self) -> None:
        """Give everything back; after the queue pairs."""
        for memory in list(self._registered):
            memory.close()
        if self.domain:
            library().ibv_dealloc_pd(self.domain)
            self.domain = None
        if self.context:
            library().ibv_close_device(self.context)
            self.context = None


def _active_port(context: Any, place: GidPlace) -> VerbsPort:
    state = VerbsPort()
    check_zero(library().ibv_query_port(context, place.port, state), f"rdma: port {place.port} of {place.device}")
    if state.state != _ACTIVE:
        raise OfframpError(f"rdma: port {place.port} of {place.device} is not active")
    return state


def _open(name: str) -> Any:
    verbs, count = library(), ctypes.c_int()
    devices = pointer_or_raise(verbs.ibv_get_device_list(count), "rdma: devices")
    try:
        for device in ctypes.cast(devices, ctypes.POINTER(ctypes.c_void_p))[: count.value]:
            if verbs.ibv_get_device_name(device).decode() == name:
                return pointer_or_raise(verbs.ibv_open_device(device), f"rdma: opening {name}")
    finally:
        verbs.ibv_free_device_list(devices)
    raise OfframpError(f"rdma: no driver for {name}: apt install ibverbs-providers")
