# SPDX-License-Identifier: Apache-2.0
"""A campaign against one target: worker after worker until the time is over, and what they found."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fuzzing.packages import of_offramp
from fuzzing.progress import Progress
from fuzzing.target import discover

_POLL_S = 0.05
_CLOCK_FACTOR = 6  # a case may sleep for so many times its processor time
_PREPARE_S = 120.0
_TICKS = os.sysconf("SC_CLK_TCK")
_LAST_WORDS = 4000
_MOST_DEATHS = 50  # of workers in one campaign; more say nothing new
_WORKER_S = 900.0  # then a new process goes on: what leaks stays small


@dataclass
class Finding:
    """A fault that a case has shown; further cases with the same cause are counted."""

    target: str
    kind: str
    where: str
    seed: int
    case: int
    text: str
    count: int = 1

    @property
    def repeat(self) -> str:
        """The command that does the case again."""
        return f"python tests/fuzz --only {self.target} --seed {self.seed} --case {self.case}"


@dataclass
class Campaign:
    """All cases of one target from one seed; :meth:`state` resumes where it ended.

    Attributes:
        name: name of the target.
        path: path of its module.
        seed: seed of the campaign; a case's generator is seeded by target, seed and number.
        next_case: cases before this one are done.
        spent_s: time spent so far.
        findings: one of each cause.
    """

    name: str
    path: Path
    seed: int
    next_case: int = 0
    spent_s: float = 0.0
    findings: list[Finding] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event, repr=False)
    _progress: Progress | None = field(default=None, repr=False)

    @property
    def cases(self) -> int:
        """Cases that were run, those of the worker under way among them."""
        progress = self._progress
        with contextlib.suppress(ValueError):  # it has been closed meanwhile
            return self.next_case if progress is None else max(self.next_case, progress.read().case)
        return self.next_case

    def run(self, seconds: float, *, cases: int = 1 << 62) -> None:
        """Run until ``spent_s`` is ``seconds`` or so many cases are done."""
        end, deaths = self.next_case + cases, 0
        while self.spent_s < seconds and self.next_case < end and not self.stop.is_set():
            began, first = time.monotonic(), self.next_case
            died = self._worker(min(seconds - self.spent_s, _WORKER_S), end - self.next_case)
            self.spent_s += time.monotonic() - began
            deaths += died
            if deaths >= _MOST_DEATHS or (died and self.next_case == first):
                return

    def state(self) -> dict[str, Any]:
        """State for :meth:`restore`."""
        return {
            "seed": self.seed,
            "cases": self.cases,
            "seconds": round(self.spent_s, 3),
            "findings": [asdict(finding) for finding in list(self.findings)],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where the campaign with this state ended."""
        self.seed, self.next_case, self.spent_s = state["seed"], state["cases"], state["seconds"]
        self.findings = [Finding(**finding) for finding in state["findings"]]

    def _worker(self, seconds: float, cases: int) -> bool:
        """One worker to its end; whether it died."""
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder, contextlib.ExitStack() as stack:
            here, errors = Path(folder), Path(folder) / "stderr"
            (here / "cwd").mkdir()
            progress = Progress(here / "progress")
            stack.callback(progress.close)
            stack.callback(setattr, self, "_progress", None)
            self._progress = progress
            reader, writer = os.pipe()
            command = [
                *(sys.executable, "-m", "fuzzing.worker", str(self.path.resolve()), "--seed", str(self.seed)),
                *("--first", str(self.next_case), "--seconds", f"{seconds:.3f}", "--cases", str(cases)),
                *("--progress", str(here / "progress"), "--findings", str(writer)),
            ]
            paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
            environment = {**os.environ, "PYTHONPATH": paths, "TMPDIR": str(here / "cwd"), "OMP_NUM_THREADS": "1"}
            with errors.open("wb") as log:
                process = subprocess.Popen(
                    command,
                    cwd=here / "cwd",
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=(writer,),
                    start_new_session=True,
                )
            os.close(writer)
            ends: list[int] = []
            listener = threading.Thread(target=lambda: ends.extend(self._ends_of(_lines(reader))))
            listener.start()
            try:
                limit_s = _limit_s(self.path)
                hung = self._watch(process, progress, limit_s)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # what a case started ends with it
                process.wait()
                listener.join()
            if ends:
                self.next_case = ends[-1]
                return False
            if self.stop.is_set():
                self.next_case = max(self.next_case, progress.read().case)
                return False
            last_words = errors.read_text("utf-8", "replace")[-_LAST_WORDS:]
            self._died(progress, process.returncode, hung, last_words, limit_s)
            return True

    def _watch(self, process: subprocess.Popen[bytes], progress: Progress, limit_s: float) -> bool:
        """Wait for the end of a worker, or for a case beyond its time; whether the latter came."""
        asleep_s, last, spent_s = 0.0, progress.read(), 0.0
        while process.poll() is None:
            if self.stop.wait(_POLL_S):
                return False
            at, (state, cpu_s) = progress.read(), _state(process.pid)
            # By polls, not by the clock: the machine, or this process, may have stood still meanwhile.
            asleep_s = asleep_s * (at == last) + _POLL_S * (state == "S" and cpu_s == spent_s)
            last, spent_s = at, cpu_s
            late = asleep_s > (limit_s * _CLOCK_FACTOR if at.began_s else _PREPARE_S) or (
                at.began_s > 0 and cpu_s - at.cpu_s > limit_s
            )
            if late and progress.read().case == at.case:
                process.send_signal(signal.SIGUSR1)
                self.stop.wait(0.3)  # the traceback is written by the signal's handler
                return True
        return False

    def _ends_of(self, lines: Iterable[str]) -> Iterator[int]:
        """Count what a worker says; the next case when it comes to its end."""
        for line in lines:
            try:
                said = json.loads(line)
            except json.JSONDecodeError:  # cut off by its death
                continue
            if "next" in said:
                yield said["next"]
            else:
                self._add(Finding(self.name, said["kind"], said["where"], self.seed, said["case"], said["text"]))

    def _died(self, progress: Progress, code: int, hung: bool, last_words: str, limit_s: float) -> None:
        at = progress.read()
        if hung:
            kind = f"no end in {limit_s:g} s of processor time"
        elif code < 0:
            kind = f"killed by {signal.Signals(-code).name}"
        else:
            kind = f"the process ended with exit code {code}"
        case = at.case if at.began_s else self.next_case
        self._add(Finding(self.name, kind, _first_frame(last_words), self.seed, case, last_words))
        if at.began_s:
            self.next_case = case + 1

    def _add(self, finding: Finding) -> None:
        for known in self.findings:
            if (known.kind, known.where) == (finding.kind, finding.where):
                known.count += 1
                return
        self.findings.append(finding)


def campaigns(seed: int, only: list[str] | None = None, folder: Path | None = None) -> list[Campaign]:
    """One campaign for each target, or for those named.

    Raises:
        SystemExit: no such target; names those there are.
    """
    targets = discover(folder) if folder else discover()
    wanted = only or list(targets)
    for name in wanted:
        if name not in targets:
            raise SystemExit(f"--only {name}: expected one of {', '.join(targets)}")
    return [Campaign(name, targets[name], seed) for name in wanted]


def _limit_s(path: Path) -> float:
    """LIMIT_S of a module, read without importing it here: the import may be what hangs."""
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("LIMIT_S"):
            return float(line.split("=")[1].split("#")[0])
    return 10.0


def _state(pid: int) -> tuple[str, float]:
    """State of a process, such as S for asleep, and its processor time (s)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    except OSError:
        return "", 0.0
    return fields[0], (int(fields[11]) + int(fields[12])) / _TICKS


def _first_frame(text: str) -> str:
    """The innermost line of Offramp's own in a traceback of faulthandler, which prints the innermost first."""
    lines = [line.strip().removeprefix("File ") for line in text.splitlines() if line.lstrip().startswith("File ")]
    frames = [(name.strip(chr(34)), rest) for name, _, rest in (line.partition(", line ") for line in lines)]
    frames = [frame for frame in frames if of_offramp(frame[0])] or frames
    if not frames:
        return "?"
    name, rest = frames[0]
    return f"{'/'.join(Path(name).parts[-3:])}:{rest.split()[0].rstrip(',')}"


def _lines(descriptor: int) -> Iterator[str]:
    with os.fdopen(descriptor, encoding="utf-8", errors="replace") as file:
        yield from file
