# SPDX-License-Identifier: Apache-2.0
"""Fine-tuning of the language model, data-parallel over the stages' devices, at the gate's pace (section 3.6)."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.nn import functional

from offramp.train.parameter_arrays import parameter_arrays, restore_parameters
from offramp.unitg.checkpoint import LM, progress_prefix
from offramp.unitg.gate import Stopped
from offramp.unitg.hooks import GateHooks
from offramp.workers.accelerator import AS_STORED, autocast, own_stream
from offramp.workers.mailbox import Key
from offramp_base.errors import OfframpError
from offramp_base.wire.objects import sendable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from offramp.unitg.collaborator import EmbeddingTable
    from offramp.unitg.encoder import Encoder
    from offramp.unitg.gate import Gate
    from offramp.unitg.language_model import LanguageModel
    from offramp.unitg.lazy_tuner import Batches
    from offramp.workers.mailbox import Label, Mailbox
    from offramp_base.archive import Arrays

_PART, _SUM, _ROWS, _GONE = range(4)
_NEVER = 1 << 62
_TOGETHER = 256
"""Texts that are encoded at a time after a run."""
_HOME = 0
"""The rank whose table the graph neural network reads."""


@sendable
@dataclass
class FineTuningProgress:
    """Progress of the fine-tuning.

    Attributes:
        steps: completed steps.
        losses: loss of each step, the mean over exits.
        exit_losses: losses of each step by exit with training vertices.
        seconds: elapsed time, including pauses.
        fault: reason for an early end.
    """

    steps: int = 0
    losses: list[float] = field(default_factory=list)
    exit_losses: list[list[float]] = field(default_factory=list)
    seconds: float = 0.0
    fault: str | None = None


@dataclass(frozen=True)
class Texts:
    """``(n, length)`` tokens and ``(n,)`` labels of all vertices, as tensors."""

    tokens: torch.Tensor
    labels: torch.Tensor


class FineTuner:
    """One rank's replica, in a thread of its own; the gate decides when it runs.

    A step learns from texts of every exit (the loss is the mean of the exits' losses, equation 5.1), averages the
    gradients over ranks in rank order, steps, and encodes further texts. Embeddings of all ranks go to the table of
    rank 0.
    """

    def __init__(
        self,
        model: LanguageModel | Encoder,
        texts: Texts,
        batches: Batches,
        mailbox: Mailbox,
        gate: Gate,
        *,
        lr: float,
        table: EmbeddingTable | None = None,
        module_s: float = 0.0,
        precision: str = AS_STORED,
    ) -> None:
        """Prepare the fine-tuning of one replica.

        Args:
            model: the model, on the device of its training.
            texts: the texts, on the same device.
            batches: texts of each step.
            mailbox: messages to and from the other ranks.
            gate: decides when modules run.
            lr: learning rate of AdamW.
            table: table of embeddings, at rank 0.
            module_s: as for :class:`~offramp.unitg.hooks.GateHooks`.
            precision: as for :func:`~offramp.workers.accelerator.autocast`.
        """
        self.model, self.progress = model, FineTuningProgress()
        self._texts, self._batches, self._mailbox, self._gate, self._table = texts, batches, mailbox, gate, table
        self._hooks = GateHooks(gate, model.units(), module_s)
        self._adam = torch.optim.AdamW(model.parameters(), lr=lr)
        self._waiting: list[Label] = []
        self._collecting = threading.Lock()
        self._boundary = threading.Condition()  # between two steps, where a checkpoint holds the thread
        self._begun, self._most = 0, _NEVER
        self._pseudo: tuple[torch.Tensor, float] | None = None
        self._precision, self._device = precision, texts.tokens.device

    def run(self, steps: int) -> None:
        """Run ``steps`` steps, or record in :attr:`progress` why not; nothing is raised."""
        start = time.perf_counter()
        try:
            with own_stream(self._device):
                for _ in range(steps):
                    self._begin()
                    self._step(self.progress.steps)
                    with self._boundary:
                        self.progress.steps += 1
                        self._boundary.notify_all()
                self._collect(last=True)
        except Stopped:
            self._leave("the run was over first")
        except Exception as fault:
            self._leave(f"{type(fault).__name__}: {' '.join(str(fault).split())}")
        self.progress.seconds += time.perf_counter() - start

    def learn_from(self, pseudo: torch.Tensor, weight: float) -> None:
        """Learn pseudo-labels as well from now on (GLEM's E-step).

        Args:
            pseudo: ``(n, classes)`` probabilities of all vertices, of which those without a training label count.
            weight: their weight in the loss; training labels have the rest.
        """
        self._pseudo = pseudo.to(self._device), weight

    def embeddings(self, width: int) -> torch.Tensor:
        """``(n, width)`` embeddings of all texts by the weights, each from its vertex's exit; the gate must be open."""
        return self._of_all(0, width)

    def scores(self, classes: int) -> torch.Tensor:
        """``(n, classes)`` class scores of all texts, as :meth:`embeddings`."""
        return self._of_all(1, classes)

    @torch.no_grad()
    def _of_all(self, part: int, width: int) -> torch.Tensor:
        rows = torch.zeros(len(self._texts.labels), width)
        for number, group in enumerate(self._batches.groups):
            for ids in torch.split(torch.from_numpy(group), _TOGETHER):
                rows[ids] = self._read(ids, number)[part].cpu()
        return rows

    def hold(self) -> int:
        """Begin no further step until :meth:`release`; returns the number of steps begun."""
        with self._boundary:
            self._most = self._begun
            return self._begun

    def reach(self, step: int) -> bool:
        """Make steps up to this number while held, with the gate open, and collect all embeddings.

        Returns:
            whether the fine-tuning is well.
        """
        with self._boundary:
            self._most = step
            self._boundary.notify_all()
            self._boundary.wait_for(lambda: self.progress.steps >= step or self.progress.fault is not None)
        if self.progress.fault is not None:
            return False
        try:
            self._collect(last=True)
        except OfframpError:  # another rank has ended its part
            return False
        return True

    def release(self) -> None:
        """Go on after :meth:`hold`."""
        with self._boundary:
            self._most = _NEVER
            self._boundary.notify_all()

    def arrays(self) -> dict[str, Any]:
        """The model and its optimiser's state, which all ranks have alike, while held."""
        return parameter_arrays(LM, dict(self.model.named_parameters()), self._adam)

    def progress_arrays(self, most: int) -> dict[str, Any]:
        """This rank's progress of at most ``most`` steps, while held."""
        exits, progress, prefix = len(self._batches.groups), self.progress, progress_prefix(self._mailbox.rank)
        losses, counts = np.zeros((most, 1 + exits)), np.zeros(most, np.int64)
        for step, (loss, each) in enumerate(zip(progress.losses, progress.exit_losses, strict=True)):
            losses[step, : 1 + len(each)] = loss, *each
            counts[step] = len(each)
        steps = np.array([progress.steps], np.int64)
        return {f"{prefix}steps": steps, f"{prefix}losses": losses, f"{prefix}exits": counts}

    def restore(self, arrays: Arrays) -> None:
        """Take over what :meth:`arrays` and :meth:`progress_arrays` returned, before any step."""
        restore_parameters(LM, dict(self.model.named_parameters()), self._adam, arrays)
        prefix = progress_prefix(self._mailbox.rank)
        steps = int(arrays[f"{prefix}steps"][0])
        losses, counts = arrays[f"{prefix}losses"][:steps].tolist(), arrays[f"{prefix}exits"][:steps].tolist()
        self.progress.steps = self._begun = steps
        self.progress.losses = [row[0] for row in losses]
        self.progress.exit_losses = [row[1 : 1 + count] for row, count in zip(losses, counts, strict=True)]

    def _begin(self) -> None:
        """Wait where a checkpoint holds the thread."""
        with self._boundary:
            self._boundary.wait_for(lambda: self._begun < self._most)
            self._begun += 1

    def _leave(self, fault: str) -> None:
        """End early; the others must not wait for this rank."""
        with self._boundary:
            self.progress.fault = fault
            self._boundary.notify_all()
        self._hooks.abandon()
        for peer in self._peers():
            self._mailbox.post(peer, Key(_NEVER, _GONE, False, 0), torch.zeros(1, dtype=torch.uint8))

    def _step(self, step: int) -> None:
        batches, rank = self._batches, self._mailbox.rank
        self._adam.zero_grad(set_to_none=True)
        losses, embedded = [], []
        exits = batches.exits() if self._pseudo is None else [i for i, group in enumerate(batches.groups) if len(group)]
        for number in exits:
            self._gate.wait()
            loss, read = self._loss(step, number, rank)
            with torch.autograd.set_multithreading_enabled(False):
                # In this thread: one that all backward passes of a GPU share must not wait at the gate.
                torch.autograd.backward(loss / len(exits))
            losses.append(loss.item())
            embedded += read
        self._average(step)
        with self._gate.module("optimiser"):
            self._adam.step()
        for number in range(len(batches.groups)):
            self._gate.wait()
            rows = torch.from_numpy(batches.encode(step, number, rank))
            if len(rows):
                with torch.no_grad():
                    embedded.append((rows, self._read(rows, number)[0].cpu()))
        self._publish(step, embedded)
        self.progress.losses.append(sum(losses) / max(1, len(losses)))
        self.progress.exit_losses.append(losses)
        self._mailbox.forget(step)

    def _loss(self, step: int, number: int, rank: int) -> tuple[torch.Tensor, list[tuple[torch.Tensor, torch.Tensor]]]:
        """Loss of a step's texts of an exit, and these texts' vertices and embeddings."""
        rows = torch.from_numpy(self._batches.learn(step, number, rank))
        loss, read = torch.zeros((), device=self._device), []
        gold = 1.0 if self._pseudo is None else 1 - self._pseudo[1]
        if len(rows):
            embedding, scores = self._read(rows, number)
            loss = gold * functional.cross_entropy(scores, self._texts.labels[rows])
            read.append((rows, embedding.detach().cpu()))
        if self._pseudo is not None:
            rows = torch.from_numpy(self._batches.unlabelled(step, number, rank))
            if len(rows):
                embedding, scores = self._read(rows, number)
                loss = loss + self._pseudo[1] * functional.cross_entropy(scores, self._pseudo[0][rows])
                read.append((rows, embedding.detach().cpu()))
        return loss, read

    def _read(self, rows: torch.Tensor, number: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Embeddings and class scores of texts, in float32."""
        with autocast(self._device, self._precision):
            embedding, scores = self.model(self._texts.tokens[rows], number)
        return embedding.float(), scores.float()

    def _peers(self) -> list[int]:
        ranks = self._batches.ranks
        return [peer for peer in range(ranks) if peer != self._mailbox.rank]

    def _average(self, step: int) -> None:
        """Average the gradients: each rank sums its part in rank order, and sends it to the others.

        Parameters that no text of the step used have no gradient on any rank.
        """
        ranks, rank = self._batches.ranks, self._mailbox.rank
        gradients = [p.grad for p in self.model.parameters() if p.grad is not None]
        if ranks == 1 or not gradients:
            return
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        parts = list(flat.tensor_split(ranks))
        for peer in self._peers():
            self._send(peer, Key(step, _PART, False, 0), parts[peer])
        mine = torch.zeros_like(parts[rank])
        for peer in range(ranks):
            mine += parts[rank] if peer == rank else self._receive(peer, Key(step, _PART, False, 0), mine.dtype)
        mine /= ranks
        for peer in self._peers():
            self._send(peer, Key(step, _SUM, False, 0), mine)
        parts[rank] = mine
        for peer in self._peers():
            parts[peer] = self._receive(peer, Key(step, _SUM, False, 0), mine.dtype)
        _scatter(torch.cat(parts), gradients)

    def _publish(self, step: int, embedded: Sequence[tuple[torch.Tensor, torch.Tensor]]) -> None:
        ids = torch.cat([rows for rows, _ in embedded])
        embeddings = torch.cat([embedding for _, embedding in embedded])
        if self._mailbox.rank != _HOME:
            payload = torch.cat([ids.double().unsqueeze(1), embeddings.double()], dim=1)
            self._send(_HOME, Key(step, _ROWS, False, 0), payload)
            return
        if self._table is not None:
            self._table.put(ids, embeddings)
        self._collect()
        self._waiting += [(peer, Key(step, _ROWS, False, 0)) for peer in self._peers()]

    def _collect(self, *, last: bool = False) -> None:
        """Store the others' rows of earlier steps in the table; they arrived before those steps' successors."""
        with self._collecting:
            for peer, key in self._waiting:
                if last:
                    self._wait(peer, key)
                payload = self._mailbox.take((peer, key))
                if payload is not None and self._table is not None:
                    rows = payload.view(torch.float64).view(-1, self._table.width + 1)
                    self._table.put(rows[:, 0].long(), rows[:, 1:].float())
            self._waiting = []

    def _send(self, peer: int, key: Key, values: torch.Tensor) -> None:
        self._mailbox.post(peer, key, values.contiguous().view(torch.uint8).flatten())

    def _receive(self, peer: int, key: Key, dtype: torch.dtype) -> torch.Tensor:
        self._wait(peer, key)
        payload = self._mailbox.take((peer, key))
        assert payload is not None
        return payload.view(dtype).to(self._device)

    def _wait(self, peer: int, key: Key) -> None:
        """Wait for the message; others may be paused for as long as the pipeline requires.

        Raises:
            OfframpError: another rank has ended early.
        """
        departed = [(other, Key(_NEVER, _GONE, False, 0)) for other in self._peers()]
        self._mailbox.wait([(peer, key), *departed])
        if self._mailbox.take((peer, key)) is None:
            raise OfframpError(f"rank {peer} has ended its part")


def _scatter(flat: torch.Tensor, gradients: list[Any]) -> None:
    at = 0
    for gradient in gradients:
        gradient.copy_(flat[at : at + gradient.numel()].view_as(gradient))
        at += gradient.numel()
