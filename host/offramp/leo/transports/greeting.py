# SPDX-License-Identifier: Apache-2.0
"""A requester's greeting, checked field by field before anything is opened, mapped or allocated."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Any, Final

from offramp.leo.native.ring import MOST_ROWS, MOST_STRIDE
from offramp.leo.transports.link import TRANSPORTS
from offramp.nic.coflows import RankAddress
from offramp_base.errors import OfframpError
from offramp_base.listening.objects import array, check_object, choice, integer, optional, text
from offramp_base.native.ring import ENTRY_BYTES
from offramp_base.native.ring_end import LEAST_RING, MOST_RING

VERSION: Final = 2
MOST_NAMES: Final = 256
MOST_PAIRS: Final = 1024
_LAST_OWNER: Final = (1 << 62) - 1
_name = text(64)


@dataclass(frozen=True)
class RequesterHello:
    """A requester's greeting.

    Attributes:
        transport: ``shm``, ``tcp``, ``ucx`` or ``nic``.
        owner: a random number that it keeps when it reconnects; it identifies its journal.
        rows: rows of its request state table.
        stride: length in bytes of its longest request or answer.
        ring_bytes: size of each ring.
        functions, devices: names; a request refers to them by their indices in these lists.
        pairs: device and function of every round trip.
        ucx: its registered memory, where the transport is ``ucx``.
        nic: the addresses of its agent's port, where the transport is ``nic``.
    """

    transport: str
    owner: int
    rows: int
    stride: int
    ring_bytes: int
    functions: tuple[str, ...]
    devices: tuple[str, ...]
    pairs: frozenset[tuple[str, str]]
    ucx: Mapping[str, Any] | None
    nic: RankAddress | None

    @property
    def longest(self) -> int:
        """Length in bytes of the longest message that it may send: the answer of a round trip and what follows it."""
        return 2 * self.stride

    @property
    def memory_bytes(self) -> int:
        """Approximate memory in bytes that a responder needs for it: rings, and buffers for messages run elsewhere."""
        return 2 * self.ring_bytes + buffer_bytes(self.stride)


def buffer_bytes(stride: int) -> int:
    """Bytes of the buffer for messages that compiled code hands to Python."""
    return max(1 << 16, 4 * stride)


def parse_hello(content: Mapping[str, Any]) -> RequesterHello:
    """Check a greeting.

    Raises:
        OfframpError: the version differs, a field is missing, unknown or out of range, rings are too small for the
            messages, or a pair names a device or function that is not in the lists.
    """
    version = content.get("leo")
    if type(version) is not int or version != VERSION:
        said = version if type(version) is int and abs(version) < 1 << 31 else "?"
        raise OfframpError(f"requester speaks version {said}: expected {VERSION}")
    fields = check_object({k: v for k, v in content.items() if k != "leo"}, _FIELDS, "greeting")
    fields["functions"], fields["devices"] = tuple(fields["functions"]), tuple(fields["devices"])
    fields["pairs"] = frozenset(fields["pairs"])
    hello = RequesterHello(**fields)
    for names, what in ((hello.functions, "functions"), (hello.devices, "devices")):
        if len(set(names)) != len(names):
            raise OfframpError(f"greeting: field {what}: two of one name")
    if not all(d in hello.devices and f in hello.functions for d, f in hello.pairs):
        raise OfframpError("greeting: field pairs: expected devices and functions of the lists")
    if hello.ring_bytes < 2 * (hello.longest + ENTRY_BYTES + 16):
        raise OfframpError(f"greeting: rings of {hello.ring_bytes} bytes for messages of {hello.longest}")
    if (hello.ucx is not None) != (hello.transport == "ucx"):
        raise OfframpError("greeting: field ucx: expected with transport ucx, and only there")
    if (hello.nic is not None) != (hello.transport == "nic"):
        raise OfframpError("greeting: field nic: expected with transport nic, and only there")
    return hello


def _power_of_two(value: Any) -> int:
    checked: int = integer(LEAST_RING, MOST_RING)(value)
    if checked & (checked - 1):
        raise ValueError(f"a power of two from {LEAST_RING} to {MOST_RING}")
    return checked


def _transport(value: Any) -> str:
    """Check a transport; a function, since those of other packages are looked up only when needed."""
    named: str = choice(*TRANSPORTS.names())(value)
    return named


def _pair(value: Any) -> tuple[str, str]:
    if not isinstance(value, list) or len(value) != 2:
        raise ValueError("pairs of a device and a function")
    return _name(value[0]), _name(value[1])


def _hex(most: int) -> Any:
    def check(value: Any) -> bytes:
        if not isinstance(value, str) or len(value) > 2 * most:
            raise ValueError(f"at most {most} bytes in hexadecimal digits")
        return bytes.fromhex(value)

    return check


_UCX: Final = {"worker": _hex(4096), "rkey": _hex(4096), "base": integer(0, (1 << 64) - 1)}


def parse_memory(value: Any) -> Mapping[str, Any]:
    """Check the registered memory of a peer: its worker's address, the key, and its start.

    Raises:
        ValueError: says what was expected.
    """
    if not isinstance(value, dict):
        raise ValueError("an object")  # noqa: TRY004
    try:
        return check_object(value, _UCX, "memory")
    except OfframpError as error:
        raise ValueError(str(error)) from None


def parse_place(value: Any) -> RankAddress:
    """Check the addresses of an agent's port.

    Raises:
        ValueError: says what was expected.
    """
    fields = value if isinstance(value, dict) and value.keys() == {"mac", "ip"} else {}
    mac, ip = fields.get("mac"), fields.get("ip")
    if not isinstance(mac, str) or not re.fullmatch("[0-9a-f]{12}", mac) or not isinstance(ip, str):
        raise ValueError("mac of twelve hexadecimal digits and ip")
    return RankAddress(bytes.fromhex(mac), str(IPv4Address(ip)))


_FIELDS: Final = {
    "transport": _transport,
    "owner": integer(1, _LAST_OWNER),
    "rows": integer(1, MOST_ROWS),
    "stride": integer(1, MOST_STRIDE),
    "ring_bytes": _power_of_two,
    "functions": array(_name, MOST_NAMES),
    "devices": array(_name, MOST_NAMES),
    "pairs": array(_pair, MOST_PAIRS),
    "ucx": optional(parse_memory),
    "nic": optional(parse_place),
}
