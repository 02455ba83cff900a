# SPDX-License-Identifier: Apache-2.0
"""All-to-all of rows between workers, counted as packets of a host-based exchange."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp.workers.traffic import count_messages

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

    from offramp.workers.group import Group
    from offramp.workers.traffic import Traffic


def all_to_all(
    group: Group, traffic: Traffic, rows: torch.Tensor, send: Sequence[int], receive: Sequence[int]
) -> torch.Tensor:
    """Exchange ``rows`` for each worker, in rank order, against those from each worker; adds both to ``traffic``."""
    received = group.all_to_all(rows, send, receive)
    row_bytes = rows.shape[1] * rows.element_size()
    count_messages(traffic, [count * row_bytes for count in send], [count * row_bytes for count in receive])
    return received
