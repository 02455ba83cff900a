# SPDX-License-Identifier: Apache-2.0
"""Runs of ``offramp train`` in which one process gets one signal at a random time.

``python tests/support/kill_campaign.py --runs 500 --out FILE`` goes through every pair of target and signal so many
times, a seed each, and goes on where an earlier call with the same file stopped. A run must end in time, in one of two
ways: with the result of an undisturbed run, bit for bit, or with the exit status and the one line that say what
happened. Of either, no process and no temporary folder may be left.

Most of a run is the import of PyTorch. So this process imports everything once and a run is its fork; runs without a
switch then fork their workers as well. Runs through the switch use the fork server and start the switch anew, as
``offramp train`` does. Runs through a smartNIC's agent, which is built where it is not, need root, for each has a
network namespace of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, Final

import numpy as np

from offramp_base.iproute import ip, unshare_network

GRAPH: Final = "sbm:n=60,k=3"
WORKERS: Final = 3
SIGNALS: Final = (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGINT)
TARGETS: Final = ("command", "parent", "worker", "switch", "agent")
"""Targets of a signal: the process that the caller started, the one that works, one of its workers, the switch, the
smartNIC's agent in front of it."""
ENVIRONMENT: Final = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    "TORCH_CPP_LOG_LEVEL": "FATAL",
}
"""In which importing NumPy and PyTorch starts no threads; and as workers have it, which here are forks."""
STOPPED_S: Final = 0.3
HANG_S: Final = 60.0
GONE_S: Final = 10.0
COMPUTED: Final = ("epoch", "loss", "train_accuracy", "val_accuracy", "test_accuracy")

WAYS: Final = {
    "p2p": ["--propagator", "p2p", "--epochs", "60"],
    "switch": ["--propagator", "switch", "--epochs", "20"],
    "agent": ["--propagator", "switch", "--transport", "nic", "--epochs", "20"],
}
"""Arguments by target; a target without a row of its own uses the first."""
PROGRAMS: Final = {"switch": "offramp_p4.serve", "agent": "offramp-nic-agent"}
"""Text that the command lines of targets contain."""
ARGUMENTS: Final = [
    "offramp", "train", "--graph", GRAPH, "--workers", str(WORKERS), "--partition", "hash", "--hidden", "8",
    "--checkpoint-every", "5",
]  # fmt: skip


def way(which: str) -> str:
    """The propagator by which workers exchange rows in runs with this target."""
    return which if which in WAYS else "p2p"


def arguments(through: str, folder: Path) -> list[str]:
    files = ["--json", str(folder / "result.json"), "--checkpoint", str(folder / "run.npz")]
    return [*ARGUMENTS, *WAYS[through], *files]


def result(folder: Path) -> Any:
    """Results of a run; times are its own, and so are packets: who hears nothing for a while sends again."""
    content = json.loads((folder / "result.json").read_text())
    epochs = [{name: epoch[name] for name in COMPUTED} for epoch in content["per_epoch"]]
    with np.load(folder / "run.npz") as arrays:
        weights = {name: arrays[name].tobytes().hex() for name in arrays if name.startswith("array")}
    return epochs, weights


class Run:
    """One run as a process group of its own, with its own folder for temporary things."""

    def __init__(self, through: str, folder: Path) -> None:
        self.folder = folder
        (folder / "tmp").mkdir()
        self.started = time.monotonic()
        self.pid = os.fork()
        if not self.pid:
            self._enter(through)

    def _enter(self, through: str) -> None:
        os.setsid()
        for descriptor, name in ((1, "out"), (2, "err")):
            file = os.open(self.folder / name, os.O_CREAT | os.O_WRONLY)
            os.dup2(file, descriptor)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.environ["TMPDIR"] = str(self.folder / "tmp")
        tempfile.tempdir = None
        sys.argv = arguments(through, self.folder)
        if through == "agent":
            unshare_network()
            ip("link", "set", "lo", "up")
        if through == "p2p":
            context = multiprocessing.get_context("fork")
            multiprocessing.get_context = lambda *_: context  # type: ignore[assignment]
        from offramp_base.ending.left import sweep_folders
        from offramp_cli import main

        status = 1
        try:
            main()
            status = 0
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 1
        finally:
            sweep_folders(own=True)  # as exit handlers would; those of the process whose fork this is are not ours
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    def ended(self, seconds: float) -> int | None:
        """Exit code as :mod:`subprocess` has it; None if it has not ended in time."""
        deadline = time.monotonic() + seconds
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            if time.monotonic() > deadline:
                return None
            time.sleep(0.005)

    def target(self, which: str) -> int | None:
        """The process that gets the signal; None if there is none (yet, or any more)."""
        if which == "command":
            return self.pid
        family = self.processes()
        parent = next((pid for pid, (above, _) in family.items() if above == self.pid), None)
        if parent is None or which == "parent":
            return parent
        below = [pid for pid, (above, _) in family.items() if above == parent]
        if which in PROGRAMS:
            return next((pid for pid in below if PROGRAMS[which] in family[pid][1]), None)
        servers = [pid for pid in below if "forkserver" in family[pid][1]]
        if servers:
            below = [pid for pid, (above, _) in family.items() if above in servers]
        workers = [pid for pid in below if "resource_tracker" not in family[pid][1]]
        return workers[-1] if workers else None

    def processes(self) -> dict[int, tuple[int, str]]:
        """Processes of the session, without zombies: process id to parent and command line."""
        children = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal():
                with contextlib.suppress(OSError, IndexError):
                    fields = (entry / "stat").read_text("ascii", "replace").rpartition(")")[2].split()
                    if int(fields[3]) == self.pid and fields[0] != "Z":
                        words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                        children[int(entry.name)] = int(fields[1]), words
        return children

    def left(self) -> list[str]:
        """Processes that are still there once they had time to go."""
        deadline = time.monotonic() + GONE_S
        while (processes := self.processes()) and time.monotonic() < deadline:
            time.sleep(0.01)
        folders = [path.name for path in (self.folder / "tmp").iterdir()]
        partial = [path.name for path in self.folder.iterdir() if path.name.startswith(".")]
        return [*(f"process {pid} {words}" for pid, (_, words) in processes.items()), *folders, *partial]

    def kill(self) -> None:
        """End whatever is left of it."""
        for pid in (self.pid, *self.processes()):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)


def verdict(run: Run, which: str, number: signal.Signals, code: int, wanted: Any) -> str:
    """The fault in how a run has ended; nothing if it is right."""
    lines = [line for line in (run.folder / "err").read_text().splitlines() if line.strip()]
    said = " | ".join(lines)[-300:]
    if code == 0:
        return "" if result(run.folder) == wanted else "another result"
    if (run.folder / "result.json").exists() and result(run.folder) != wanted:
        return "another result in the file"
    name = number.name
    if which == "command" and number is signal.SIGKILL:
        return "" if code == -number and not lines else f"exit code {code}: {said}"
    if which in ("command", "parent"):
        right = code == 128 + number and lines == [f"ended by {name}"]
        return "" if right else f"exit code {code}: {said}"
    if code != 2 or len(lines) != 1:
        return f"exit code {code}: {said}"
    named = {"worker": r"worker \d ", "switch": r"switch|P4Runtime", "agent": "agent"}[which]
    return "" if re.search(named, lines[0]) else f"not named: {said}"


def one(seed: int, which: str, number: signal.Signals, usual_s: float, wanted: Any) -> dict[str, Any]:
    """One disturbed run."""
    rng = np.random.default_rng([seed, TARGETS.index(which), number])
    with tempfile.TemporaryDirectory(prefix="kills-") as name:
        run = Run(way(which), Path(name))
        at = float(rng.random() * usual_s)
        code = run.ended(at)
        pid = None
        deadline = time.monotonic() + usual_s
        while code is None and (pid := run.target(which)) is None and time.monotonic() < deadline:
            code = run.ended(0.002)
        sent = time.monotonic()
        if pid is not None and code is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
                if number is signal.SIGSTOP:
                    time.sleep(STOPPED_S)
                    os.kill(pid, signal.SIGCONT)
        if code is None:
            code = run.ended(HANG_S)
        took = time.monotonic() - sent
        record: dict[str, Any] = {"seed": seed, "target": which, "signal": number.name, "at_s": round(at, 3)}
        record |= {"hit": pid is not None, "code": code, "took_s": round(took, 3)}
        if code is None:
            record["wrong"] = "hangs"
            run.kill()
            run.ended(HANG_S)
            return record
        left = run.left()
        record["wrong"] = verdict(run, which, number, code, wanted) or ("; ".join(left) and f"left: {left}")
        if left:
            run.kill()
        return record


def undisturbed(through: str, repeats: int = 3) -> tuple[Any, float]:
    """The result, and the seconds that a run takes: the median."""
    took, results = [], []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory(prefix="kills-") as name:
            run = Run(through, Path(name))
            code = run.ended(10 * HANG_S)
            took.append(time.monotonic() - run.started)
            assert code == 0, (run.folder / "err").read_text()
            assert not run.left(), run.left()
            results.append(result(run.folder))
    assert all(each == results[0] for each in results), "undisturbed runs differ"
    return results[0], float(np.median(took))


def preload() -> None:
    """Import what a run needs; afterwards this process still has one thread."""
    import torch._dynamo  # noqa: F401

    assert len(list(Path("/proc/self/task").iterdir())) == 1, "only a process with one thread may be forked"


def campaign(runs: int, targets: list[str], out: Path | None, share: tuple[int, int] = (0, 1)) -> list[dict[str, Any]]:
    """All runs of these targets, or those that ``out`` lacks; ``share``: every so manieth seed, from this one."""
    done: list[dict[str, Any]] = []
    if out is not None and out.exists():
        done = [json.loads(line) for line in out.read_text().splitlines()]
    known = {(record["seed"], record["target"], record["signal"]) for record in done}
    references: dict[str, tuple[Any, float]] = {}
    begun, count = time.monotonic(), 0
    for seed in range(share[0], runs, share[1]):
        for which in targets:
            for number in SIGNALS:
                if (seed, which, number.name) in known:
                    continue
                if way(which) not in references:
                    references[way(which)] = undisturbed(way(which))
                wanted, usual_s = references[way(which)]
                record = one(seed, which, number, usual_s, wanted)
                done.append(record)
                count += 1
                if out is not None:
                    with out.open("a") as file:
                        file.write(json.dumps(record) + "\n")
                if record["wrong"]:
                    say(f"seed {seed} {which} {number.name} at {record['at_s']} s: {record['wrong']}")
        rate = count / (time.monotonic() - begun)
        say(
            f"seed {seed} of {runs}: {len(done)} runs, {sum(bool(r['wrong']) for r in done)} wrong, {rate:.2f} a second"
        )
    return done


def summary(done: list[dict[str, Any]]) -> str:
    """A line for each pair of target and signal."""
    rows = []
    for which in TARGETS:
        for number in SIGNALS:
            of = [r for r in done if (r["target"], r["signal"]) == (which, number.name)]
            if of:
                codes = dict(sorted(Counter(str(r["code"]) for r in of).items()))
                took = sorted(r["took_s"] for r in of if r["code"] != 0) or [0.0]
                wrong = sum(bool(r["wrong"]) for r in of)
                late = f"p99 {took[int(0.99 * (len(took) - 1))]:.2f} s, most {took[-1]:.2f} s"
                rows.append(f"{which:8} {number.name:8} {len(of):5} runs {wrong} wrong, exits {codes}, {late}")
    return "\n".join(rows)


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=500, help="of each pair of target and signal")
    parser.add_argument("--targets", default=",".join(TARGETS), help="separated by commas")
    parser.add_argument("--out", type=Path, help="JSON lines, one for each run; runs that it has are not repeated")
    parser.add_argument("--share", default="0/1", help="K/N: every Nth seed from the Kth on, for several at a time")
    chosen = parser.parse_args()
    first, _, step = chosen.share.partition("/")
    if not ENVIRONMENT.items() <= os.environ.items():
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | ENVIRONMENT)
    preload()
    done = campaign(chosen.runs, chosen.targets.split(","), chosen.out, (int(first), int(step)))
    say(summary(done))
    return 1 if any(record["wrong"] for record in done) else 0


if __name__ == "__main__":
    sys.exit(main())
