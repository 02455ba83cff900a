# SPDX-License-Identifier: Apache-2.0
"""``offramp lab up``, ``status``, ``exec`` and ``down``."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from offramp_base import Field, OfframpError
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import Result

if TYPE_CHECKING:
    from rich.console import Console

    from offramp_sim.lab import Lab

MODES: Final = {
    "auto": "the first that works here",
    "root": "network namespaces",
    "user": "network namespaces in a user namespace",
    "sockets": "Unix sockets, no rates",
}


@dataclass(frozen=True)
class Up:
    """Settings of a laboratory to start."""

    cluster: Annotated[Path, Field("A cluster file", position=True)]
    name: Annotated[str | None, Field("Name of the laboratory", shown_default="the cluster's")] = None
    mode: Annotated[str, Field("Where hosts run", choices=MODES)] = "auto"


@dataclass(frozen=True)
class Which:
    """The laboratory that a command concerns."""

    name: Annotated[str | None, Field("Name of the laboratory", position=True, shown_default="the only one")] = None


@dataclass(frozen=True)
class Down(Which):
    """The laboratory to end."""

    all: Annotated[bool, Field("All laboratories of this user")] = False


@dataclass(frozen=True)
class Execute:
    """A command, and where it runs."""

    host: Annotated[str, Field("HOST, or LAB/HOST if several laboratories run", position=True)]
    words: Annotated[tuple[str, ...], Field("The command", position=True, metavar="COMMAND...")]


@command(Up, Result, example="lab up cluster.yaml")
def up(given: Up, result: Result) -> None:
    """Build a cluster on this machine: a namespace for each host, rated links, embedded switches, agents.

    It lasts until offramp lab down; nothing of it outlives its process, even if that is killed.
    """
    from offramp_sim.lab.start import start

    console = show.console(wrap=False)
    with console.status("building"):
        lab, reason = start(given.cluster, given.name, given.mode)
    if reason:
        console.print(f"no namespaces: {reason}")
    show_lab(console, lab)
    result.write("offramp.lab/1", {"lab": asdict(lab), "cluster_file": str(lab.cluster_file)})


@command(Which, Result, example="lab status")
def status(given: Which, result: Result) -> None:
    """Show the laboratories of this user, and which of their processes have died."""
    from offramp_sim.lab import running
    from offramp_sim.lab.state import find

    labs = running() if given.name is None else [find(given.name)]
    console = show.console(wrap=False)
    for lab in labs:
        show_lab(console, lab)
    if not labs:
        console.print("no laboratory runs")
    result.write("offramp.lab.status/1", {"labs": [asdict(lab) | {"ended": lab.ended()} for lab in labs]})


@command(Down, example="lab down")
def down(given: Down) -> None:
    """End a laboratory and everything in it."""
    from offramp_sim.lab import running
    from offramp_sim.lab.state import end, find

    for lab in running() if given.all else [find(given.name)]:
        end(lab)
        show.console(wrap=False).print(f"{lab.name}: ended")


@command(
    Execute,
    example="lab exec h1 -- ip address",
    ignore_unknown_options=True,
    allow_interspersed_args=False,
)
def execute(given: Execute) -> None:
    """Run a command on a host of a laboratory, with this terminal; its exit status is the command's."""
    from offramp.cluster.reach import command_on
    from offramp.cluster.read import require
    from offramp_sim.lab.state import find

    words = given.words[1:] if given.words[0] == "--" else given.words
    name, _, host = given.host.rpartition("/")
    lab = find(name or None)
    cluster = lab.cluster()
    require(cluster, [host])
    chosen = next(each for each in cluster.hosts if each.name == host)
    try:
        done = subprocess.run(command_on(chosen, words, {"OFFRAMP_LAB": lab.name}), check=False)
    except OSError as error:
        raise OfframpError(f"{words[0]}: {error.strerror}") from None
    sys.stdout.flush()
    os._exit(done.returncode if done.returncode >= 0 else 128 - done.returncode)


def show_lab(console: Console, lab: Lab) -> None:
    """Print the parts of a laboratory, and those that have died."""
    ended = lab.ended()
    counts = [sum(name.startswith(f"{what} ") for name in lab.processes) for what in ("host", "switch", "agent")]
    summary = ", ".join(show.count(n, what) for n, what in zip(counts, ("host", "switch", "agent"), strict=True))
    console.print(f"{lab.name}: {summary}, {MODES[lab.mode]}; process {lab.holder.split('.')[0]}")
    for note in lab.notes:
        console.print(f"  {note}")
    for name, times in lab.restarts.items():
        console.print(f"  {name} has died and was restarted, {show.count(times, 'time')}")
    for name in ended:
        console.print(f"  {name} has died")
