# SPDX-License-Identifier: Apache-2.0
"""libibverbs by ctypes: the structures of verbs.h that queue pairs need, and its functions.

Functions that verbs.h defines inline are called through the table in a device's context, as there. The layouts are part
of the library's ABI (rdma-core, since 2005); a test compares them with verbs.h.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from functools import cache
from typing import Any, ClassVar, Final

from offramp_base.errors import OfframpError

_NAME: Final = "libibverbs.so.1"
_OPERATIONS: Final = 32
_POLL_CQ, _REQ_NOTIFY_CQ, _POST_SEND, _POST_RECV = 11, 12, 25, 26


class VerbsContext(ctypes.Structure):
    """``struct ibv_context``, as far as its operations."""

    _fields_: ClassVar = [("device", c_void_p), ("operations", c_void_p * _OPERATIONS)]


class VerbsChannel(ctypes.Structure):
    """``struct ibv_comp_channel``."""

    _fields_: ClassVar = [("context", c_void_p), ("fd", c_int), ("refcnt", c_int)]


class VerbsMemory(ctypes.Structure):
    """``struct ibv_mr``."""

    _fields_: ClassVar = [
        ("context", c_void_p), ("pd", c_void_p), ("addr", c_void_p), ("length", c_size_t),
        ("handle", c_uint32), ("lkey", c_uint32), ("rkey", c_uint32),
    ]  # fmt: skip


class VerbsQueuePair(ctypes.Structure):
    """``struct ibv_qp``, as far as its number."""

    _fields_: ClassVar = [
        ("context", c_void_p), ("qp_context", c_void_p), ("pd", c_void_p), ("send_cq", c_void_p),
        ("recv_cq", c_void_p), ("srq", c_void_p), ("handle", c_uint32), ("qp_num", c_uint32),
    ]  # fmt: skip


class VerbsCapacity(ctypes.Structure):
    """``struct ibv_qp_cap``."""

    _fields_: ClassVar = [
        (name, c_uint32)
        for name in ("max_send_wr", "max_recv_wr", "max_send_sge", "max_recv_sge", "max_inline_data")
    ]  # fmt: skip


class VerbsQueuePairInit(ctypes.Structure):
    """``struct ibv_qp_init_attr``."""

    _fields_: ClassVar = [
        ("qp_context", c_void_p), ("send_cq", c_void_p), ("recv_cq", c_void_p), ("srq", c_void_p),
        ("cap", VerbsCapacity), ("qp_type", c_int), ("sq_sig_all", c_int),
    ]  # fmt: skip


class VerbsRoute(ctypes.Structure):
    """``struct ibv_global_route``: what becomes the IP header of RoCE v2."""

    _fields_: ClassVar = [
        ("dgid", c_uint64 * 2), ("flow_label", c_uint32), ("sgid_index", c_uint8), ("hop_limit", c_uint8),
        ("traffic_class", c_uint8),
    ]  # fmt: skip


class VerbsAddress(ctypes.Structure):
    """``struct ibv_ah_attr``."""

    _fields_: ClassVar = [
        ("grh", VerbsRoute), ("dlid", c_uint16), ("sl", c_uint8), ("src_path_bits", c_uint8),
        ("static_rate", c_uint8), ("is_global", c_uint8), ("port_num", c_uint8),
    ]  # fmt: skip


class VerbsQueuePairAttributes(ctypes.Structure):
    """``struct ibv_qp_attr``."""

    _fields_: ClassVar = [
        ("qp_state", c_int), ("cur_qp_state", c_int), ("path_mtu", c_int), ("path_mig_state", c_int),
        ("qkey", c_uint32), ("rq_psn", c_uint32), ("sq_psn", c_uint32), ("dest_qp_num", c_uint32),
        ("qp_access_flags", c_uint32), ("cap", VerbsCapacity), ("ah_attr", VerbsAddress),
        ("alt_ah_attr", VerbsAddress), ("pkey_index", c_uint16), ("alt_pkey_index", c_uint16),
        ("en_sqd_async_notify", c_uint8), ("sq_draining", c_uint8), ("max_rd_atomic", c_uint8),
        ("max_dest_rd_atomic", c_uint8), ("min_rnr_timer", c_uint8), ("port_num", c_uint8), ("timeout", c_uint8),
        ("retry_cnt", c_uint8), ("rnr_retry", c_uint8), ("alt_port_num", c_uint8), ("alt_timeout", c_uint8),
        ("rate_limit", c_uint32),
    ]  # fmt: skip


class VerbsPiece(ctypes.Structure):
    """``struct ibv_sge``."""

    _fields_: ClassVar = [("addr", c_uint64), ("length", c_uint32), ("lkey", c_uint32)]


class VerbsSend(ctypes.Structure):
    """``struct ibv_send_wr``; of its unions the fields of RDMA writes, and room for the longest."""

    _fields_: ClassVar = [
        ("wr_id", c_uint64), ("next", c_void_p), ("sg_list", c_void_p), ("num_sge", c_int), ("opcode", c_int),
        ("send_flags", c_uint32), ("imm_data", c_uint32), ("remote_addr", c_uint64), ("rkey", c_uint32),
        ("others", c_uint8 * 76),
    ]  # fmt: skip


class VerbsReceive(ctypes.Structure):
    """``struct ibv_recv_wr``."""

    _fields_: ClassVar = [("wr_id", c_uint64), ("next", c_void_p), ("sg_list", c_void_p), ("num_sge", c_int)]


class VerbsCompletion(ctypes.Structure):
    """``struct ibv_wc``."""

    _fields_: ClassVar = [
        ("wr_id", c_uint64), ("status", c_int), ("opcode", c_int), ("vendor_err", c_uint32), ("byte_len", c_uint32),
        ("imm_data", c_uint32), ("qp_num", c_uint32), ("src_qp", c_uint32), ("wc_flags", c_uint32),
        ("pkey_index", c_uint16), ("slid", c_uint16), ("sl", c_uint8), ("dlid_path_bits", c_uint8),
    ]  # fmt: skip


class VerbsPort(ctypes.Structure):
    """``struct ibv_port_attr``."""

    _fields_: ClassVar = [
        ("state", c_int), ("max_mtu", c_int), ("active_mtu", c_int), ("gid_tbl_len", c_int),
        ("port_cap_flags", c_uint32), ("max_msg_sz", c_uint32), ("rest", c_uint8 * 28),
    ]  # fmt: skip


LAYOUTS: Final[dict[str, type[ctypes.Structure]]] = {
    "ibv_context": VerbsContext,
    "ibv_comp_channel": VerbsChannel,
    "ibv_mr": VerbsMemory,
    "ibv_qp": VerbsQueuePair,
    "ibv_qp_cap": VerbsCapacity,
    "ibv_qp_init_attr": VerbsQueuePairInit,
    "ibv_global_route": VerbsRoute,
    "ibv_ah_attr": VerbsAddress,
    "ibv_qp_attr": VerbsQueuePairAttributes,
    "ibv_sge": VerbsPiece,
    "ibv_send_wr": VerbsSend,
    "ibv_recv_wr": VerbsReceive,
    "ibv_wc": VerbsCompletion,
    "ibv_port_attr": VerbsPort,
}
"""The structures by their names in verbs.h."""
_SIGNATURES: Final[dict[str, tuple[Any, tuple[Any, ...]]]] = {
    "ibv_get_device_list": (c_void_p, (POINTER(c_int),)),
    "ibv_free_device_list": (None, (c_void_p,)),
    "ibv_get_device_name": (c_char_p, (c_void_p,)),
    "ibv_open_device": (POINTER(VerbsContext), (c_void_p,)),
    "ibv_close_device": (c_int, (c_void_p,)),
    "ibv_query_port": (c_int, (c_void_p, c_uint8, POINTER(VerbsPort))),
    "ibv_alloc_pd": (c_void_p, (c_void_p,)),
    "ibv_dealloc_pd": (c_int, (c_void_p,)),
    "ibv_reg_mr": (POINTER(VerbsMemory), (c_void_p, c_void_p, c_size_t, c_int)),
    "ibv_dereg_mr": (c_int, (c_void_p,)),
    "ibv_create_comp_channel": (POINTER(VerbsChannel), (c_void_p,)),
    "ibv_destroy_comp_channel": (c_int, (c_void_p,)),
    "ibv_create_cq": (c_void_p, (c_void_p, c_int, c_void_p, c_void_p, c_int)),
    "ibv_destroy_cq": (c_int, (c_void_p,)),
    "ibv_get_cq_event": (c_int, (c_void_p, POINTER(c_void_p), POINTER(c_void_p))),
    "ibv_ack_cq_events": (None, (c_void_p, ctypes.c_uint)),
    "ibv_create_qp": (POINTER(VerbsQueuePair), (c_void_p, POINTER(VerbsQueuePairInit))),
    "ibv_modify_qp": (c_int, (c_void_p, POINTER(VerbsQueuePairAttributes), c_int)),
    "ibv_destroy_qp": (c_int, (c_void_p,)),
    "ibv_wc_status_str": (c_char_p, (c_int,)),
}


@cache
def library() -> Any:
    """The library, its functions with their signatures.

    Raises:
        OfframpError: it is not installed.
    """
    try:
        loaded = ctypes.CDLL(_NAME, use_errno=True)
    except OSError:
        raise OfframpError("RDMA needs the library libibverbs: apt install ibverbs-providers") from None
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, arguments
    return loaded


class VerbsOperations:
    """Functions of a device that verbs.h calls inline: ``poll_cq``, ``req_notify_cq``, ``post_send``, ``post_recv``.

    Args:
        context: an open device.
    """

    def __init__(self, context: Any) -> None:
        table = context.contents.operations
        self.poll_cq = ctypes.CFUNCTYPE(c_int, c_void_p, c_int, POINTER(VerbsCompletion))(table[_POLL_CQ])
        self.req_notify_cq = ctypes.CFUNCTYPE(c_int, c_void_p, c_int)(table[_REQ_NOTIFY_CQ])
        self.post_send = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(VerbsSend), POINTER(c_void_p))(table[_POST_SEND])
        self.post_recv = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(VerbsReceive), POINTER(c_void_p))(table[_POST_RECV])


def pointer_or_raise(pointer: Any, what: str) -> Any:
    """What a function of the library returned.

    Raises:
        OfframpError: nothing; the message says what the system said.
    """
    if not pointer:
        raise OfframpError(f"{what}: {os.strerror(ctypes.get_errno())}")
    return pointer


def check_zero(status: int, what: str) -> None:
    """Check what a function of the library returned.

    Raises:
        OfframpError: an error, an errno or -1 with one.
    """
    if status:
        raise OfframpError(f"{what}: {os.strerror(status if status > 0 else ctypes.get_errno())}")
