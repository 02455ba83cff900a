# SPDX-License-Identifier: Apache-2.0
"""Propagators deliver the sums over boundary vertices' remote neighbours."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import partial

import torch

from offramp.g3.store import TensorStore
from offramp.models.neighbourhood import self_adjoint
from offramp.switchgnn.sum_codec import ExchangeId
from offramp.workers.accelerator import to_host
from offramp.workers.traffic import Timers, Traffic
from offramp_base.errors import OfframpError


class Propagator(ABC):
    """Carries boundary features between the workers; ``b`` is the number of local boundary vertices.

    Attributes:
        timers: seconds, under ``communication``.
        exchange_id: the current exchange.
        repeated: exchanges that were repeated because a value saturated.
        draws: exchanges whose rounding was drawn so far.
        repeatable: whether equal features give equal sums, unlike with fresh random rounding.
        on_device: whether :meth:`exchange` accepts rows on any device; otherwise it gets them in main memory.
    """

    repeatable = True
    on_device = False

    def __init__(self) -> None:
        self._traffic = Traffic()
        self.timers = Timers()
        self.exchange_id = ExchangeId(1, backward=False)
        self.repeated = self.draws = 0
        self._layer = 0
        self._layers = 0  # of a pass whose first sum is kept; 0: none is
        self._store: TensorStore | None = None  # of that sum, on large graphs
        self._first: tuple[torch.Tensor, torch.Tensor] | None = None

    @property
    def traffic(self) -> Traffic:
        """Traffic of this worker's link so far."""
        return self._traffic

    def keep_first(self, layers: int, store: TensorStore | None = None) -> None:
        """From now on make the first of every ``layers`` sums only once, since it is of features that never change.

        Does nothing if sums are not repeatable. Every worker must call it. ``store``: of what is kept.
        """
        if self.repeatable:
            self._layers, self._store = layers, store

    def begin_epoch(self) -> None:
        """Begin an epoch: the next sum is the first layer's."""
        self.timers.reset()
        self._layer = 0

    def remote_sum(self, y: torch.Tensor) -> torch.Tensor:
        """Sum over each boundary vertex's remote neighbours, ``(b, F)`` to ``(b, F)``, with its gradient.

        All workers must call it together, and the backward pass calls it again: the graph is undirected, so gradients
        are exchanged like features.
        """
        self._layer += 1
        if self._layers and (self._layer - 1) % self._layers == 0:
            return self._kept_sum(y.detach())
        directions = iter((ExchangeId(self._layer, backward=False), ExchangeId(self._layer, backward=True)))
        return self_adjoint(partial(self._timed, directions), y)

    def _kept_sum(self, y: torch.Tensor) -> torch.Tensor:
        if self._first is None:
            sums = self._timed(iter((ExchangeId(self._layer, backward=False),)), y)
            store = self._store
            self._first = (y.clone(), sums) if store is None else (store.kept(y), store.kept(sums))
        kept, sums = self._first
        if not torch.equal(kept, y):
            raise OfframpError("layer 1: the features whose sums were kept have changed; expected the input features")
        return sums

    def _timed(self, ids: Iterator[ExchangeId], y: torch.Tensor) -> torch.Tensor:
        """Make the next of the exchanges ``ids``."""
        self.exchange_id = next(ids)
        y = y.detach()
        start = time.perf_counter()
        try:
            return self.exchange(to_host(y) if y.is_cuda and not self.on_device else y).to(y.device)
        finally:
            self.timers.seconds["communication"] += time.perf_counter() - start

    @abstractmethod
    def exchange(self, y: torch.Tensor) -> torch.Tensor:
        """The sum itself, ``(b, F)`` to ``(b, F)``, outside of autograd.

        Raises:
            OfframpError: another worker or the switch cannot be reached, or a value is not finite.
        """
