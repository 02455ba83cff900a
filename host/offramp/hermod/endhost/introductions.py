# SPDX-License-Identifier: Apache-2.0
"""How ranks introduce their endpoints to each other: where each listens, and what its RDMA port takes."""

from __future__ import annotations

import ipaddress
import json
import secrets
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from offramp_base.errors import OfframpError
from offramp_base.listening.objects import check_object, integer, parse_object, text

if TYPE_CHECKING:
    from offramp.hermod.endhost.rdma.port import RdmaPort

_SESSION: Final = 32
"""Characters that tell the endpoints of one rendezvous from those of another; no secret."""
_MOST_FAULT: Final = 300
_MOST_MTU: Final = 5
Rendezvous = Callable[[bytes], Sequence[bytes]]
"""An all-gather of small messages: sends this rank's bytes to all ranks and returns those of all, in rank order."""


class PortOpening:
    """The attempt to open an RDMA port, which a rank introduces itself with: the others wait for it if it fails.

    Args:
        opener: opens the port at an address.
        address: address.

    Attributes:
        fault: what went wrong, or nothing.
    """

    def __init__(self, opener: Callable[[str], RdmaPort], address: str) -> None:
        self.fault = ""
        self._port: RdmaPort | None = None
        try:
            self._port = opener(address)
        except OfframpError as error:
            self.fault = str(error)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._port is not None:
            self._port.close()

    @property
    def port(self) -> RdmaPort:
        """The open port."""
        assert self._port is not None
        return self._port


@dataclass(frozen=True, slots=True)
class Introduction:
    """What a rank says of its endpoint.

    Attributes:
        host, port: numeric address and TCP port of its listener.
        session: name that tells these endpoints from those of another rendezvous; rank 0's counts.
        mtu: number of the largest packets of its RDMA port (:attr:`RdmaPort.mtu`); 0 without one.
        fault: the reason why it has no RDMA port although it should.
    """

    host: str
    port: int
    session: str
    mtu: int
    fault: str

    @classmethod
    def of(cls, host: str, port: int, opening: PortOpening | None) -> Self:
        """This rank's, whose session is drawn."""
        fault = "" if opening is None else opening.fault[:_MOST_FAULT]
        mtu = 0 if opening is None or fault else opening.port.mtu
        return cls(host, port, secrets.token_hex(_SESSION // 2), mtu, fault)

    @classmethod
    def parse(cls, raw: bytes, rank: int) -> Self:
        """Read a rank's.

        Raises:
            OfframpError: something else.
        """
        fields = {
            "host": _numeric,
            "port": integer(1, 0xFFFF),
            "session": text(_SESSION),
            "mtu": integer(0, _MOST_MTU),
            "fault": text(_MOST_FAULT),
        }
        what = f"introduction of rank {rank}"
        return cls(**check_object(parse_object(raw, what), fields, what))


def introductions(mine: Introduction, rendezvous: Rendezvous, size: int) -> list[Introduction]:
    """Exchange introductions; returns those of all ranks, in rank order.

    Raises:
        OfframpError: one is something else, there are fewer, a rank cannot have the RDMA that it should, or some have
            RDMA and some have none.
    """
    raws = rendezvous(json.dumps(asdict(mine)).encode())
    if len(raws) != size:
        raise OfframpError(f"endpoint: {len(raws)} ranks introduce themselves, expected {size}")
    rows = [Introduction.parse(raw, rank) for rank, raw in enumerate(raws)]
    for rank, row in enumerate(rows):
        if row.fault:
            raise OfframpError(f"rank {rank}: {row.fault}")
    without = [str(rank) for rank, row in enumerate(rows) if not row.mtu]
    if 0 < len(without) < size:
        raise OfframpError(f"endpoint: rank {', '.join(without)} has no RDMA, the others have")
    return rows


def _numeric(value: Any) -> str:
    try:
        return str(ipaddress.ip_address(str(value)))
    except ValueError:
        raise ValueError("an IP address") from None
