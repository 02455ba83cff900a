# SPDX-License-Identifier: Apache-2.0
"""``offramp nic``: the agent of smartNICs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from offramp_base.errors import OfframpError
from offramp_cli.check_table import show_checks
from offramp_cli.json_file import write_json
from offramp_cli.nic.bench import bench

nic = typer.Typer(
    help="The agent of smartNICs.", no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]}
)
nic.command()(bench)
_SOCKET = "/run/offramp-nic/agent.sock"


@nic.command()
def build(
    folder: Annotated[
        Path | None, typer.Option("--folder", "-B", help="Of the build; default: in the user's cache.")
    ] = None,
    arch: Annotated[
        str, typer.Option(help="native | aarch64 (by cross-compiling; without --sysroot: offloads and their tests).")
    ] = "native",
    sysroot: Annotated[
        Path | None,
        typer.Option(help="Root of a system with DPDK for --arch; where there is none, Debian's is put there."),
    ] = None,
    sanitize: Annotated[str, typer.Option(help="address,undefined or thread; default: none.")] = "",
    package: Annotated[bool, typer.Option("--package", help="Make a .deb, too.")] = False,
) -> None:
    """Build the agent from its sources."""
    import subprocess

    from rich.console import Console

    from offramp.nic.build import build as build_agent
    from offramp.nic.build import cache_folder, variant
    from offramp.nic.sysroot import make_sysroot

    name, options = variant(arch, sanitize, sysroot)
    console = Console(highlight=False, soft_wrap=True)
    with console.status("building") as status:
        if sysroot is not None:
            make_sysroot(sysroot, arch, lambda what: status.update(f"sysroot: {what}"))
            status.update("building")
        made = build_agent(folder or cache_folder(name), options)
        if package:
            done = subprocess.run(["cpack", "-G", "DEB"], cwd=made, check=False, capture_output=True, text=True)
            if done.returncode:
                raise OfframpError(f"cpack: {(done.stderr or done.stdout).strip().splitlines()[-1]}")
    console.print(f"built in {made}")
    for deb in sorted(made.glob("*.deb")) if package else []:
        console.print(f"package {deb}")


@nic.command()
def run(
    socket: Annotated[str, typer.Option(help="Control socket; its permissions say who may use the agent.")] = _SOCKET,
    port: Annotated[
        list[str] | None,
        typer.Option("--port", "-p", help="Interface, PCI address or DPDK device; again for more.", show_default=False),
    ] = None,
    cores: Annotated[int, typer.Option(min=1, help="That work.")] = 1,
    compression: Annotated[str, typer.Option(help="zlib | isal | none | a device that DPDK finds.")] = "zlib",
    mode: Annotated[str, typer.Option(help="Permissions of the socket, octal.")] = "600",
    spin: Annotated[bool, typer.Option("--spin", help="Never sleep: for cores of its own.")] = False,
    huge: Annotated[bool, typer.Option("--huge", help="Use huge pages.")] = False,
    folder: Annotated[Path | None, typer.Option("--folder", "-B", help="Of the build.")] = None,
) -> None:
    """Run the agent until Ctrl-C; build it first if need be."""
    from offramp.nic.build import agent_program

    words = ["--socket", socket, "--cores", str(cores), "--compression", compression, "--mode", mode]
    words += [word for each in port or [] for word in ("--port", each)]
    words += ["--spin"] * spin + ["--huge"] * huge
    program = agent_program(folder)
    Path(socket).parent.mkdir(parents=True, exist_ok=True)
    os.execv(program, [str(program), *words])  # noqa: S606 (it takes this process' place)


@nic.command()
def stats(
    socket: Annotated[str, typer.Option(help="Control socket of the agent.")] = _SOCKET,
    json_path: Annotated[str | None, typer.Option("--json", help="Write them to this file.")] = None,
) -> None:
    """Show what a running agent counts."""
    from rich.console import Console
    from rich.table import Table

    from offramp.nic.connection import Connection

    connection = Connection(socket)
    try:
        found = connection.stats()
    finally:
        connection.close()
    console = Console(highlight=False)
    table = Table(box=None, show_header=False)
    for name, value in found.items():
        if name != "ports":
            table.add_row(name.replace("_", " "), str(value))
    console.print(table)
    ports = Table("port", "received", "sent", "missed", "sent by class, the most urgent first", box=None)
    for each in found["ports"]:
        counts = ", ".join(map(str, each["classes"]))
        ports.add_row(*(str(each[column]) for column in ("name", "received", "sent", "missed")), counts)
    if found["ports"]:
        console.print(ports)
    write_json(json_path, found)


@nic.command()
def doctor() -> None:
    """Check packages, drivers and rights; exit code 1 if something needed is missing."""
    from offramp.nic.doctor import checks

    show_checks(checks())
