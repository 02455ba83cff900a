# SPDX-License-Identifier: Apache-2.0
"""The options of the model of NCCL's calls."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from offramp_base import Field, SettingsError

if TYPE_CHECKING:
    from offramp.themis import Network


def _generations() -> list[str]:
    from offramp.themis.nccl import GpuGeneration

    return [each.value for each in GpuGeneration]


@dataclass(frozen=True)
class NcclModel:
    """GPUs, channels and constants of NCCL's tuner."""

    gpu: Annotated[
        str | None,
        Field(
            "Generation of the GPUs, for the limits of channels and for NVLS",
            choices=_generations,
            shown_default="no limits, no NVLS",
            group="NCCL's calls",
        ),
    ] = None
    channels: Annotated[int | None, Field("Channels of a communicator", least=1, most=64, shown_default="16")] = None
    nccl_constants: Annotated[
        Path | None, Field("A YAML file with other constants of the tuner, by NCCL's names", shown_default="2.20's")
    ] = None

    def on(self, network: Network) -> Network:
        """The network with NCCL's calls as stages."""
        from offramp.themis.nccl import CHANNELS, GpuGeneration
        from offramp.themis.nccl_constants import NcclConstants

        constants = NcclConstants.read(self.nccl_constants)
        gpu = None if self.gpu is None else GpuGeneration(self.gpu)
        return network.by_nccl(gpu, self.channels or CHANNELS, constants)

    def expect_unused(self, where: str) -> None:
        """Refuse options that have no effect.

        Raises:
            SettingsError: names the first of them.
        """
        for name in ("gpu", "channels", "nccl_constants"):
            value = getattr(self, name)
            if value is not None:
                raise SettingsError(name, f"has no effect with {where}", str(value))
