# SPDX-License-Identifier: Apache-2.0
"""Boundary features sent in a few bits each, and summed in that form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from offramp.train import quantiser
from offramp.train.propagators.switch import ThroughSwitch

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from offramp.switchgnn.exchange import Exchange
    from offramp.switchgnn.exchange_plan import Peers
    from offramp.workers.group import Group


class QuantisedPropagator(ThroughSwitch):
    """Sylvie's quantiser under a scale that all contributors of a sum share.

    A partial sum (pairwise) enters a single sum, whose contributors agree on its own scale: they send their ranges to
    its owner, which answers with the scale. A vertex enters many sums, so its scale is that of the whole exchange; in
    Sylvie, a message has one reader.

    With ``code_bits``, contributors share the step that the widest of them needs for codes of that many bits (Sylvie's;
    specification, section 1.10); otherwise the levels of a field are divided among them by range.
    """

    repeatable = False  # a kept draw of the rounding would no longer be right in the mean of epochs

    def __init__(
        self, exchanges: Mapping[int, Exchange], bits: int, fan_in: int, seed: int, code_bits: int = 0
    ) -> None:
        """Aggregate through the switch.

        Args:
            exchanges: by width in columns.
            bits: bits of a field.
            fan_in: the most contributions that any sum has.
            seed: seed of the rounding.
            code_bits: bits of codes with one common step (see the class); 0: levels follow from ranges and scale.
        """
        super().__init__(exchanges)
        self._bits = bits
        self._code_bits = code_bits
        self._fan_in = fan_in
        self._seed = seed

    def exchange(self, y: torch.Tensor) -> torch.Tensor:
        """Exchange ``(b, F)`` features for ``(b, F)`` sums."""
        exchange = self.exchanges[y.shape[1]]
        part, group = exchange.plan, exchange.group
        assert group is not None
        rng = np.random.default_rng([self._seed, group.rank, self.draws])
        self.draws += 1
        values = y.numpy().astype(np.float64)
        messages = values if part.messages is None else np.asarray(part.messages @ values)
        ends = quantiser.least_and_largest(messages)
        if part.peers is None:
            least, step = self._agree_on_one(group, ends)
            common = quantiser.common_levels(self._fan_in, self._bits)
            codes = quantiser.encode(messages, least, step, common, rng)
            bias, sum_scale = part.terms * least, np.full(len(part.terms), step)
        else:
            scale, sum_scale, bias = self._agree_on_each(exchange, part.peers, ends)
            ranges = ends[:, 1:] - ends[:, :1].astype(np.float64)
            levels = (1 << self._code_bits) - 1 if self._code_bits else quantiser.levels_of(ranges, scale)
            codes = quantiser.encode(messages, ends[:, :1], scale, levels, rng)
        sums = exchange.sum(quantiser.pack(codes, self._bits), messages=True)
        total = quantiser.unpack(sums, self._bits, y.shape[1]) * sum_scale.reshape(-1, 1) + bias.reshape(-1, 1)
        return torch.from_numpy(total.astype(np.float32))

    def _agree_on_one(self, group: Group, ends: npt.NDArray[np.float32]) -> tuple[float, float]:
        """The least value of all workers, and the step for their range."""
        outermost = torch.full((2,), -torch.inf, dtype=torch.float64)
        if len(ends):
            outermost = torch.tensor([float((-ends[:, 0]).max()), float(ends[:, 1].max())], dtype=torch.float64)
        least, largest = (group.max(outermost) * torch.tensor([-1.0, 1.0], dtype=torch.float64)).tolist()
        return least, (largest - least) / quantiser.common_levels(self._fan_in, self._bits)

    def _agree_on_each(
        self, exchange: Exchange, peers: Peers, ends: npt.NDArray[np.float32]
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.floating], npt.NDArray[np.float64]]:
        """Steps of each message and of each sum, and the sum of the least values that contribute to each sum."""
        to, counts, terms = peers.to.tolist(), peers.counts.tolist(), exchange.plan.terms
        extremes = _all_to_all(exchange, ends, to, counts).astype(np.float64)
        ranges, bias = np.zeros(len(terms)), np.zeros(len(terms))
        collect = np.maximum if self._code_bits else np.add
        collect.at(ranges, peers.vertices, extremes[:, 1] - extremes[:, 0])
        np.add.at(bias, peers.vertices, extremes[:, 0])
        if self._code_bits:
            scale = quantiser.common_scale(ranges, self._code_bits)
        else:
            scale = quantiser.shared_scale(ranges, terms, self._bits)
        return _all_to_all(exchange, scale[peers.vertices, np.newaxis], counts, to), scale, bias


def _all_to_all(
    exchange: Exchange, rows: npt.NDArray[np.float32], send: list[int], receive: list[int]
) -> npt.NDArray[np.float32]:
    data = torch.from_numpy(quantiser.to_bytes(rows))
    return quantiser.from_bytes(exchange.all_to_all(data, send, receive).numpy())
