# SPDX-License-Identifier: Apache-2.0
"""Feature codecs without an engine around them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from offramp.codecs.base import Coding
    from offramp.graph.halo_plan import HaloMessage
    from offramp.workers.mailbox import Key


def decoded(codec: Coding, payload: torch.Tensor, message: HaloMessage, key: Key, width: int) -> torch.Tensor:
    """``(r, width)`` vectors of a payload."""
    out = torch.zeros(1 + int(message.rows.max(initial=0)), width)
    codec.decode(payload, message, key, out)
    return out[message.rows]
