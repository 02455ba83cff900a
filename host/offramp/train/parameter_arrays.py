# SPDX-License-Identifier: Apache-2.0
"""Parameters by name and Adam's state of each, as arrays for checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from offramp.train.checkpoint import MOMENTS

if TYPE_CHECKING:
    from offramp_base.archive import Arrays

Parameters = Mapping[str, torch.nn.Parameter]


def parameter_arrays(prefix: str, parameters: Parameters, adam: torch.optim.Optimizer | None) -> dict[str, Any]:
    """Parameters, and Adam's moments and number of steps of each: zeros for those that had no gradient yet."""
    arrays: dict[str, Any] = {}
    for name, parameter in parameters.items():
        state = adam.state.get(parameter, {}) if adam is not None else {}
        arrays[f"{prefix}model.{name}"] = parameter.detach().cpu().numpy()
        for moment in MOMENTS:
            values = state.get(moment, torch.zeros_like(parameter))
            arrays[f"{prefix}optimizer.{moment}.{name}"] = values.detach().cpu().numpy()
        arrays[f"{prefix}optimizer.step.{name}"] = np.array([float(state.get("step", 0.0))], np.float32)
    return arrays


def restore_parameters(prefix: str, parameters: Parameters, adam: torch.optim.Optimizer | None, arrays: Arrays) -> None:
    """Take over what :func:`parameter_arrays` returned."""

    def tensor(name: str) -> torch.Tensor:
        return torch.from_numpy(arrays[prefix + name].copy())

    for name, parameter in parameters.items():
        with torch.no_grad():
            parameter.copy_(tensor(f"model.{name}"))
        if adam is not None:
            moments = {moment: tensor(f"optimizer.{moment}.{name}").to(parameter.device) for moment in MOMENTS}
            adam.state[parameter] = {"step": tensor(f"optimizer.step.{name}")[0].clone(), **moments}
