# SPDX-License-Identifier: Apache-2.0
"""Hooks that make a language model's modules pass the gate, in forward and backward passes (section 3.6)."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torch import nn

from offramp.unitg.gate import Interval

if TYPE_CHECKING:
    from offramp.unitg.gate import Gate

Unit = tuple[str, nn.Module, bool]
"""Name of a module, the module, and whether its input has a gradient, so that its backward pass can be held."""


class GateHooks:
    """Makes every module wait at its boundary until the gate is open, and record when it ran.

    The models are unchanged. ``forward_s`` is an emulated device's time for a forward pass; a backward pass takes twice
    as long.
    """

    def __init__(self, gate: Gate, modules: Iterable[Unit], forward_s: float = 0.0) -> None:
        self._gate, self._forward_s = gate, forward_s
        self._start = 0.0
        self._inside = False
        self._handles: list[Any] = []
        for unit in modules:
            self._attach(*unit)

    def remove(self) -> None:
        """Remove the hooks; the modules run as before."""
        for handle in self._handles:
            handle.remove()

    def abandon(self) -> None:
        """Clean up after the model has failed, possibly inside a module."""
        if self._inside:
            self._inside = False
            self._gate.device.end(self._start, 0.0)

    def _attach(self, name: str, module: nn.Module, differentiable: bool) -> None:
        back, forward_s = f"{name} backward", self._forward_s

        def begin(*_: Any) -> None:
            self._start, self._inside = self._gate.wait(), True
            self._gate.device.begin()

        def end_forward(*_: Any) -> None:
            self._end(name, forward_s)

        def end_backward(*_: Any) -> None:
            self._end(back, 2 * forward_s)

        self._handles += [module.register_forward_pre_hook(begin), module.register_forward_hook(end_forward)]
        if differentiable:
            self._handles += [
                module.register_full_backward_pre_hook(begin),
                module.register_full_backward_hook(end_backward),
            ]

    def _end(self, name: str, seconds: float) -> None:
        self._inside = False
        self._gate.device.end(self._start, seconds)
        self._gate.intervals.append(Interval(name, self._start, time.perf_counter()))
