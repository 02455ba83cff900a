# SPDX-License-Identifier: Apache-2.0
"""The command tree; each command lives in a module of its own."""

from __future__ import annotations

from typing import Annotated

import typer

import offramp
from offramp_cli.command import add
from offramp_cli.demo import demo
from offramp_cli.fpga.group import fpga
from offramp_cli.hermod.group import coflow
from offramp_cli.leo.group import leo
from offramp_cli.nic.group import nic
from offramp_cli.reproduce import reproduce
from offramp_cli.schema import schema
from offramp_cli.simulate_group import simulate
from offramp_cli.switch.bench import bench
from offramp_cli.switch.doctor import doctor
from offramp_cli.switch.fuzz import fuzz
from offramp_cli.switch.lint import lint
from offramp_cli.switch.p4info import p4info
from offramp_cli.switch.resources import resources
from offramp_cli.switch.run import Bmv2Arguments, run
from offramp_cli.switch.shell import CONTEXT as SHELL_CONTEXT
from offramp_cli.switch.shell import shell
from offramp_cli.switch.stf import stf
from offramp_cli.switch.trace import trace
from offramp_cli.switchgnn.plan import plan
from offramp_cli.token import token
from offramp_cli.training import training
from offramp_cli.transport.bench import bench as transport_bench
from offramp_cli.transport.list import list_transports

_CONTEXT = {"help_option_names": ["-h", "--help"]}

app = typer.Typer(
    name="offramp",
    help="Take the communication of distributed training off the host.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings=_CONTEXT,
)
switch = typer.Typer(help="The P4 software switch.", no_args_is_help=True, context_settings=_CONTEXT)

transport = typer.Typer(help="How frames reach the switch.", no_args_is_help=True, context_settings=_CONTEXT)

add(app, demo)
app.add_typer(training, name="train")
add(app, plan)
add(app, reproduce)
app.add_typer(switch, name="switch")
app.add_typer(simulate, name="simulate")
app.add_typer(coflow, name="coflow")
app.add_typer(fpga, name="fpga")
app.add_typer(leo, name="leo")
app.add_typer(nic, name="nic")
switch.command(cls=Bmv2Arguments)(run)
switch.command()(stf)
switch.command()(trace)
switch.command()(bench)
switch.command()(doctor)
switch.command()(fuzz)
switch.command()(lint)
switch.command()(p4info)
switch.command()(resources)
switch.command(context_settings=SHELL_CONTEXT)(shell)
app.add_typer(transport, name="transport")
add(transport, list_transports, transport_bench)
app.command()(token)
app.command()(schema)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"offramp {offramp.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Take the communication of distributed training off the host."""
