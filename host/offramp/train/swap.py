"""Rows from worker to worker, counted as packets of a host-based exchange."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp.switch.switchgnn.volume import HOST_OVERHEAD_BYTES, HOST_PAYLOAD_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

    from offramp.train.group import Group
    from offramp.train.traffic import Traffic


def swap(
    group: Group, traffic: Traffic, rows: torch.Tensor, send: Sequence[int], receive: Sequence[int]
) -> torch.Tensor:
    """``rows`` for each worker, in rank order, against those from each worker; both are added to ``traffic``."""
    received = group.exchange(rows, send, receive)
    row_bytes = rows.shape[1] * rows.element_size()
    payload, packets = _packets(send, row_bytes)
    traffic.payload_up += payload
    traffic.packets_up += packets
    traffic.wire_up += payload + packets * HOST_OVERHEAD_BYTES
    payload, packets = _packets(receive, row_bytes)
    traffic.payload_down += payload
    traffic.packets_down += packets
    traffic.wire_down += payload + packets * HOST_OVERHEAD_BYTES
    return received


def _packets(rows: Sequence[int], row_bytes: int) -> tuple[int, int]:
    """Payload bytes and packets of one message to (or from) each worker."""
    return sum(rows) * row_bytes, sum(-(-count * row_bytes // HOST_PAYLOAD_BYTES) for count in rows)
