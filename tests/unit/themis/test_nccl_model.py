# SPDX-License-Identifier: Apache-2.0
"""The options of NCCL's model become the network's own arguments."""

from __future__ import annotations

from pathlib import Path

import pytest

from offramp.themis import load_network
from offramp.themis.nccl import CHANNELS, GpuGeneration
from offramp.themis.nccl_constants import NcclConstants
from offramp_base.errors import OfframpError
from offramp_cli.themis.nccl_model import NcclModel

NETWORK = load_network("2D-SW_SW")


@pytest.mark.parametrize("generation", [None, *GpuGeneration])
@pytest.mark.parametrize("channels", [None, 1, 24])
def test_options_reach_the_network(generation: GpuGeneration | None, channels: int | None) -> None:
    model = NcclModel(None if generation is None else generation.value, channels)
    assert model.on(NETWORK) == NETWORK.by_nccl(generation, channels or CHANNELS, NcclConstants.read(None))
    assert CHANNELS == 16


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (NcclModel(gpu="hopper"), "gpu hopper"),
        (NcclModel(channels=4), "channels 4"),
        (NcclModel(nccl_constants=Path("c.yaml")), r"nccl_constants c\.yaml"),
    ],
)
def test_options_without_effect_are_refused(model: NcclModel, words: str) -> None:
    with pytest.raises(OfframpError, match=f"^{words}: has no effect with a trace"):
        model.expect_unused("a trace")
    NcclModel().expect_unused("a trace")
