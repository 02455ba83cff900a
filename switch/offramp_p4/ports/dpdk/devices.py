# SPDX-License-Identifier: Apache-2.0
"""Names of links that DPDK's devices serve: ``memif:PATH[,OPTION...]`` and ``dpdk:DEVICE[,ARGUMENTS]``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from offramp_base.errors import OfframpError
from offramp_base.numerals import whole_number
from offramp_base.transport.unix import check_path

MEMIF: Final = "memif:"
DPDK: Final = "dpdk:"
_PCI: Final = re.compile(r"([0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", re.IGNORECASE)
_MOST_SECRET: Final = 24
_MEMIF_OPTIONS: Final = ("id", "bsize", "rsize", "secret")
_LEAST_BUFFER: Final = 2048
"""Bytes of a frame at most: what DPDK's driver writes over several buffers it garbles when the ring is nearly full."""
_MEMIF: Final = f"memif:PATH[,client][,{'=…][,'.join(_MEMIF_OPTIONS)}=…]"


@dataclass(frozen=True, slots=True)
class DpdkDevice:
    """A device as DPDK names it."""

    name: str
    arguments: str = ""

    @property
    def is_pci(self) -> bool:
        """Whether it is a card, not a virtual device."""
        return not self.name.startswith("net_")


@dataclass(frozen=True, slots=True)
class Memif(DpdkDevice):
    """A memif interface; the path of its socket is not among the arguments.

    Attributes:
        path: path of the socket at which the server listens.
        client: whether it is the end that connects.
        number, secret: number and secret of the interface; client and server must have the same.
    """

    path: str = ""
    client: bool = False
    number: int = 0
    secret: str = ""


def is_device(link: str) -> bool:
    """Whether a link's name is of a device of DPDK's."""
    return link.startswith((MEMIF, DPDK))


def parse_device(link: str, port: int) -> DpdkDevice:
    """The device that a link names; ``port`` makes names of devices unique.

    Raises:
        OfframpError: not a link of this kind.
    """
    kind, _, rest = link.partition(":")
    where, _, options = rest.partition(",")
    if f"{kind}:" == MEMIF:
        return _memif(link, where, options.split(",") if options else [], port)
    if not _PCI.fullmatch(where) and not re.fullmatch(r"net_[a-z0-9_]+", where):
        raise OfframpError(f"link {link!r}: expected a device such as dpdk:net_null0 or dpdk:0000:18:00.0")
    return DpdkDevice(where, options)


def _memif(link: str, path: str, options: list[str], port: int) -> Memif:
    client = "client" in options
    pairs = [option.partition("=")[::2] for option in options if option != "client"]
    named = dict(pairs)
    number = whole_number(named.get("id", "0"))
    if not path or len(named) < len(pairs) or not set(named) <= set(_MEMIF_OPTIONS) or number is None:
        raise OfframpError(f"link {link!r}: expected {_MEMIF}")
    check_path(path)
    if (whole_number(named.get("bsize", str(_LEAST_BUFFER))) or 0) < _LEAST_BUFFER:
        raise OfframpError(f"link {link!r}: expected a bsize of at least {_LEAST_BUFFER}, so that frames fit a buffer")
    if len(named.get("secret", "").encode()) > _MOST_SECRET:
        raise OfframpError(f"link {link!r}: expected a secret of at most {_MOST_SECRET} bytes")
    words = [f"role={'client' if client else 'server'}", "socket-abstract=no", *(f"{k}={v}" for k, v in named.items())]
    return Memif(f"net_memif{port}", ",".join(words), path, client, number, named.get("secret", ""))
