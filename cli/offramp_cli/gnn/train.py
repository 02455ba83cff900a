# SPDX-License-Identifier: Apache-2.0
"""``offramp gnn train``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

from offramp_base import Field, SettingsError
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import Result
from offramp_cli.stages import stages

if TYPE_CHECKING:
    from offramp.gnn.epochs import GnnEpoch, GnnResult
    from offramp.gnn.settings import GnnJob, GnnSettings


@dataclass(frozen=True)
class SwitchAddress:
    """A live switch in place of the embedded one."""

    switch: Annotated[
        str | None, Field("P4Runtime address of a live switch; the embedded one by default", group="Switch")
    ] = None
    ports: Annotated[
        str | None, Field("Live switch: each rank's link, LINK or PORT@LINK; an interface or TRANSPORT:WHERE")
    ] = None


@command(
    "offramp.gnn.settings:GnnSettings",
    SwitchAddress,
    Result,
    example="gnn train store --model sage --checkpoint net.safetensors",
)
def train(settings: GnnSettings, switch: SwitchAddress, result: Result) -> None:
    """Train a PyG model, or your own, on a partitioned graph; keep the weights that were best in validation."""
    from offramp.gnn.fit import train_rank
    from offramp.gnn.settings import GnnJob
    from offramp_cli.gnn.ranks import on_ranks

    for field in ("switch", "ports"):
        if settings.propagator != "switch" and getattr(switch, field) is not None:
            raise SettingsError(field, "goes with {propagator} switch only")
    if (switch.switch is None) != (switch.ports is None):
        raise SettingsError("ports" if switch.ports is None else "switch", "{switch} and {ports} go together")

    console = show.console(one_rank=True)
    with stages(console) as stage:
        stage("store")

        def print_epoch(epoch: GnnEpoch) -> None:
            stage.advance(f"epoch {epoch.epoch} of {settings.epochs}", epoch.epoch, settings.epochs)
            console.print(
                f"epoch {epoch.epoch:4} loss {epoch.loss:.4f} train {epoch.train:.4f} val {epoch.val:.4f} "
                f"test {epoch.test:.4f} {epoch.seconds:.3f} s"
            )

        done: GnnResult | None = on_ranks(train_rank, settings, GnnJob, print_epoch, partial(_job, settings, switch))
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


@contextmanager
def _job(settings: GnnSettings, at: SwitchAddress, ranks: int) -> Iterator[GnnJob]:
    """Each rank's input, with the embedded switch for as long as they need it."""
    from offramp.gnn.settings import GnnJob

    if settings.propagator != "switch" or ranks == 1:
        yield GnnJob(settings)
    elif at.switch is not None and at.ports is not None:
        from offramp.train import parse_ports
        from offramp_base.transport import parse_link

        links = [(port, str(parse_link(link, "auto"))) for port, link in parse_ports(at.ports, ranks)]
        yield GnnJob(settings, at.switch, links)
    else:
        from offramp_base.transport import shm
        from offramp_p4 import EmbeddedSwitch

        with EmbeddedSwitch(None, range(1, ranks + 1), transport=shm.or_auto()) as switch:
            yield GnnJob(settings, switch.address, list(zip(switch.port_numbers, switch.port_specs, strict=True)))
