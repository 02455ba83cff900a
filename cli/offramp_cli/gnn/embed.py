# SPDX-License-Identifier: Apache-2.0
"""``offramp gnn embed``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import Result

if TYPE_CHECKING:
    from offramp.gnn.settings import UseSettings


@command("offramp.gnn.settings:UseSettings", Result, example="gnn embed store net.safetensors --out out.npy")
def embed(settings: UseSettings, result: Result) -> None:
    """Write embeddings of all vertices: the input of the last layer, or the output of a layer."""
    from offramp.gnn.infer import embed_rank
    from offramp.gnn.settings import UseSettings
    from offramp_cli.gnn.ranks import on_ranks

    console = show.console(one_rank=True)
    shape = on_ranks(embed_rank, settings, UseSettings)
    if shape is None:
        return
    console.print(show.facts({"file": settings.out, "shape": " x ".join(map(str, shape))}.items()))
    result.write("offramp.gnn.embed/1", {"file": str(settings.out), "shape": shape})
