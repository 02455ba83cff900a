# SPDX-License-Identifier: Apache-2.0
"""Programs of ``init_process_group("offramp")`` whose sums a switch makes, under loss, restarts and deaths of ranks.

    PYTHONPATH=base:switch:host:sim:tests/support python tests/support/torch_soak.py --runs 10000 --out FILE

Each run has two to four ranks, processes of their own, on links that lose and double up to 30 % of the frames each
way. In some the switch is restarted in the middle: it gets its program anew over P4Runtime, with empty slots and no
entries, and then the job's. In some one rank is killed when it has sent so many frames. Every rank must end with exact
sums, or with one line that names it, the collective and its number, within the timeout and what it took to begin.

Most of a rank is the import of PyTorch, so ranks are forks of this process, which has no threads. The switch and who
controls it are processes of their own that all runs share. Several campaigns may run at once, with other files.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, NoReturn

import numpy as np

from allreduce_oracle import exact_sum, random_tensor
from kill_campaign import ENVIRONMENT
from seeded_campaign import campaign, options

PORTS: Final = (3, 1, 2, 4)
"""By rank."""
TIMEOUT_S: Final = 3.0
RETRY_S: Final = 0.03
HANG_S: Final = 60.0
LATE_S: Final = 8.0
"""Beyond two timeouts (of the agreement, of the sum) on a machine that does other things too."""
DTYPES: Final = ("float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8")
RESTART: Final = b"r"
BUSY: Final = "connectFullMesh failed"
"""A machine that is too busy for the timeout: ranks end with a line, which is counted apart."""


@dataclass(frozen=True)
class Plan:
    """A run, as its seed says."""

    seed: int
    ranks: int
    trouble: float
    sizes: tuple[tuple[str, int], ...]
    victim: int
    dies_after: int | None
    restart_after: int | None

    @classmethod
    def of(cls, seed: int) -> Plan:
        """The plan of a seed; deaths and restarts come after a number of frames that a rank has sent."""
        rng = np.random.default_rng([seed, 19])
        ranks = int(rng.integers(2, 5))
        trouble = float(rng.choice([0.0, 0.05, 0.15, 0.3]))
        kinds = rng.choice(DTYPES, int(rng.integers(1, 5)))
        sizes = tuple((str(kind), int(rng.choice([1, 64, 300, 2000]))) for kind in kinds)
        dies = int(rng.geometric(0.05)) if rng.random() < 0.2 else None
        restart = int(rng.geometric(0.05)) if rng.random() < 0.3 else None
        return cls(seed, ranks, trouble, sizes, int(rng.integers(0, ranks)), dies, restart)

    def given(self) -> list[list[np.ndarray]]:
        """Tensors of all ranks, for each collective."""
        rng = np.random.default_rng([self.seed, 20])
        return [random_tensor(rng, kind, count, self.ranks) for kind, count in self.sizes]


# --- the switch --------------------------------------------------------------------------------------------------


def keep_switch(requests: Connection, restarts: int) -> None:
    """A switch in a process of its own; admits a job for each request and restarts the switch when a rank says so."""
    import select

    from offramp.allreduce.control import with_control, with_session
    from offramp.allreduce.entries import star
    from offramp.p4src import p4_text
    from offramp_p4.embedded import EmbeddedSwitch

    text = p4_text("allreduce/v1model.p4", {"PAGES": 2}).encode()
    with EmbeddedSwitch(None, sorted(PORTS)) as switch:

        def start() -> None:
            with_session(switch.address, lambda session: session.push(b"", text), 20.0)

        def admit(job: int, ranks: int) -> None:
            with_control(switch.address, lambda control: control.admit(job, star(PORTS[:ranks])), 20.0)

        def release(job: int) -> None:
            with_control(switch.address, lambda control: control.release(job), 20.0)

        start()
        requests.send(str(Path(switch.port_specs[0].removeprefix("unix:")).parent))
        known: tuple[int, int] | None = None
        while True:
            if restarts in select.select([requests, restarts], [], [])[0]:
                os.read(restarts, 1)
                start()
                if known:
                    admit(*known)
                continue
            try:
                asked = requests.recv()
            except EOFError:
                return
            if known:
                release(known[0])
            known = asked
            admit(*known)
            requests.send("")


# --- a rank ------------------------------------------------------------------------------------------------------


class Fated:
    """A link whose rank dies, or has the switch restarted, when it has sent so many frames."""

    def __init__(self, inner: Any, plan: Plan, rank: int, restarts: int) -> None:
        self._inner, self._sent, self._restarts = inner, 0, restarts
        self._dies = plan.dies_after if rank == plan.victim else None
        self._restart = plan.restart_after if rank == 0 else None
        self.stats = inner.stats

    def send(self, batch: Any) -> None:
        self._sent += len(batch)
        if self._dies is not None and self._sent >= self._dies:
            os.kill(os.getpid(), signal.SIGKILL)
        if self._restart is not None and self._sent >= self._restart:
            self._restart = None
            os.write(self._restarts, RESTART)
        self._inner.send(batch)

    def receive(self, timeout_s: float) -> Any:
        return self._inner.receive(timeout_s)

    def fileno(self) -> int:
        return int(self._inner._inner.fileno())

    def close(self) -> None:
        self._inner.close()


def be_rank(plan: Plan, rank: int, folder: Path, links: str, restarts: int) -> None:
    """The program of this rank; writes ``rankN.json``."""
    import torch
    import torch.distributed as dist

    from offramp.allreduce import reducer, shared_link
    from offramp.torch import create
    from offramp.torch.offloads import allreduce
    from offramp_base.transport.faulty import FaultRates, Faulty

    faults = FaultRates(loss=plan.trouble, duplication=plan.trouble, reordering=plan.trouble)
    plain = shared_link.open_io
    shared_link.open_io = lambda link: Fated(  # type: ignore[assignment]
        Faulty(plain(link), seed=plan.seed * 8 + rank, sending=faults, receiving=faults), plan, rank, restarts
    )
    allreduce.AllReduceNetwork = functools.partial(reducer.AllReduceNetwork, retry_s=RETRY_S)  # type: ignore[misc,assignment]
    network = folder / f"network{rank}.yaml"
    ports = ", ".join(map(str, PORTS[: plan.ranks]))
    network.write_text(
        f"offloads: [allreduce]\nleast: 1\nlink: 'unix:{links}/port{{port}}'\nports: [{ports}]\njob: {plan.seed + 1}\n"
    )
    os.environ[create.VARIABLE] = str(network)
    dist.init_process_group(
        "offramp",
        init_method=(folder / "store").as_uri(),
        rank=rank,
        world_size=plan.ranks,
        timeout=timedelta(seconds=TIMEOUT_S),
    )
    done: dict[str, Any] = {"sums": 0, "line": "", "took_s": 0.0}
    for given in plan.given():
        expected, tensor = exact_sum(given, 64, 128), torch.from_numpy(given[rank].copy())
        began = time.monotonic()
        try:
            dist.all_reduce(tensor)
        except RuntimeError as error:
            done["line"] = str(error)
            break
        finally:
            done["took_s"] = max(done["took_s"], time.monotonic() - began)
        total = tensor.numpy()
        assert np.array_equal(total, expected, equal_nan="float" in total.dtype.name), f"another sum: {given[0].dtype}"
        done["sums"] += 1
    began = time.monotonic()
    dist.destroy_process_group()
    done["left_s"] = time.monotonic() - began
    (folder / f"rank{rank}.json").write_text(json.dumps(done))


def fork_rank(plan: Plan, *rest: Any, rank: int, folder: Path) -> int:
    """A process that does the work of a rank and ends."""
    pid = os.fork()
    if not pid:
        _be_child(plan, *rest, rank=rank, folder=folder)
    return pid


def _be_child(plan: Plan, *rest: Any, rank: int, folder: Path) -> NoReturn:
    status = 1
    try:
        file = os.open(folder / f"err{rank}", os.O_CREAT | os.O_WRONLY)
        os.dup2(file, 1)
        os.dup2(file, 2)
        be_rank(plan, rank, folder, *rest)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


# --- a run -------------------------------------------------------------------------------------------------------


def run(requests: Connection, restarts: int, links: str, seed: int) -> str:
    """One run; what it came to."""
    plan = Plan.of(seed)
    requests.send((seed + 1, plan.ranks))
    requests.recv()
    with tempfile.TemporaryDirectory(prefix="soak-") as name:
        folder = Path(name)
        pids = [fork_rank(plan, links, restarts, rank=rank, folder=folder) for rank in range(plan.ranks)]
        codes = ended(pids)
        by_rank = {
            rank: json.loads(path.read_text())
            for rank in range(plan.ranks)
            if (path := folder / f"rank{rank}.json").exists()
        }
        for rank, code in enumerate(codes):
            said = (folder / f"err{rank}").read_text()[-600:]
            died = rank == plan.victim and plan.dies_after is not None and code == -signal.SIGKILL
            assert died or code == 0, f"{plan}: rank {rank} ended with {code}: {said}"
    dead = -signal.SIGKILL in codes
    busy = any(BUSY in row["line"] for row in by_rank.values())
    lines = {rank: row["line"] for rank, row in by_rank.items() if row["line"]}
    for rank, line in lines.items():
        assert dead or busy or plan.restart_after is not None, f"{plan}: {line}"
        assert re.match(rf"all_reduce \d+ (by \w+ )?on rank {rank}[ :]", line), f"{plan}: {line!r}"
        assert "\n" not in line, line
        assert by_rank[rank]["took_s"] < 2 * TIMEOUT_S + LATE_S, f"{plan}: {by_rank[rank]}"
    for rank, row in by_rank.items():
        assert row["line"] or row["sums"] == len(plan.sizes), f"{plan}: rank {rank}: {row}"
    restarted = "a restart" if plan.restart_after is not None else ""
    killed = "a rank killed" if dead else "gloo could not connect in time" if busy else ""
    came_to = "a line on every rank" if len(lines) == len(by_rank) else "a line or the sum" if lines else "exact"
    return ": ".join(filter(None, [" and ".join(filter(None, [killed, restarted])), came_to]))


def ended(pids: list[int]) -> list[int]:
    """Exit codes as :mod:`subprocess` has them; who hangs is killed."""
    codes: dict[int, int] = {}
    deadline = time.monotonic() + HANG_S
    while len(codes) < len(pids):
        for pid in pids:
            if pid not in codes and (status := os.waitpid(pid, os.WNOHANG))[0]:
                codes[pid] = os.waitstatus_to_exitcode(status[1])
        if time.monotonic() > deadline:
            for pid in pids:
                if pid not in codes:
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)
            raise AssertionError(f"ranks {[rank for rank, pid in enumerate(pids) if pid not in codes]} hang")
        time.sleep(0.005)
    return [codes[pid] for pid in pids]


@contextlib.contextmanager
def switch() -> Iterator[tuple[Connection, int, str]]:
    """The keeper of the switch: requests of jobs, where ranks ask for a restart, the folder of links."""
    here, there = Pipe()
    reading, writing = os.pipe()
    keeper = get_context("fork").Process(target=keep_switch, args=(there, reading))
    keeper.start()
    there.close()
    try:
        yield here, writing, here.recv()
    finally:
        here.close()
        keeper.terminate()
        keeper.join()


def preload() -> None:
    """Import what ranks need; afterwards this process still has one thread."""

    from offramp.torch import build, create  # noqa: F401
    from offramp.torch.offloads import allreduce  # noqa: F401
    from offramp.torch.registration import register

    register()
    build.load()
    assert len(list(Path("/proc/self/task").iterdir())) == 1, "only a process with one thread may be forked"


def main() -> int:
    asked = options(__doc__ or "").parse_args()
    if not ENVIRONMENT.items() <= os.environ.items():
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | ENVIRONMENT)
    preload()
    with switch() as (requests, restarts, links):
        one = functools.partial(run, requests, restarts, links)
        summary = campaign(one, range(asked.seed, asked.seed + asked.runs), asked.out, asked.minutes)
    return bool(summary["wrong"])


if __name__ == "__main__":
    sys.exit(main())
