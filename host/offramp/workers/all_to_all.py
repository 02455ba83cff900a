# SPDX-License-Identifier: Apache-2.0
"""Rows from worker to worker, counted as packets of a host-based exchange."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp.switchgnn.volume import HOST_OVERHEAD_BYTES, HOST_PAYLOAD_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

    from offramp.workers.group import Group
    from offramp.workers.traffic import Traffic


def swap(
    group: Group, traffic: Traffic, rows: torch.Tensor, send: Sequence[int], receive: Sequence[int]
) -> torch.Tensor:
    """``rows`` for each worker, in rank order, against those from each worker; both are added to ``traffic``."""
    received = group.exchange(rows, send, receive)
    row_bytes = rows.shape[1] * rows.element_size()
    count_messages(traffic, [count * row_bytes for count in send], [count * row_bytes for count in receive])
    return received


def count_messages(traffic: Traffic, up: Sequence[int] = (), down: Sequence[int] = ()) -> None:
    """Add messages of so many bytes to ``traffic``."""
    payload, packets = sum(up), _packets(up)
    traffic.payload_up += payload
    traffic.packets_up += packets
    traffic.wire_up += payload + packets * HOST_OVERHEAD_BYTES
    payload, packets = sum(down), _packets(down)
    traffic.payload_down += payload
    traffic.packets_down += packets
    traffic.wire_down += payload + packets * HOST_OVERHEAD_BYTES


def _packets(messages: Sequence[int]) -> int:
    return sum(-(-length // HOST_PAYLOAD_BYTES) for length in messages)
