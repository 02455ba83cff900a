# SPDX-License-Identifier: Apache-2.0
"""Forward and backward of one worker that fetches some states of others and recomputes the rest (NeutronStar)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from offramp.codecs.plain import PlainCodec
from offramp.g3.arrivals import Arrivals
from offramp.g3.block import BipartiteBlock
from offramp.models.base import Inputs
from offramp.workers.mailbox import Key

if TYPE_CHECKING:
    from offramp.graph.hybrid_plan import HybridLayer, HybridPlan
    from offramp.models.base import Features, Model
    from offramp.workers.mailbox import Mailbox
    from offramp.workers.reduction import Reduce


class HybridComputation:
    """Autograd over own vertices and those that are recomputed; rows of the rest travel, and their gradients back."""

    def __init__(
        self,
        model: Model,
        plan: HybridPlan,
        features: Features,
        mailbox: Mailbox,
        dtype: torch.dtype,
        device: torch.device | None = None,
    ) -> None:
        """Args: model: the model; plan: the worker's layers; mailbox: to and from the others; others as follows.

        features: ``(n + h, F)`` of the own vertices and of those whose features the plan names.
        dtype: dtype of the features.
        device: their device.
        """
        self._model, self._plan, self._features = model, plan, features
        self._exchange = RowExchange(mailbox, dtype)
        self._blocks = [
            BipartiteBlock(layer.adjacency, np.arange(layer.adjacency.shape[0]), layer.ids, layer.degree, dtype, device)
            for layer in plan.layers
        ]

    def forward(self) -> torch.Tensor:
        """Class scores ``(n, classes)`` of the own vertices."""
        model, own = self._model, self._plan.own
        self._exchange.begin()
        encoded = model.encode(self._features)
        states: list[Features] = [encoded]
        for number, (layer, block) in enumerate(zip(self._plan.layers, self._blocks, strict=True), 1):
            targets = layer.adjacency.shape[0]
            message, kept = model.prepare(number, states[-1], targets)
            if number > 1:
                message = torch.cat([message, self._exchange.fetch(message, layer, number - 1)])
            first = encoded[:targets] if model.uses_first and isinstance(encoded, torch.Tensor) else None
            states.append(model.combine(number, block, Inputs(block.gathered(message), kept, first)))
        return model.readout([state[:own] for state in states if isinstance(state, torch.Tensor)])

    def backward(self, loss: torch.Tensor, reduce: Reduce) -> None:
        """Compute the gradients of all parameters at once."""
        self._model.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        reduce(list(self._model.parameters()))


class RowExchange:
    """Rows of a layer's messages from worker to worker; all workers fetch in the same order."""

    def __init__(self, mailbox: Mailbox, dtype: torch.dtype) -> None:
        self._mailbox, self._codec, self._step = mailbox, PlainCodec(dtype), 0

    def begin(self) -> None:
        """Begin a pass over the layers."""
        self._step += 1
        self._mailbox.forget(self._step)

    def fetch(self, rows: torch.Tensor, layer: HybridLayer, number: int) -> torch.Tensor:
        """``(f, w)`` rows that others send, with their gradients; ``rows`` are own ones, of state ``number``."""
        fetched: torch.Tensor = _Fetched.apply(rows, self, layer, number)  # type: ignore[no-untyped-call]
        return fetched

    def there(self, rows: torch.Tensor, layer: HybridLayer, number: int) -> torch.Tensor:
        """Send own rows, and receive those of others."""
        key = self._key(number, backward=False)
        for message in layer.sends:
            self._mailbox.post(message.peer, key, self._codec.encode(rows, message, key))
        fetched = rows.new_zeros(len(layer.ids) - layer.computed, rows.shape[1])
        arrivals = Arrivals(
            self._mailbox,
            [(message.peer, key) for message in layer.receives],
            lambda index, payload: self._codec.decode(payload, layer.receives[index], key, fetched),
        )
        arrivals.all()
        return fetched

    def back(self, gradients: torch.Tensor, layer: HybridLayer, number: int) -> torch.Tensor:
        """Send the gradients of fetched rows, and sum those of own rows in the order of workers."""
        key = self._key(number, backward=True)
        for message in layer.receives:
            self._mailbox.post(message.peer, key, self._codec.encode(gradients, message, key))
        total = gradients.new_zeros(layer.computed, gradients.shape[1])
        came: dict[int, torch.Tensor] = {}
        Arrivals(self._mailbox, [(message.peer, key) for message in layer.sends], came.__setitem__).all()
        for index, message in enumerate(layer.sends):
            self._codec.decode(came[index], message, key, total, add=True)
        return total

    def _key(self, number: int, *, backward: bool) -> Key:
        return Key(self._step, number, backward, 0)


class _Fetched(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: torch.Tensor, exchange: RowExchange, layer: HybridLayer, number: int) -> torch.Tensor:
        ctx.exchange, ctx.layer, ctx.number = exchange, layer, number
        return exchange.there(rows, layer, number)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None, None, None]:
        return ctx.exchange.back(gradients[0].contiguous(), ctx.layer, ctx.number), None, None, None
