# SPDX-License-Identifier: Apache-2.0
"""Agreement before an offloaded collective: all ranks compare what they are about to do in one gather of 64 bytes."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

import torch
import torch.distributed as dist

from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from collections.abc import Sequence

UNEVEN: Final = ("all_to_all", "gather", "scatter")
"""Kinds whose ranks may give different sizes."""
POINT_TO_POINT: Final = ("send", "recv")
"""Kinds that two ranks start without the others."""
_WORDS: Final = 8
_TEXT: Final = 512


def described(kind: str, form: str, dtype: str, shape: Sequence[int], reduce: str, peer: int) -> str:
    """Description of a collective, equal on ranks that agree."""
    size = "" if kind in UNEVEN or not dtype else f" {tuple(shape)}"
    return (
        f"{reduce + ' ' if reduce else ''}{kind}{size}"
        + (f" of {dtype}" if dtype else "")
        + (f", root {peer}" if peer >= 0 else "")
        + (f" ({form})" if form not in ("single", "") else "")
    )


def compare(group: dist.ProcessGroup, number: int, what: str) -> None:
    """Check that all ranks are about to do the same; descriptions are exchanged only if a digest differs.

    Raises:
        OfframpError: they are not; the message is the same on every rank.
    """
    digest = hashlib.blake2b(f"{number} {what}".encode(), digest_size=8 * _WORDS).digest()
    if len(set(_gathered(group, digest))) == 1:
        return
    descriptions = _texts(group, f"{number} {what}")
    usual = max(descriptions, key=descriptions.count)
    other = next(rank for rank, words in enumerate(descriptions) if words != usual)
    first = descriptions.index(usual)
    raise OfframpError(f"rank {other} does {_numbered(descriptions[other])}, rank {first} does {_numbered(usual)}")


def settle(group: dist.ProcessGroup, fault: str) -> str:
    """The first fault of any rank, and the rank; empty if no rank has one."""
    return next((f"rank {rank}: {text}" for rank, text in enumerate(_texts(group, fault)) if text), "")


def _numbered(words: str) -> str:
    number, _, what = words.partition(" ")
    return f"collective {number}, {what}"


def _texts(group: dist.ProcessGroup, text: str) -> list[str]:
    rows = _gathered(group, text.encode()[:_TEXT].ljust(_TEXT, b"\0"))
    return [row.rstrip(b"\0").decode(errors="replace") for row in rows]


def _gathered(group: dist.ProcessGroup, raw: bytes) -> list[bytes]:
    mine = torch.frombuffer(bytearray(raw), dtype=torch.uint8)
    rows = [torch.empty_like(mine) for _ in range(dist.get_world_size(group))]
    dist.all_gather(rows, mine, group=group)
    return [row.numpy().tobytes() for row in rows]
