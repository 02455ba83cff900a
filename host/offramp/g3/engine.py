# SPDX-License-Identifier: Apache-2.0
"""Forward and backward over bins, as messages and gradients of other workers arrive (g3.md section 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from offramp.codecs.plain import PlainCodec
from offramp.g3 import in_flight
from offramp.g3.arrivals import Arrivals
from offramp.g3.bins import Bins
from offramp.g3.first_stage import FirstStage
from offramp.g3.gradients import MessageGradients
from offramp.g3.store import TensorStore
from offramp.g3.tape import Rows, StageOutputs, StageTapes, leaf
from offramp.graph.step_messages import step_messages
from offramp.models.base import PreparedTensors
from offramp.workers.mailbox import Key

if TYPE_CHECKING:
    from offramp.codecs.base import Coding
    from offramp.g3.schedule import Schedule
    from offramp.graph.halo_plan import HaloMessage, HaloPlan
    from offramp.models.base import Features, Model
    from offramp.workers.mailbox import Mailbox
    from offramp.workers.reduction import Reduce
    from offramp_base.archive import Arrays


@dataclass
class _Gradients:
    """Gradients of the tensors that a stage prepared for the next layer, of own vertices only; None: there is none."""

    message: torch.Tensor | None = None
    own: torch.Tensor | None = None


class HaloEngine:
    """One worker's computation; ``n`` own vertices, ``h`` of other workers whose messages it needs.

    Stage ``l`` combines layer ``l`` and prepares layer ``l + 1`` for the targets of a bin, whose messages then leave.
    Sums go in a fixed order (bins by number, workers by rank), so that results do not depend on what arrives when. All
    workers call the same methods in the same order.

    Attributes:
        stale: whether the next training step takes other workers' rows of the step before.
    """

    def __init__(
        self,
        model: Model,
        plan: HaloPlan,
        features: Features,
        schedule: Schedule,
        mailbox: Mailbox,
        codec: Coding,
        dtype: torch.dtype,
        device: torch.device | None = None,
        store: TensorStore | None = None,
    ) -> None:
        """Args: as they are named.

        model: the same on every worker.
        plan: this worker's rows and bins.
        features: ``(n + h, F)`` of the own vertices and of the others.
        schedule: when what is computed and sent.
        mailbox: mailbox to and from the other workers.
        codec: codec of messages and their gradients, in training.
        dtype: dtype of both.
        device: device of the features and everything that is computed; main memory by default.
        store: store of what is as large as the worker's part; by default the device.
        """
        self._model, self._schedule = model, schedule
        self._mailbox, self._codec, self._exact = mailbox, codec, PlainCodec(dtype)
        self._used: Coding = codec
        self._read: Coding = codec
        self._plan, self._restored = plan, False
        self.stale = schedule.stale
        self._own, self._rows, self._dtype = len(plan.adjacency.indptr) - 1, len(plan.ids), dtype
        self._store = store or TensorStore(dtype, device)
        self._drops = self._store.streams and not (schedule.stale or schedule.adaptive)  # no later step reads messages
        self._bins = Bins.of_layers(plan, model.layers, dtype, device, self._store)
        self._step = self._training_step = self._came = 0
        self._first_stage = FirstStage(model, features, self._own, self._store)
        self._stages: list[StageTapes] = []

    def forward(self) -> torch.Tensor:
        """Class scores ``(n, classes)`` of the own vertices; in training mode :meth:`backward` must follow."""
        model, training = self._model, self._model.training
        self._step += 1
        self._used = self._codec if training else self._exact
        stale = self.stale and training and self._training_step > 0
        self._came = self._training_step if stale else self._step
        self._read = self._exact if stale and self._restored else self._used
        self._first_stage.forward(training=training)
        encoded, prepared = self._first_stage.encoded, self._first_stage.prepared
        states = [] if encoded is None else [encoded]
        first = encoded if model.uses_first else None
        self._stages = []
        for number in range(1, model.layers + 1):
            state, prepared = self._stage(number, prepared, first)
            states.append(state)
        self._leaves = [leaf(state, trained=training) for state in states]
        self._mailbox.forget(self._came, kept=None if training else self._training_step)
        if training:
            self._training_step, self._restored = self._step, False
        with torch.set_grad_enabled(training):
            return model.readout(self._leaves)

    def arrays(self) -> Arrays:
        """What the next step depends on besides the weights, as :func:`offramp.g3.in_flight.blank` says."""
        blank = in_flight.blank(self._plan, self._model, self._schedule, self._codec, self._dtype)
        steps = np.array([self._step, self._training_step], np.int64)
        if not blank["rows"].size:
            return blank | {"steps": steps}
        box, step = self._mailbox, self._training_step
        rows = in_flight.collect(box, self._plan, self._model, step, self._codec, self._dtype)
        return blank | {"steps": steps, "rows": rows.numpy()}

    def restore(self, arrays: Arrays) -> None:
        """Take over what :meth:`arrays` returned.

        Raises:
            OfframpError: numbers that no engine has.
        """
        self._step, self._training_step = in_flight.steps_of(arrays)
        self._codec.restore(list(step_messages(self._plan, self._model.messages, sent=True)), arrays)
        if arrays["rows"].size:
            rows = torch.from_numpy(arrays["rows"].copy())
            in_flight.put_back(self._mailbox, self._plan, self._model, self._training_step, self._exact, rows)
            self._restored = True

    def _stage(
        self, number: int, prepared: PreparedTensors, first: torch.Tensor | None
    ) -> tuple[torch.Tensor, PreparedTensors]:
        """State ``number`` of the own rows, and what the next layer prepares: room for the received messages, too."""
        model, bins, training = self._model, self._bins[number - 1], self._model.training
        last = number == model.layers
        trained = (self._first_stage.trained if number == 1 else (True, True)) if training else (False, False)
        stage = StageTapes(model, number, prepared, first, trained, streams=self._store.streams)
        message = prepared.message
        states, owns = (Rows(self._own, len(bins.blocks), self._store) for _ in range(2))
        after = self._store.empty(0 if last else self._rows, 0 if last else model.messages[number])
        held: list[HaloMessage] = []
        for index in self._arrivals(number - 1, message).bins(bins.needs, eager=self._schedule.eager):
            block = bins.blocks[index]
            outputs = stage.forward(index, block, training=training)
            assert outputs.state is not None
            states.put(block.targets, outputs.state.detach())
            if outputs.message is not None:
                after[block.targets] = outputs.message.detach()
                self._store.wrote(outputs.message)
                if outputs.own is not None:
                    owns.put(block.targets, outputs.own.detach())
                held += bins.sends[index]
            del outputs
            if self._schedule.asynchronous:
                held = self._post(held, number, after, backward=False)
        self._post(held, number, after, backward=False)
        self._settle()
        self._stages.append(stage)
        return states.whole(), PreparedTensors(after, owns.whole() if owns else None)

    def backward(self, loss: torch.Tensor, reduce: Reduce) -> None:
        """Gradients of ``loss``, which was made of the scores.

        Args:
            loss: this worker's share.
            reduce: called with the parameters of each stage once their gradients are there, last stage first.
        """
        model = self._model
        model.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        reduce(model.of_stage(model.layers + 1))
        direct = [state.grad for state in self._leaves][-model.layers :]
        first = self._store.zeros(*self._leaves[0].shape) if model.uses_first else None
        gradients = _Gradients()
        before = torch.empty(0)
        for number in range(model.layers, 0, -1):
            before, own = self._stage_backward(number, direct[number - 1], gradients, first)
            gradients = _Gradients(before[: self._own], own)
            reduce(model.of_stage(number))
        self._first_backward(before, gradients.own, first)
        reduce(model.of_stage(0))

    def _stage_backward(
        self, number: int, state: torch.Tensor | None, after: _Gradients, first: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Gradients of what stage ``number`` was given: ``(n + h, w)`` of messages, ``(n, v)`` of own parts.

        Args:
            number: number of the stage.
            state: gradient of the state from the readout.
            after: gradients of what it prepared; other workers' share of the messages' is added.
            first: that of first states, which is added to.
        """
        model, bins = self._model, self._bins[number - 1]
        parameters = model.of_stage(number)
        width = model.messages[number - 1]
        before = MessageGradients.of(self._store, bins, self._rows, width, self._own, received=number > 1)
        of_own = Rows(self._own, len(bins.blocks), self._store)
        of_parameters: list[tuple[torch.Tensor, ...]] = [()] * len(bins.blocks)
        came: dict[int, torch.Tensor] = {}
        held: list[HaloMessage] = []

        expected = bins.outgoing if number < model.layers else []
        labels = [(m.peer, Key(self._came, number, backward=True, bin=m.bin)) for m in expected]

        awaits = bins.awaits if expected else [[]] * len(bins.blocks)
        arrivals = Arrivals(self._mailbox, labels, came.__setitem__, last=self._drops)
        for index in arrivals.bins(awaits, eager=self._schedule.eager):
            for message_number in awaits[index]:
                assert after.message is not None
                payload, key = came.pop(message_number), labels[message_number][1]
                self._read.decode(payload, expected[message_number], key, after.message, add=True)
                self._store.wrote(payload)
            block = bins.blocks[index]
            targets = block.targets
            upstream = StageOutputs(*(None if g is None else g[targets] for g in (state, after.message, after.own)))
            of_inputs, of_parameters[index] = self._stages[-1].backward(index, block, upstream, parameters)
            of_message, own, of_first = of_inputs
            if own is not None:
                of_own.put(targets, own)
            if first is not None and of_first is not None:
                first[targets] += of_first
            held += before.add(index, block, of_message)
            if self._schedule.asynchronous:
                held = self._post(held, number - 1, before.total, backward=True)
        self._post(held, number - 1, before.total, backward=True)
        self._settle()
        self._stages.pop()
        before.finish()
        for parameter, parts in zip(parameters, zip(*of_parameters, strict=True), strict=True):
            parameter.grad = torch.stack(parts).sum(0)
        return before.total, of_own.whole() if of_own else None

    def _first_backward(self, message: torch.Tensor, own: torch.Tensor | None, first: torch.Tensor | None) -> None:
        """Through the first :meth:`Model.prepare` and :meth:`Model.encode`."""
        read = self._leaves[0].grad if len(self._leaves) > self._model.layers else None
        encoded = [gradient for gradient in (first, read) if gradient is not None]
        self._first_stage.backward(message, own, encoded)

    def _arrivals(self, layer: int, messages: torch.Tensor) -> Arrivals:
        """Arrivals of the messages for layer ``layer + 1``, decoded into ``messages``, which has layer 1's already."""
        expected = self._bins[layer].incoming if layer else []
        labels = [(m.peer, Key(self._came, layer, backward=False, bin=m.bin)) for m in expected]

        def accept(index: int, payload: torch.Tensor) -> None:
            self._read.decode(payload, expected[index], labels[index][1], messages)
            self._store.wrote(payload)

        return Arrivals(self._mailbox, labels, accept, last=self._drops)

    def _post(
        self, messages: list[HaloMessage], layer: int, rows: torch.Tensor, *, backward: bool
    ) -> list[HaloMessage]:
        for message in messages:
            key = Key(self._step, layer, backward, message.bin)
            self._mailbox.post(message.peer, key, self._used.encode(rows, message, key))
        return []

    def _settle(self) -> None:
        if not self._schedule.asynchronous:
            self._mailbox.flush()
