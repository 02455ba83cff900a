# SPDX-License-Identifier: Apache-2.0
"""``offramp nic build``, ``run``, ``upgrade``, ``stats`` and ``metrics``: the agent of smartNICs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from offramp_base import Field, OfframpError
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import Result

if TYPE_CHECKING:
    from offramp.nic.build import Variant


@dataclass(frozen=True)
class Build:
    """The folder of a build."""

    folder: Annotated[Path | None, Field("Folder of the build", short="-B", shown_default="in the user's cache")] = None


@dataclass(frozen=True)
class AgentPackage:
    """Outputs of a build."""

    package: Annotated[bool, Field("Also make a .deb package")] = False


@dataclass(frozen=True)
class Socket:
    """The control socket of an agent."""

    socket: Annotated[str, Field("Control socket; its permissions say who may use the agent")] = (
        "/run/offramp-nic/agent.sock"
    )


@dataclass(frozen=True)
class AgentSettings(Socket):
    """Settings of an agent that runs."""

    port: Annotated[
        tuple[str, ...],
        Field(
            "Interface, xdp:INTERFACE, memif:PATH, vhost:PATH, virtio:PATH, PCI address or DPDK device, each with an "
            "optional @VLAN at the end; repeatable",
            short="-p",
        ),
    ] = ()
    cores: Annotated[int, Field("Cores that work", least=1)] = 1
    queues: Annotated[int, Field("Queues of each port in each direction, one for each client", least=1, most=64)] = 1
    compression: Annotated[str, Field("Compression: zlib | isal | none | a device that DPDK finds")] = "zlib"
    mode: Annotated[str, Field("Permissions of the socket, in octal")] = "600"
    spin: Annotated[bool, Field("Never sleep, for cores that it has for itself")] = False
    huge: Annotated[bool, Field("Use huge pages")] = False
    software_rules: Annotated[bool, Field("Do not use the devices' own flow rules")] = False
    telemetry: Annotated[bool, Field("Open DPDK's telemetry socket")] = False


@command("offramp.nic.build:Variant", Build, AgentPackage, example="nic build --package")
def build(variant: Variant, where: Build, extra: AgentPackage) -> None:
    """Build the agent from its sources."""
    import subprocess

    from offramp.nic import make_sysroot
    from offramp.nic.build import build as build_agent

    options = variant.options()
    out = show.console(wrap=False)
    with out.status("building") as status:
        if variant.sysroot is not None:
            make_sysroot(variant.sysroot, variant.arch, lambda what: status.update(f"sysroot: {what}"))
            status.update("building")
        folder = build_agent(where.folder, options, variant=variant.name)
        if extra.package:
            done = subprocess.run(["cpack", "-G", "DEB"], cwd=folder, check=False, capture_output=True, text=True)
            if done.returncode:
                raise OfframpError(f"cpack: {(done.stderr or done.stdout).strip().splitlines()[-1]}")
    out.print(f"built in {folder}")
    for deb in sorted(folder.glob("*.deb")) if extra.package else []:
        out.print(f"package {deb}")


@command(AgentSettings, Build, example="nic run --port eth1 --cores 2")
def run(agent: AgentSettings, where: Build) -> None:
    """Run the agent until Ctrl-C; build it first if need be."""
    _run(agent, where)


@command(AgentSettings, Build, example="nic upgrade --port eth1 --cores 2")
def upgrade(agent: AgentSettings, where: Build) -> None:
    """Replace the agent at the socket, keep its clients, and run until Ctrl-C; build it first if need be.

    The ports must be those of the running agent, on interfaces; cores and their options may differ.
    """
    if not Path(agent.socket).is_socket():
        raise OfframpError(f"agent {agent.socket}: no socket; is `offramp nic run` running?")
    _run(agent, where, "--take-over")


def _run(agent: AgentSettings, where: Build, *more: str) -> None:
    from offramp.nic import agent_program

    words = ["--socket", agent.socket, "--cores", str(agent.cores), "--compression", agent.compression]
    words += ["--mode", agent.mode, *(word for each in agent.port for word in ("--port", each))]
    words += ["--queues", str(agent.queues)] + ["--spin"] * agent.spin + ["--huge"] * agent.huge
    words += ["--software-rules"] * agent.software_rules + ["--telemetry"] * agent.telemetry
    program = agent_program(where.folder)
    Path(agent.socket).parent.mkdir(parents=True, exist_ok=True)
    os.execv(program, [str(program), *words, *more])  # noqa: S606 (it takes this process' place)


@dataclass(frozen=True)
class Metrics:
    """The file for metrics."""

    out: Annotated[
        Path | None,
        Field("File to replace atomically, for example for the node exporter's textfile collector", written=True),
    ] = None


@command(Socket, Metrics, example="nic metrics --socket /run/offramp-nic/agent.sock")
def metrics(where: Socket, to: Metrics) -> None:
    """Print the counters of a running agent in Prometheus' text format."""
    import sys
    from contextlib import closing

    from offramp.nic import AgentConnection
    from offramp.nic.metrics import metrics as text_of

    with closing(AgentConnection(where.socket)) as connection:
        text = text_of(connection.stats())
    if to.out is None:
        sys.stdout.write(text)
        return
    partial = to.out.with_name(f".{to.out.name}.{os.getpid()}")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(to.out)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise OfframpError(f"{to.out}: {error.strerror}") from None


@command(Socket, Result, example="nic stats --json -")
def stats(where: Socket, result: Result) -> None:
    """Show the counters of a running agent."""
    from contextlib import closing

    from rich.table import Table

    from offramp.nic import AgentConnection

    with closing(AgentConnection(where.socket)) as connection:
        numbers = connection.stats()
    out = show.console()
    counts = Table(box=None, show_header=False)
    for name, value in numbers.items():
        if name != "ports":
            counts.add_row(name.replace("_", " "), str(value))
    out.print(counts)
    columns = ("name", "received", "sent", "missed", "unmatched", "corrupt", "steering")
    last = "sent by class, the most urgent first"
    ports = Table("port", *columns[1:], last, box=None)
    for each in numbers["ports"]:
        by_class = ", ".join(map(str, each["classes"]))
        ports.add_row(*(str(each[column]) for column in columns), by_class)
    if numbers["ports"]:
        out.print(ports)
    result.write("offramp.nic.stats/1", numbers)
