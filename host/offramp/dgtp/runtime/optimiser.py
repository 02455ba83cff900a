# SPDX-License-Identifier: Apache-2.0
"""Adam over a vector of parameters, or over a server's part of one: what it does to an element depends on no other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch

from offramp_base.wire.objects import sendable

if TYPE_CHECKING:
    from collections.abc import Sequence

Floats = npt.NDArray[np.float32]


@sendable
@dataclass(frozen=True, eq=False)
class OptimiserState:
    """Parameters and Adam's moments, ``(p,)`` each, after ``steps`` steps."""

    parameters: Floats
    mean: Floats
    square: Floats
    steps: int = 0

    @classmethod
    def initial(cls, parameters: Floats) -> OptimiserState:
        """The state before the first step."""
        return cls(parameters, np.zeros_like(parameters), np.zeros_like(parameters))

    def part(self, begin: int, end: int) -> OptimiserState:
        """The elements from ``begin`` to ``end``."""
        return OptimiserState(self.parameters[begin:end], self.mean[begin:end], self.square[begin:end], self.steps)

    @classmethod
    def joined(cls, parts: Sequence[OptimiserState]) -> OptimiserState:
        """The whole, from the parts of all servers in their order."""
        return cls(
            np.concatenate([part.parameters for part in parts]),
            np.concatenate([part.mean for part in parts]),
            np.concatenate([part.square for part in parts]),
            parts[0].steps,
        )


def cuts(parameters: int, parts: int) -> list[int]:
    """Where a vector is cut into ``parts`` of almost equal length: ``parts + 1`` places, the first of them 0."""
    whole, more = divmod(parameters, parts)
    return [k * whole + min(k, more) for k in range(parts + 1)]


class FlatAdam:
    """Adam on one vector."""

    def __init__(self, state: OptimiserState, lr: float) -> None:
        self._weights = torch.nn.Parameter(torch.from_numpy(state.parameters.copy()))
        self._adam = torch.optim.Adam([self._weights], lr=lr)
        moments = [torch.from_numpy(each.copy()) for each in (state.mean, state.square)]
        if state.steps:
            names = ("exp_avg", "exp_avg_sq")
            self._adam.state[self._weights] = {"step": torch.tensor(float(state.steps))} | dict(
                zip(names, moments, strict=True)
            )

    @property
    def parameters(self) -> torch.Tensor:
        """The vector as it is now."""
        return self._weights.detach()

    def step(self, gradient: torch.Tensor) -> None:
        """One step by the gradient of the whole batch."""
        self._weights.grad = gradient
        self._adam.step()

    def state(self) -> OptimiserState:
        """The present state."""
        parameters = self.parameters.numpy().copy()
        of = self._adam.state.get(self._weights)
        if not of:
            return OptimiserState.initial(parameters)
        return OptimiserState(
            parameters, of["exp_avg"].numpy().copy(), of["exp_avg_sq"].numpy().copy(), int(of["step"])
        )
