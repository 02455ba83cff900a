# SPDX-License-Identifier: Apache-2.0
"""Full attention of a sequence that is a single graph (eq. 2.3), by PyTorch's own kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.nn import functional

if TYPE_CHECKING:
    import torch


def dense_attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    table: torch.Tensor | None,
    buckets: torch.Tensor | None,
    real: int,
) -> torch.Tensor:
    """Attention of each of the first ``real`` tokens to all of them; the padding tokens behind give 0.

    ``q``, ``k``, ``v`` and the result are ``(heads, tokens, d)``; ``table`` is the ``(entries, heads)`` bias, if
    any, and ``buckets`` ``(real, real)`` has the entry of each pair.
    """
    bias = None if table is None or buckets is None else functional.embedding(buckets, table).permute(2, 0, 1)[None]
    padding = q.shape[1] - real
    q, k, v = (x[None, :, :real] for x in (q, k, v))
    out = functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)[0]
    return functional.pad(out, (0, 0, 0, padding))
