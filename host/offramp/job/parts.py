# SPDX-License-Identifier: Apache-2.0
"""What a job needs on its hosts and switches beside a way's programs: agents, bitstreams, and a plan of queues.

Each is a step of the transaction that deploys the job. What runs on a host runs there as the cluster's file says.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from offramp.cluster.model import Agent, Card, ClusterHost, ClusterSwitch
from offramp.cluster.reach import command_on
from offramp.fabric.forwarding import ports_of_hosts
from offramp.hermod.deploy.p4 import P4Target, switch_plan
from offramp.hermod.plan_file import read_plan
from offramp.hermod.queues import QueuePlan
from offramp.job import systems
from offramp.job.kind import PlacedJob
from offramp.job.network import interface
from offramp.job.shared_program import SharedSizes, sizes_for_pages
from offramp.job.switches import ProgramOnSwitch
from offramp.job.transaction import TransactionStep
from offramp.nic.process import STOP_S, end_agent, start_agent
from offramp.p4src import p4_text
from offramp_base.ending.left import temporary_folder
from offramp_base.errors import OfframpError
from offramp_base.p4rt.session import Session

_CommandWords = tuple[list[str], list[str], list[str]]
"""Words of a command, of the one that undoes it, and of the one that checks it."""
_COMMAND_S: Final = 600.0
_OFFRAMP: Final = ("-m", "offramp")
_LAST: Final = 300
"""Characters of a failed command's last words in the error."""


def device_steps(placed: PlacedJob) -> list[TransactionStep]:
    """The agents that the job starts and the cards that it loads, host by host."""
    steps: list[TransactionStep] = []
    for host in placed.hosts:
        place = placed.cluster.place(host.name)
        steps += [StartedAgent(agent, host, place) for agent in host.agents if agent.start]
        steps += [_card_step(card, card.bitstream, host, place) for card in host.cards if card.bitstream is not None]
    return steps


@dataclass
class StartedAgent:
    """A smartNIC agent that the job starts, and that ends with this process, however that ends.

    Attributes:
        agent: the agent.
        host: the host.
        place: ``FILE:LINE`` of the host.
    """

    agent: Agent
    host: ClusterHost
    place: str
    _process: subprocess.Popen[str] | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """Name of the step for people."""
        return f"start of agent {self.agent.name} on {self.host.name}"

    def apply(self) -> None:
        """Start it, and wait until it listens.

        Raises:
            OfframpError: it does not start; the message is its own.
        """
        agent = self.agent
        words = [agent.program, "--until-eof", "--socket", agent.socket, "--cores", str(agent.cores)]
        if agent.interface is not None:
            words += ["--port", agent.interface]
        with temporary_folder() as folder:
            try:
                self._process = start_agent(command_on(self.host, words), Path(folder) / "log")
            except OSError as error:
                raise OfframpError(f"{self.place}: {agent.program}: {error.strerror}") from None
            except OfframpError as error:
                raise OfframpError(f"{self.place}: agent {agent.name}: {error}") from None

    def undo(self) -> None:
        """End it, by the end of its input, which ssh passes on, or else by signals."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_S)
        end_agent(process)

    def holds(self) -> str:
        """The reason why the agent cannot be used; else empty."""
        if self._process is None or self._process.poll() is not None:
            return f"agent {self.agent.name} of {self.host.name} has ended"
        return ""


@dataclass
class CommandStep:
    """A command on a host or a switch, and the one that takes back what it did.

    Attributes:
        name: name of the step for people.
        node: the host or switch.
        place: its ``FILE:LINE``.
        forward: the command's words.
        back: words of the command that undoes it; empty: nothing has to be undone.
        check: words of a command that fails where it no longer holds; empty: that is not looked at.
        atomic: whether the command leaves nothing behind if it fails.
    """

    name: str
    node: ClusterHost | ClusterSwitch
    place: str
    forward: Sequence[str]
    back: Sequence[str] = ()
    check: Sequence[str] = ()
    atomic: bool = True

    def apply(self) -> None:
        """Run it; what it has begun is taken back if it fails.

        Raises:
            OfframpError: it fails, with its last words.
        """
        try:
            self._run(self.forward)
        except BaseException:
            if not self.atomic:
                with contextlib.suppress(OfframpError):
                    self.undo()
            raise

    def undo(self) -> None:
        """Take it back.

        Raises:
            OfframpError: that fails, with its last words.
        """
        if self.back:
            self._run(self.back)

    def holds(self) -> str:
        """The reason why it no longer holds; else empty."""
        try:
            if self.check:
                self._run(self.check)
        except OfframpError as error:
            return str(error)
        return ""

    def _run(self, words: Sequence[str]) -> None:
        try:
            done = subprocess.run(
                command_on(self.node, words),
                check=False,
                capture_output=True,
                text=True,
                stdin=subprocess.DEVNULL,
                timeout=_COMMAND_S,
            )
        except OSError as error:
            raise OfframpError(f"{self.place}: {self.name}: {error.strerror}") from None
        except subprocess.TimeoutExpired:
            raise OfframpError(f"{self.place}: {self.name}: not done within {_COMMAND_S:g} s") from None
        if done.returncode:
            said = (done.stderr.strip() or done.stdout.strip() or f"status {done.returncode}")[-_LAST:]
            raise OfframpError(f"{self.place}: {self.name}: {said}")


def _card_step(card: Card, bitstream: str, host: ClusterHost, place: str) -> CommandStep:
    """Load a card; afterwards it gets the bitstream of an idle card, if the file names one."""

    def words(what: str) -> list[str]:
        return [sys.executable, *_OFFRAMP, "fpga", "flash", what, "--board", card.board, "--yes"]

    back = words(card.idle) if card.idle is not None else []
    name = f"bitstream of card {card.name} of {host.name}"
    return CommandStep(name, host, place, words(bitstream), back, atomic=False)


@dataclass
class QueuesOnSwitch(ProgramOnSwitch):
    """Hermod's classes of one job on a switch, which has them for itself.

    Attributes:
        plan: the queues.
        members: the job's ports; DSCPs of frames from others do not count. None: those of all ports do.
    """

    program = "hermod/v1model.p4"
    what = systems.HERMOD
    several = False
    reason_alone = ": a frame has one class"
    plan: QueuePlan
    members: Sequence[int] | None = None

    @property
    def text(self) -> str:
        """Text of Hermod's program."""
        return p4_text(self.program)

    @property
    def shared_sizes(self) -> SharedSizes:
        """Sizes with a page of all-reduce, and half of the memory for SwitchGNN."""
        return sizes_for_pages(self.switch, self.place, 1, 1)

    @property
    def lease(self) -> str:
        """Hermod's classes."""
        return "Hermod's classes for itself"

    def runs(self, session: Session) -> bool:
        """Whether the switch's program carries Hermod's classes."""
        return systems.has_hermod(session)

    def admit(self, session: Session) -> None:
        """The plan's entries, in one batch."""
        P4Target(session, switch_plan(self.plan, members=self.members)).apply(replace=True)

    def admitted(self, session: Session) -> bool:
        """Whether the entries are there."""
        return not P4Target(session, switch_plan(self.plan, members=self.members)).differences()


def queue_steps(placed: PlacedJob, number: int) -> list[TransactionStep]:
    """The job's plan of queues on every switch that has any, and on its hosts' first interfaces.

    They come after a way's programs, which know best how a switch's memory is to be shared.

    Raises:
        OfframpError: a plan that cannot be read, or a switch without memory.
    """
    path = placed.job.queues
    if path is None:
        return []
    plan, cluster = read_plan(path), placed.cluster
    ports = ports_of_hosts(placed.fabric)
    steps: list[TransactionStep] = []
    for switch in cluster.switches:
        place = cluster.place(switch.name)
        if switch.target == "v1model" and switch.control:
            step = QueuesOnSwitch(switch, place, ports[switch.name], number, plan, share=placed.job.shares)
            step.check()
            steps.append(step)
        elif switch.target == "sonic" and switch.reach is not None:
            words = _deployment(path, "sonic", "python3", {})
            steps.append(CommandStep(f"queues of {switch.name}", switch, place, *words))
    for host in placed.hosts:
        name = interface(cluster, host)
        if name is not None and host.reach != "local":
            words = _deployment(path, "linux", sys.executable, {"--interface": name})
            steps.append(CommandStep(f"queues of {host.name}", host, cluster.place(host.name), *words))
    return steps


def _deployment(path: Path, target: str, python: str, more: Mapping[str, str]) -> _CommandWords:
    """The words that deploy a plan, those that remove it, and those that compare it."""
    words = [python, *_OFFRAMP, "hermod", "deploy", str(path.absolute()), "--target", target]
    words += [word for option in more.items() for word in option]
    return words, [*words, "--undo"], [*words, "--check"]
