# SPDX-License-Identifier: Apache-2.0
"""Jobs in a laboratory of which something is killed at a random moment by ``kill -9``.

That is a rank, a switch, an agent, all that runs on a node, or the command that controls the job.

``python tests/support/job_kills.py --runs 200 --out FILE`` goes on where an earlier call with the same file stopped;
run *n* has seed *n*, counted from ``--seed``, which says who dies and when: at any time from the first step of
deploying to when an undisturbed run has ended. A run must end well, with the model of an undisturbed run to the bit.
After a killed command either ``job undo`` cleans up, or the same command again, which must end well. Nothing may be
left: processes of the job, jobs in ledgers, temporary files; switches are as they were.

Ranks, switches, nodes and commands die under sums in the switches on two levels (:mod:`job_rank`); agents under
full-graph training whose features go from an agent through SwitchGNN's program to the other agent.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

import job_rank
import slurm_cluster
from offramp.job.ledger import opened
from offramp.job.network import ReductionNetwork
from offramp.job.run import run_job
from offramp.job.settings import JobSettings
from offramp.job.snapshot import SwitchSnapshot
from offramp.job.switches import release_ended, with_switch
from offramp.job.training import CHECKPOINT
from offramp_sim.lab.start import possible_mode, start
from offramp_sim.lab.state import STATE, end, read_state

CLUSTER = """\
name: {name}
hosts:
  - {{name: "h[1-2]", agents: [{{name: nic, interface: eth0}}]}}
  - {{name: "h[3-4]"}}
switches: [{{name: "leaf[1-2]", memory: 8MB}}, {{name: spine, memory: 8MB}}]
links:
  - {{ends: ["h[1-2]", leaf1], rate: 100mbit}}
  - {{ends: ["h[3-4]", leaf2], rate: 100mbit}}
  - {{ends: ["leaf[1-2]", spine], rate: 400mbit}}
"""
STEPS, RANKS, PAUSE_S = 20, 4, 0.02
TRAIN = "graph: karate\nhidden: 8\nepochs: 150\ncheckpoint_every: 10\npartition: hash\nretry: 0.2\n"
TARGETS = ("rank", "switch", "agent", "node", "controller")
RESTARTS = 5
LEAVE_S = 30.0
"""Seconds within which everything of a job is gone."""


class Campaign:
    """Runs in one laboratory."""

    def __init__(self, lab, folder: Path) -> None:
        self.lab, self.folder, self.cluster = lab, folder, lab.cluster()
        self.before = self.states()
        (folder / "train.yaml").write_text(TRAIN)
        command = (sys.executable, job_rank.__file__, str(STEPS), str(PAUSE_S))
        sums = JobSettings(command=command, all_reduce=1_000_000, segments=4, restarts=RESTARTS)
        train = JobSettings(train=folder / "train.yaml", hosts="h[1-2]", restarts=RESTARTS, port=29600)
        self.keepers = [int(host.reach.partition(":")[2].split(".")[0]) for host in self.cluster.hosts]
        lines = [f"command: {json.dumps(command)}", "all_reduce: 1000000", "segments: 4", f"restarts: {RESTARTS}"]
        (folder / "job.yaml").write_text("\n".join(lines) + "\n")
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self.jobs = {"sums": (sums, ReductionNetwork.SWITCH), "train": (train, "switchgnn")}
        self.usual: dict[str, tuple[float, bytes]] = {}

    def states(self) -> dict[str, SwitchSnapshot]:
        snapshots: dict[str, SwitchSnapshot] = {}
        for switch in self.cluster.switches:
            with_switch(
                switch, lambda session, name=switch.name: snapshots.__setitem__(name, SwitchSnapshot.take(session))
            )
        return snapshots

    def run(self, what: str) -> tuple[float, int, bytes]:
        """Seconds, attempts, and the model's bits."""
        job, way = self.jobs[what]
        with tempfile.TemporaryDirectory(dir=self.folder) as name:
            folder = Path(name)
            begun = time.monotonic()
            outcome = run_job(job, self.cluster, way, folder)
            seconds = time.monotonic() - begun
            if what == "sums":
                return seconds, outcome.attempts, self._sums(folder)
            with np.load(folder / CHECKPOINT) as archive:
                return (
                    seconds,
                    outcome.attempts,
                    b"".join(archive[n].tobytes() for n in sorted(archive) if "array" in n),
                )

    @staticmethod
    def _sums(folder: Path) -> bytes:
        models = [np.load(folder / f"model-{rank}.npy") for rank in range(RANKS)]
        assert all((model == job_rank.expected(STEPS, RANKS)).all() for model in models), "another model"
        return models[0].tobytes()

    def commanded(self, folder: Path, kill: Callable[[subprocess.Popen], None] = lambda _: None) -> bytes | None:
        """The model of a run by the command itself; None where that was killed."""
        words = ["job", "run", str(self.folder / "job.yaml"), "--on", str(self.lab.cluster_file), "--by", "allreduce"]
        words += ["--no-calibrate", "--out", str(folder)]
        log = folder / "command.log"
        with log.open("ab") as said:
            process = subprocess.Popen(
                [sys.executable, "-m", "offramp", *words], stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                env=os.environ | {"TMPDIR": str(self.temporary)},
            )  # fmt: skip
            kill(process)
            code = process.wait()
        if code == -signal.SIGKILL:
            return None
        assert code == 0, log.read_text()[-1000:]
        return self._sums(folder / "allreduce")

    def uncontrolled(self, row: dict) -> None:
        """A run whose command is killed; then ``job undo``, or the command once more."""

        def kill(process: subprocess.Popen) -> None:
            try:
                process.wait(row["after_s"])
            except subprocess.TimeoutExpired:
                process.kill()
                row["killed"] = "command"

        with tempfile.TemporaryDirectory(dir=self.folder) as name:
            begun = time.monotonic()
            model = self.commanded(Path(name), kill)
            row["attempts"] = 1
            if model is None:
                row["then"] = ("undo", "again")[row["seed"] % 2]
                if row["then"] == "undo":
                    self._none_left(lambda: [str(pid) for pid in self._strangers()])
                    self._none_left(self._held)  # what the command had begun ends a moment after it
                else:
                    model, row["attempts"] = self.commanded(Path(name)), 2
            row["seconds"] = round(time.monotonic() - begun, 2)
            row["wrong"] = "" if model in (None, self.usual["controller"][1]) else "another model"

    def disturbed(self, seed: int, targets: tuple[str, ...]) -> dict:
        """One run: what died when, how often the job was started, and what was wrong; empty where nothing was."""
        draw = random.Random(seed)
        target = draw.choice(targets)
        what = {"agent": "train", "controller": "controller"}.get(target, "sums")
        if what not in self.usual:
            self.usual[what] = self._undisturbed(what)
        usual_s, model = self.usual[what]
        row = {"seed": seed, "target": target, "after_s": round(draw.uniform(0, usual_s), 3), "killed": ""}
        if target == "controller":
            try:
                self.uncontrolled(row)
            except Exception as error:  # whatever it is, it is the run's result
                row["wrong"] = f"{type(error).__name__}: {error}"
            return self._judged(row)
        over = threading.Event()
        killer = threading.Thread(target=self._kill, args=(row, draw, over))
        killer.start()
        try:
            seconds, row["attempts"], trained = self.run(what)
            row["seconds"] = round(seconds, 2)
            row["wrong"] = "" if trained == model else "another model"
        except Exception as error:  # whatever it is, it is the run's result
            row["wrong"] = f"{type(error).__name__}: {error}"
        over.set()
        killer.join()
        return self._judged(row)

    def _undisturbed(self, what: str) -> tuple[float, bytes]:
        begun = time.monotonic()
        if what == "controller":
            with tempfile.TemporaryDirectory(dir=self.folder) as name:
                model = self.commanded(Path(name))
            assert model is not None
            return time.monotonic() - begun, model
        seconds, attempts, model = self.run(what)
        assert attempts == 1
        return seconds, model

    def _judged(self, row: dict) -> dict:
        """The run's row, with what it has left."""
        self._settle()
        try:
            self._none_left(self._left)
        except AssertionError as error:
            row["wrong"] = row["wrong"] or f"left: {error}"
        if not row["wrong"] and self.states() != self.before:
            row["wrong"] = "switches are not as they were"
        return row

    def _held(self) -> list[str]:
        """Switches that still have a job after those of processes that ended were removed."""
        held = []
        for switch in self.cluster.switches:
            release_ended(switch)
            with opened(switch) as ledger:
                held += [switch.name] * bool(ledger.jobs)
        return held

    def _left(self) -> list[str]:
        """Everything of a job that is still there."""
        left = [f"process {pid}" for pid in self._strangers()]
        left += [f"temporary {path.name}" for path in self.temporary.iterdir()]
        for switch in self.cluster.switches:
            with opened(switch) as ledger:
                left += [f"job {number} on {switch.name}" for number in ledger.jobs]
        return left

    @staticmethod
    def _none_left(left: Callable[[], list[str]]) -> None:
        deadline = time.monotonic() + LEAVE_S
        while (what := left()) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not what, ", ".join(what)

    def _strangers(self) -> list[int]:
        """Processes on the hosts that are none of the laboratory's."""
        (lab,) = read_state(Path(self.lab.folder) / STATE)
        own = {*self.keepers, *(int(owner.split(".")[0]) for owner in lab.processes.values())}
        return [pid for keeper in self.keepers for pid in slurm_cluster.in_network_of(keeper) if pid not in own]

    def _kill(self, row: dict, draw: random.Random, over: threading.Event) -> None:
        if over.wait(row["after_s"]):
            return
        while not over.is_set():
            if row["target"] == "node":
                if self._strangers():  # ranks are there
                    number = draw.randrange(len(self.keepers))
                    slurm_cluster.kill_beside(self.keepers[number])
                    row["killed"] = f"all on {self.cluster.hosts[number].name}"
                    return
            elif victims := self._ranks() if row["target"] == "rank" else self._kept(row["target"]):
                name, pid = draw.choice(sorted(victims.items()))
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
                row["killed"] = name
                return
            time.sleep(0.01)  # ranks are not there yet

    def _kept(self, what: str) -> dict[str, int]:
        (lab,) = read_state(Path(self.lab.folder) / STATE)
        return {name: int(o.split(".")[0]) for name, o in lab.processes.items() if name.startswith(what)}

    @staticmethod
    def _ranks() -> dict[str, int]:
        """Children of this process that are ranks."""
        pids = {}
        for path in Path("/proc/self/task").glob("*/children"):
            for pid in path.read_text().split():
                try:
                    words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
                except OSError:
                    continue
                pids |= {
                    word.decode().replace("RANK=", "rank "): int(pid) for word in words if word.startswith(b"RANK=")
                }
        return pids

    def _settle(self) -> None:
        """Wait until the laboratory has started again what died."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            (lab,) = read_state(Path(self.lab.folder) / STATE)
            if not lab.ended():
                return
            time.sleep(0.1)


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--runs", type=int, default=200)
    given.add_argument("--seed", type=int, default=0, help="of the first run")
    given.add_argument("--out", type=Path, required=True)
    given.add_argument("--targets", default=",".join(TARGETS))
    given.add_argument("--seconds", type=float, default=float("inf"), help="begin no run after so long")
    options = given.parse_args()
    done = [json.loads(line) for line in options.out.read_text().splitlines()] if options.out.exists() else []
    begun = time.monotonic()
    mode, reason = possible_mode()
    if mode == "sockets":
        sys.exit(f"no network namespaces: {reason}")
    with tempfile.TemporaryDirectory(prefix="job-kills-") as name:
        folder = Path(name)
        (folder / "cluster.yaml").write_text(CLUSTER.format(name=f"kills-{os.getpid()}"))
        lab, _ = start(folder / "cluster.yaml", mode=mode)
        try:
            campaign = Campaign(lab, folder)
            while len(done) < options.runs and time.monotonic() - begun < options.seconds:
                row = campaign.disturbed(options.seed + len(done), tuple(options.targets.split(",")))
                done.append(row)
                with options.out.open("a") as file:
                    file.write(json.dumps(row) + "\n")
                sys.stdout.write(f"{row}\n")
                sys.stdout.flush()
        finally:
            end(lab)
    wrong = [row for row in done if row["wrong"]]
    killed = Counter(row["target"] for row in done if row["killed"])
    again = sum(row.get("attempts", 0) > 1 for row in done)
    sys.stdout.write(f"{len(done)} runs, killed {dict(killed)}, {again} were started again, {len(wrong)} wrong\n")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
