"""How a worker learns the sums over its boundary vertices' remote neighbours."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from offramp.train.sparse import self_adjoint
from offramp.train.traffic import Timers, Traffic

if TYPE_CHECKING:
    import torch


class Propagator(ABC):
    """Carries boundary features between the workers; ``b`` boundary vertices are local.

    Attributes:
        traffic: what this worker's link has carried so far.
        timers: seconds, under ``communication``.
    """

    def __init__(self) -> None:
        self.traffic = Traffic()
        self.timers = Timers()

    def remote_sum(self, y: torch.Tensor) -> torch.Tensor:
        """Sum over each boundary vertex's remote neighbours, ``(b, F)`` to ``(b, F)``, with its gradient.

        Every worker must call it together, and the backward pass calls it again: the graph is undirected,
        so gradients take the same way as features.
        """
        return self_adjoint(self._timed, y)

    def _timed(self, y: torch.Tensor) -> torch.Tensor:
        with self.timers("communication"):
            return self.exchange(y.detach())

    @abstractmethod
    def exchange(self, y: torch.Tensor) -> torch.Tensor:
        """The sum itself, ``(b, F)`` to ``(b, F)``, outside of autograd.

        Raises:
            OfframpError: another worker or the switch cannot be reached, or a value is not finite.
        """
