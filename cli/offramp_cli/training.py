# SPDX-License-Identifier: Apache-2.0
"""``offramp train``: full-graph training by itself, other systems by their name behind it."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from offramp_base.errors import OfframpError
from offramp_cli.command import Late, add
from offramp_cli.dgs.train import dgs
from offramp_cli.torchgt.train import torchgt
from offramp_cli.train import train
from offramp_cli.unitg.train import unitg


class Systems(Late, TyperGroup):
    """Runs the callback where no system is named, and only there."""

    def invoke(self, ctx: Any) -> Any:
        """Run the named system, or the callback.

        Raises:
            OfframpError: options stand before the name of a system, which would not see them.
        """
        if not ctx._protected_args:
            return super().invoke(ctx)
        system = ctx._protected_args[0]
        for option in self.params:
            source = ctx.get_parameter_source(option.name or "")
            if source is not None and source.name == "COMMANDLINE":
                raise OfframpError(f"{option.opts[0]}: options stand behind the system's name: train {system} …")
        self.callback = None
        return super().invoke(ctx)


training = typer.Typer(
    cls=Systems,
    invoke_without_command=True,
    epilog=train.epilog,
    context_settings={"help_option_names": ["-h", "--help"]},
)
training.callback()(train.stub())
add(training, dgs, torchgt, unitg)
