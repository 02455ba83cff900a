# SPDX-License-Identifier: Apache-2.0
"""Attention of a few edges by hand."""

from __future__ import annotations

from math import exp

import pytest

torch = pytest.importorskip("torch")

from offramp.models.attention import SLOPE, attend  # noqa: E402


@pytest.mark.parametrize("mask", [None, (1.0, 0.5, 0.0)])
def test_each_edge_has_its_share_of_the_softmax_times_its_factor(mask: tuple[float, ...] | None) -> None:
    """Two edges into the first target and one into the second; the third target has none."""
    values = torch.tensor([[[1.0, 2.0]], [[10.0, 20.0]]])
    edges = (torch.tensor([0, 1, 1]), torch.tensor([0, 0, 1]))
    source, target = torch.tensor([[1.0], [-2.0]]), torch.tensor([[0.5], [3.0], [0.0]])
    out = attend(edges, values, source, target, None if mask is None else torch.tensor(mask))
    first, second = exp(1.5), exp(SLOPE * -1.5)
    share = [first / (first + second), second / (first + second), 1.0]
    w = [each * factor for each, factor in zip(share, mask or (1.0, 1.0, 1.0), strict=True)]
    expected = [[w[0] * a + w[1] * 10 * a for a in (1.0, 2.0)], [w[2] * 10 * a for a in (1.0, 2.0)], [0.0, 0.0]]
    assert torch.allclose(out[:, 0], torch.tensor(expected))
