# SPDX-License-Identifier: Apache-2.0
"""``offramp gnn train``."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import Result
from offramp_cli.stages import stages

if TYPE_CHECKING:
    from offramp.gnn.fit import GnnEpoch, GnnResult
    from offramp.gnn.settings import GnnSettings


@command(
    "offramp.gnn.settings:GnnSettings", Result, example="gnn train store --model sage --checkpoint net.safetensors"
)
def train(settings: GnnSettings, result: Result) -> None:
    """Train a model of PyG, or one's own, on a partitioned graph; keep the weights that were best in validation."""
    from offramp.gnn.fit import train_rank
    from offramp.gnn.settings import GnnSettings
    from offramp_cli.gnn.ranks import on_ranks

    console = show.console(one_rank=True)
    with stages(console) as stage:
        stage("store")

        def told(epoch: GnnEpoch) -> None:
            stage.advance(f"epoch {epoch.epoch} of {settings.epochs}", epoch.epoch, settings.epochs)
            console.print(
                f"epoch {epoch.epoch:4} loss {epoch.loss:.4f} train {epoch.train:.4f} val {epoch.val:.4f} "
                f"test {epoch.test:.4f} {epoch.seconds:.3f} s"
            )

        done: GnnResult | None = on_ranks(train_rank, settings, GnnSettings, told)
    if done is None:
        return
    best = done.epochs[done.best - 1]
    rows = {
        "best epoch": done.best,
        f"validation {settings.metric}": f"{best.val:.4f}",
        f"test {settings.metric}": f"{best.test:.4f}",
        "parameters": done.parameters,
    }
    if settings.checkpoint is not None:
        rows["weights"] = str(settings.checkpoint)
    console.print(show.facts(rows.items()))
    result.write("offramp.gnn.train/1", asdict(done))
