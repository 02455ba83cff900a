"""Forward and backward over bins, as rows and gradients of other workers arrive (g3.md section 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from offramp.train.models.base import dense
from offramp.train.rows.arrivals import Arrivals
from offramp.train.rows.bins import Bins
from offramp.train.rows.mailbox import Key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import nn

    from offramp.train.models.base import Model
    from offramp.train.rows.codec import RowCodec
    from offramp.train.rows.mailbox import Mailbox
    from offramp.train.rows.plan import Message, RowPlan
    from offramp.train.rows.schedule import Schedule
    from offramp.train.reduction import Reduce


@dataclass
class _Tape:
    """What a bin's computation of one layer keeps for the way back."""

    x: torch.Tensor
    first: torch.Tensor | None
    out: torch.Tensor

    def gradients(
        self, gradient: torch.Tensor, parameters: Sequence[nn.Parameter]
    ) -> tuple[torch.Tensor | None, torch.Tensor | None, tuple[torch.Tensor, ...]]:
        """Of the sources' state, of the targets' first state and of the parameters, where they have one."""
        first = [self.first] if self.first is not None else []
        states = ([self.x] if self.x.requires_grad else []) + first
        if not states and not parameters:
            return None, None, ()
        found = list(torch.autograd.grad(self.out, [*states, *parameters], gradient))
        x = found.pop(0) if self.x.requires_grad else None
        return x, (found.pop(0) if first else None), tuple(found)


class RowEngine:
    """One worker's computation. All workers call the same methods in the same order.

    Sums go in a fixed order (bins by number, workers by rank), so that results do not depend on what arrives when.
    """

    def __init__(
        self,
        model: Model,
        plan: RowPlan,
        features: torch.Tensor,
        schedule: Schedule,
        mailbox: Mailbox,
        codec: RowCodec,
        plain: RowCodec,
    ) -> None:
        """Exchange the input features: they never change, so they travel once.

        Args:
            model: the same on every worker.
            plan: this worker's rows and bins.
            features: ``(n, F)`` of the own vertices.
            schedule: when what is computed and sent.
            mailbox: to and from the other workers.
            codec: of states and gradients.
            plain: of the input features.
        """
        self._model, self._plan, self._schedule = model, plan, schedule
        self._mailbox, self._codec = mailbox, codec
        self._own, self._dtype = len(features), features.dtype
        self._bins = Bins(plan, features.dtype)
        self._step = self._training_step = 0
        self._came = 0
        self._tapes: list[list[_Tape]] = []
        self._features = features.new_empty(len(plan.ids), features.shape[1])
        self._features[: self._own] = features
        for message in plan.sends:
            self._post(message, 0, features[message.rows], plain, backward=False)
        self._arrivals(0, self._step, self._features, plain).all()

    def forward(self) -> torch.Tensor:
        """Class scores ``(n, classes)`` of the own vertices; in training mode :meth:`backward` must follow."""
        model, training = self._model, self._model.training
        self._step += 1
        stale = self._schedule.stale and training and self._training_step > 0
        self._came = self._training_step if stale else self._step
        with torch.set_grad_enabled(training):
            self._encoded = dense(model.encode(self._features))
        h = self._encoded.detach()
        states = [h[: self._own]]
        self._tapes = []
        for number in range(1, model.layers + 1):
            h = self._layer(number, h, states[0])
            states.append(h[: self._own])
        self._leaves = [state.detach().requires_grad_(training) for state in states]
        self._mailbox.forget(self._came)
        if training:
            self._training_step = self._step
        with torch.set_grad_enabled(training):
            return model.readout(self._leaves)

    def _layer(self, number: int, h: torch.Tensor, first: torch.Tensor) -> torch.Tensor:
        """State ``number`` from ``h``, the one before: own rows, and room for the received ones where they come."""
        model, training, last = self._model, self._model.training, number == self._model.layers
        with_gradient = training and (number > 1 or bool(model.of_layer(0)))
        after = h.new_empty(self._own if last else len(h), model.states[number])
        tapes: dict[int, _Tape] = {}
        held: list[Message] = []
        arrivals = self._arrivals(number - 1, self._came, h, self._codec)
        for index in arrivals.bins(self._bins.needs, eager=self._schedule.eager):
            block = self._bins.blocks[index]
            x = h[block.sources].requires_grad_(with_gradient)
            own_first = first[block.targets].requires_grad_(training) if model.uses_first else None
            with torch.set_grad_enabled(training):
                out = model.layer(number, block, x, own_first)
            if training:
                tapes[index] = _Tape(x, own_first, out)
            after[block.targets] = out.detach()
            if not last:
                held += self._bins.sends[index]
            if self._schedule.asynchronous:
                held = self._post_states(held, number, after)
        self._post_states(held, number, after)
        self._settle()
        self._tapes.append([tapes[index] for index in sorted(tapes)])
        return after

    def backward(self, loss: torch.Tensor, reduce: Reduce) -> None:
        """Gradients of ``loss``, which was made of the scores.

        Args:
            loss: this worker's share.
            reduce: called with the parameters of each layer once their gradients are there, last layer first.
        """
        model = self._model
        for parameter in model.parameters():
            parameter.grad = None
        loss.backward()  # type: ignore[no-untyped-call]
        reduce(model.of_layer(model.layers + 1))
        direct = [leaf.grad if leaf.grad is not None else torch.zeros_like(leaf) for leaf in self._leaves]
        gradient = direct[-1]
        first = torch.zeros_like(direct[0])
        for number in range(model.layers, 0, -1):
            before = self._layer_backward(number, gradient, first)
            reduce(model.of_layer(number))
            if number > 1:
                gradient = before[: self._own] + direct[number - 1]
        if self._encoded.requires_grad:
            before[: self._own] += first + direct[0]
            torch.autograd.backward(self._encoded, before)
        reduce(model.of_layer(0))

    def _layer_backward(self, number: int, gradient: torch.Tensor, first: torch.Tensor) -> torch.Tensor:
        """Gradient of state ``number - 1``, own rows and received ones, from that of state ``number``.

        ``first`` is added to; the parameters' gradients are set.
        """
        model, plan, bins = self._model, self._plan, self._bins
        parameters = model.of_layer(number)
        before = gradient.new_zeros(len(plan.ids), model.states[number - 1])
        found: list[torch.Tensor | None] = [None] * len(bins.blocks)
        of_parameters: list[tuple[torch.Tensor, ...]] = [()] * len(bins.blocks)
        came: dict[int, torch.Tensor] = {}
        left = [len(users) for users in bins.consumers]
        held: list[Message] = []

        def accept(index: int, payload: torch.Tensor) -> None:
            came[index] = self._codec.decode(payload, gradient.shape[1])

        expected = plan.sends if number < model.layers else []
        labels = [(m.peer, Key(self._came, number, backward=True, bin=m.bin)) for m in expected]
        needs = bins.awaits if expected else [[] for _ in bins.blocks]
        for index in Arrivals(self._mailbox, labels, accept).bins(needs, eager=self._schedule.eager):
            for message_number in needs[index]:
                gradient[expected[message_number].rows] += came.pop(message_number)
            tape, block = self._tapes[number - 1][index], bins.blocks[index]
            found[index], its_first, of_parameters[index] = tape.gradients(gradient[block.targets], parameters)
            if its_first is not None:
                first[block.targets] += its_first
            for message_number in bins.needs[index] if number > 1 else []:
                left[message_number] -= 1
                if not left[message_number]:
                    message = plan.receives[message_number]
                    before[message.rows] = bins.gathered(message_number, found, before.shape[1], self._dtype)
                    held.append(message)
            if self._schedule.asynchronous:
                held = self._post_gradients(held, number - 1, before)
        self._post_gradients(held, number - 1, before)
        self._settle()
        for index, of_sources in enumerate(found):
            if of_sources is not None:
                sources = bins.blocks[index].sources
                inner = sources < self._own if number > 1 else slice(None)
                before.index_add_(0, sources[inner], of_sources[inner])
        for parameter, parts in zip(parameters, zip(*of_parameters, strict=True), strict=True):
            parameter.grad = torch.stack(parts).sum(0)
        return before

    def _arrivals(self, layer: int, step: int, h: torch.Tensor, codec: RowCodec) -> Arrivals:
        """The rows of state ``layer`` that others send, into ``h``; input features are there already."""

        def accept(index: int, payload: torch.Tensor) -> None:
            h[self._plan.receives[index].rows] = codec.decode(payload, h.shape[1])

        expected = self._plan.receives if layer or not step else []
        return Arrivals(
            self._mailbox, [(m.peer, Key(step, layer, backward=False, bin=m.bin)) for m in expected], accept
        )

    def _post_states(self, messages: list[Message], layer: int, h: torch.Tensor) -> list[Message]:
        for message in messages:
            self._post(message, layer, h[message.rows], self._codec, backward=False)
        return []

    def _post_gradients(self, messages: list[Message], layer: int, before: torch.Tensor) -> list[Message]:
        for message in messages:
            self._post(message, layer, before[message.rows], self._codec, backward=True)
        return []

    def _post(self, message: Message, layer: int, rows: torch.Tensor, codec: RowCodec, *, backward: bool) -> None:
        key = Key(self._step, layer, backward, message.bin)
        self._mailbox.post(message.peer, key, codec.encode(rows, key, self._plan.ids[message.rows]))

    def _settle(self) -> None:
        if not self._schedule.asynchronous:
            self._mailbox.flush()
