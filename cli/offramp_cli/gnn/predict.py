# SPDX-License-Identifier: Apache-2.0
"""``offramp gnn predict``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import Result

if TYPE_CHECKING:
    from offramp.gnn.settings import UseSettings


@command("offramp.gnn.settings:UseSettings", Result, example="gnn predict store net.safetensors --out out.npy")
def predict(settings: UseSettings, result: Result) -> None:
    """Write the scores of all vertices, computed with weights of offramp gnn train."""
    from offramp.gnn.infer import predict_rank
    from offramp.gnn.settings import UseSettings
    from offramp_cli.gnn.ranks import on_ranks

    console = show.console(one_rank=True)
    shape = on_ranks(predict_rank, settings, UseSettings)
    if shape is None:
        return
    console.print(show.facts({"file": settings.out, "shape": " x ".join(map(str, shape))}.items()))
    result.write("offramp.gnn.predict/1", {"file": str(settings.out), "shape": shape})
