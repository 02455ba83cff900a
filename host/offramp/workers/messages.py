# SPDX-License-Identifier: Apache-2.0
"""Bytes between the ranks of a ``torch.distributed`` group, as tensors of numbers, so that nothing is unpickled.

PyTorch's own collectives for objects execute what a peer sends (pickle). Ranks here send bytes, whose length is checked
before memory is allocated; :mod:`offramp_base.wire.objects` defines their meaning.
"""

from __future__ import annotations

from typing import Final

import torch
import torch.distributed as dist

from offramp_base.errors import OfframpError

MOST_ROW: Final = 1020
"""Most bytes with which a rank introduces itself."""

_LENGTH: Final = 4
_PIECE: Final = 64 << 20
"""Bytes per send: memory grows with what has arrived, whatever length was announced."""


def introduce(row: bytes, group: dist.ProcessGroup | None = None) -> list[bytes]:
    """Exchange a row of at most :data:`MOST_ROW` bytes between all ranks; returns everyone's, in rank order.

    Raises:
        OfframpError: a row of this or another rank is too long.
    """
    if len(row) > MOST_ROW:
        raise OfframpError(f"introduction of {len(row)} bytes, expected at most {MOST_ROW}")
    device = "cuda" if dist.get_backend(group) == "nccl" else "cpu"
    padded = len(row).to_bytes(_LENGTH, "little") + row.ljust(MOST_ROW, b"\0")
    mine = torch.frombuffer(bytearray(padded), dtype=torch.uint8).to(device)
    rows = [torch.empty_like(mine) for _ in range(dist.get_world_size(group))]
    dist.all_gather(rows, mine, group=group)
    return [_row(rank, bytes(each.cpu().numpy())) for rank, each in enumerate(rows)]


def _row(rank: int, raw: bytes) -> bytes:
    length = int.from_bytes(raw[:_LENGTH], "little")
    if length > MOST_ROW:
        raise OfframpError(f"rank {rank} introduces itself with {length} bytes, expected at most {MOST_ROW}")
    return raw[_LENGTH : _LENGTH + length]


def send(message: bytearray, rank: int) -> None:
    """Send bytes to a rank, which receives them with :func:`receive`."""
    dist.send(torch.tensor([len(message)], dtype=torch.int64), rank)
    for start in range(0, len(message), _PIECE):
        count = min(_PIECE, len(message) - start)
        dist.send(torch.frombuffer(message, dtype=torch.uint8, count=count, offset=start), rank)


def receive(rank: int, most: int) -> bytearray:
    """Receive the bytes that a rank sends with :func:`send`.

    Raises:
        OfframpError: there are more than ``most`` bytes, or the length is invalid.
    """
    header = torch.empty(1, dtype=torch.int64)
    dist.recv(header, rank)
    length = int(header)
    if not 0 <= length <= most:
        raise OfframpError(f"rank {rank} announces a message of {length} bytes, expected at most {most}")
    message = bytearray()
    while len(message) < length:
        piece = torch.empty(min(_PIECE, length - len(message)), dtype=torch.uint8)
        dist.recv(piece, rank)
        message += piece.numpy().tobytes()
    return message
