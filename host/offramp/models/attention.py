# SPDX-License-Identifier: Apache-2.0
"""Attention over the edges of a view (GAT, Velickovic et al. 2018, equations 3 and 4)."""

from __future__ import annotations

import torch

SLOPE = 0.2
"""Negative slope of LeakyReLU (section 3.3)."""


def attend(
    edges: tuple[torch.Tensor, torch.Tensor],
    values: torch.Tensor,
    source: torch.Tensor,
    target: torch.Tensor,
    mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """Map ``(s, heads, F)`` values to ``(t, heads, F)``, weighted by a softmax over the edges into each target.

    Args:
        edges: ``(e,)`` source and ``(e,)`` target of each edge.
        values: values of the sources.
        source: ``(s, heads)`` scores of the sources.
        target: ``(t, heads)`` scores of the targets.
        mask: ``(e,)`` factor of each edge after the softmax.
    """
    at_source, at_target = edges
    shape = target.shape
    score = torch.nn.functional.leaky_relu(target[at_target] + source[at_source], SLOPE)
    index = at_target.unsqueeze(1).expand_as(score)
    largest = score.new_full(shape, -torch.inf).scatter_reduce(0, index, score.detach(), "amax")
    weight = torch.exp(score - largest[at_target])
    share = weight / score.new_zeros(shape).index_add(0, at_target, weight)[at_target]
    if mask is not None:
        share = share * mask.unsqueeze(1)
    parts = share.unsqueeze(2) * values[at_source]
    return parts.new_zeros(len(target), *values.shape[1:]).index_add(0, at_target, parts)
