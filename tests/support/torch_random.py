# SPDX-License-Identifier: Apache-2.0
"""Random programs (:mod:`torch_steps`) on gloo and then on ``offramp`` with one offload or another: the same results.

    PYTHONPATH=base:switch:host:sim:tests/support python tests/support/torch_random.py --runs 10000 --out FILE

Two to four ranks, forks of this process that play one program after the other, play each on both backends: groups,
splits, types, strides, asynchronous work, messages from any source, barriers. In one of twelve a rank ends in the
middle: the others must end with results of gloo's up to there and one line, in time. These have processes and a switch
of their own beside the rest, because they wait more than they compute. Offloads are in turn none, sums by a switch,
Hermod, Themis, LEO, and several at once. Blind to what gloo does wrong as well, other than strides and means.
"""

from __future__ import annotations

import argparse
import ctypes
import faulthandler
import functools
import json
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, NoReturn

from forked_responders import responders_forked
from kill_campaign import ENVIRONMENT
from seeded_campaign import campaign, options
from torch_soak import BUSY, preload
from torch_steps import DEATHS, Player, Step, digest, steps_of

PORTS: Final = (3, 1, 2, 4)
TIMEOUT_S: Final = 30.0
SHORT_S: Final = 3.0
"""The timeout of programs in which a rank ends."""
LATE_S: Final = 25.0
"""Seconds that the end of such a program may take beyond two timeouts, on a machine that does other things too."""
RETRY_S: Final = 0.03
HANG_S: Final = 120.0
NETWORKS: Final = ("none", "allreduce", "hermod", "themis", "leo", "allreduce hermod", "themis hermod", "counted")
PARENT_DEATH_SIGNAL: Final = 1
"""``PR_SET_PDEATHSIG`` of prctl(2)."""
STATUS: Final = {"kill": -signal.SIGKILL, "exit": 3, "signal": -signal.SIGTERM, "raise": 4}


@dataclass(frozen=True)
class Plan:
    """A program with its ranks, network and fate, as its seed says."""

    seed: int
    ranks: int
    network: str
    least: int
    victim: int
    death: tuple[str, int] | None

    @classmethod
    def of(cls, seed: int) -> Plan:
        rng = random.Random(seed * 7 + 1)
        ranks = rng.randint(2, 4)
        death = (rng.choice(DEATHS), rng.randint(0, 8)) if rng.random() < 1 / 12 else None
        return cls(seed, ranks, rng.choice(NETWORKS), rng.choice([1, 1, 1, 600]), rng.randrange(ranks), death)

    def dies_in(self, steps: list[Step]) -> bool:
        """Whether a rank ends in this program, which may be shorter."""
        return self.death is not None and any(step.number == self.death[1] for step in steps)

    def settings(self, links: str, control: str, folder: Path) -> dict[str, Any] | None:
        """The network's file, or None."""
        if self.network == "none":
            return None
        settings: dict[str, Any] = {"offloads": self.network.split(), "least": self.least, "interface": "127.0.0.1"}
        if self.network == "counted":
            settings |= {"offloads": [], "verify": True}
        if "allreduce" in self.network:
            ports = list(PORTS[: self.ranks])
            settings |= {"link": f"unix:{links}/port{{port}}", "control": control, "ports": ports}
        if "themis" in self.network:
            pod = folder / "pod.yaml"
            sizes = [2, 2] if self.ranks == 4 else [self.ranks]
            rates = ["100gbit", "10gbit"]
            dimensions = [{"type": "ring", "size": n, "rate": r} for n, r in zip(sizes, rates, strict=False)]
            pod.write_text(json.dumps({"name": "pod", "dimensions": dimensions}))
            settings["dimensions"] = str(pod)
        return settings


def keep(pipe: Connection, other: Connection) -> None:
    """The switch and the store that all runs share, in a process of their own, until the ``other`` end is closed."""
    other.close()
    import torch.distributed as dist

    from offramp.allreduce.control import with_session
    from offramp.p4src import p4_text
    from offramp_p4.embedded import EmbeddedSwitch

    text = p4_text("allreduce/v1model.p4", {"PAGES": 16}).encode()
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    with EmbeddedSwitch(None, sorted(PORTS)) as switch:
        with_session(switch.address, lambda session: session.push(b"", text), 20.0)
        pipe.send((store.port, str(Path(switch.port_specs[0].removeprefix("unix:")).parent), switch.address))
        try:
            pipe.recv()
        except EOFError:
            return


@contextmanager
def kept() -> Iterator[tuple[int, str, str]]:
    """Port of the store, folder of the links and address of the switch."""
    here, there = Pipe()
    keeper = get_context("fork").Process(target=keep, args=(there, here))
    keeper.start()
    there.close()
    try:
        yield here.recv()
    finally:
        here.close()
        keeper.join(10)
        keeper.terminate()


def be_rank(plan: Plan, rank: int, folder: Path, port: int, turn: int) -> None:
    """Play the program on gloo and on offramp; writes ``rankN.json``."""
    import torch.distributed as dist

    from offramp.torch import create

    faulthandler.dump_traceback_later(HANG_S - 8)
    os.environ.pop(create.VARIABLE, None)
    if (folder / "network.yaml").exists():
        os.environ[create.VARIABLE] = str(folder / "network.yaml")
    create.network.cache_clear()
    steps = steps_of(plan.seed, plan.ranks)
    server = dist.TCPStore("127.0.0.1", port, is_master=False, wait_for_workers=False)
    row: dict[str, Any] = {}
    for name in ("gloo", "offramp"):
        store = dist.PrefixStore(f"{turn}/{os.getppid()}/{name}", server)
        timeout = SHORT_S if plan.dies_in(steps) and name == "offramp" else TIMEOUT_S
        began = time.monotonic()
        dist.init_process_group(name, store=store, rank=rank, world_size=plan.ranks, timeout=timedelta(seconds=timeout))
        player = Player(name == "gloo", timedelta(seconds=timeout))
        if name == "offramp":
            player.expected = row["gloo"]["results"]
            player.death = plan.death if rank == plan.victim else None
        player.play(steps)
        row[name] = {"results": player.results, "lines": player.lines}
        if name == "gloo" or not plan.dies_in(steps):
            store.set(f"over {rank}", "1")
            store.wait([f"over {each}" for each in range(plan.ranks)], timedelta(seconds=TIMEOUT_S))
        dist.destroy_process_group()
        row[name]["took_s"] = time.monotonic() - began
    faulthandler.cancel_dump_traceback_later()
    (folder / f"rank{rank}.json").write_text(json.dumps(row))


@dataclass
class _Rank:
    """A process that plays the part of a rank in one program after the other."""

    pid: int
    pipe: Connection
    errors: Path
    code: int | None = None


class Ranks:
    """Processes that are ranks of many programs; those of a program in which one ends are not used again."""

    def __init__(self, port: int, folder: Path, prepare: Callable[[], None]) -> None:
        self._port, self._folder, self._prepare = port, folder, prepare
        self._ranks: list[_Rank] = []
        self._turn = 0

    def play(self, plan: Plan, folder: Path) -> list[int]:
        """Exit codes of the ranks, 0 of those that have played to the end.

        Raises:
            AssertionError: some hang.
        """
        self._turn += 1
        while len(self._ranks) < plan.ranks:
            self._ranks.append(self._fork())
        playing = self._ranks[: plan.ranks]
        for number, rank in enumerate(playing):
            rank.errors.write_text("")
            rank.pipe.send((plan, number, folder, self._turn))
        deadline = time.monotonic() + HANG_S
        waiting = list(playing)
        while waiting and time.monotonic() < deadline:
            for rank in [each for each in waiting if each.pipe.poll(0.002)]:
                try:
                    rank.pipe.recv()
                    rank.code = 0
                except EOFError:
                    rank.code = os.waitstatus_to_exitcode(os.waitpid(rank.pid, 0)[1])
                waiting.remove(rank)
        codes = [rank.code for rank in playing]
        said = {number: rank.errors.read_text()[-4000:] for number, rank in enumerate(playing)}
        if any(codes) or plan.death is not None:
            self.end()
        if None in codes:
            raise AssertionError(f"ranks {[k for k, code in enumerate(codes) if code is None]} hang: {said}")
        for number, text in said.items():
            (folder / f"err{number}").write_text(text)
        return [int(code or 0) for code in codes]

    def end(self) -> None:
        """Kill the processes that are left."""
        for rank in self._ranks:
            if not rank.code:
                os.kill(rank.pid, signal.SIGKILL)
                os.waitpid(rank.pid, 0)
            rank.pipe.close()
        self._ranks.clear()

    def _fork(self) -> _Rank:
        here, there = Pipe()
        errors = self._folder / f"errors{len(self._ranks)}"
        pid = os.fork()
        if not pid:
            for each in self._ranks:
                each.pipe.close()
            here.close()
            _be_child(there, errors, self._port, self._prepare)
        there.close()
        return _Rank(pid, here, errors)


def _be_child(pipe: Connection, errors: Path, port: int, prepare: Callable[[], None]) -> NoReturn:
    status = 1
    try:
        file = os.open(errors, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        os.dup2(file, 1)
        os.dup2(file, 2)
        prepare()
        _prepare()
        while True:
            plan, rank, folder, turn = pipe.recv()
            be_rank(plan, rank, folder, port, turn)
            pipe.send("")
    except EOFError:
        status = 0
    except SystemExit as end:
        status = int(end.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def _prepare() -> None:
    import torch
    from torch.distributed import distributed_c10d

    from offramp.allreduce import reducer
    from offramp.torch.names import name_of_members
    from offramp.torch.offloads import allreduce

    torch.set_num_threads(1)
    allreduce.AllReduceNetwork = functools.partial(reducer.AllReduceNetwork, retry_s=RETRY_S)  # type: ignore[misc,assignment]
    c10d: Any = distributed_c10d
    c10d._hash_ranks_to_str = name_of_members  # on gloo as well, whose ranks may not meet under PyTorch's names


def run(ranks: Ranks, links: str, control: str, seed: int) -> str:
    """One program; what it came to."""
    plan = Plan.of(seed)
    steps = steps_of(seed, plan.ranks)
    with tempfile.TemporaryDirectory(prefix="random-") as name:
        folder = Path(name)
        settings = plan.settings(links, control, folder)
        if settings is not None:
            (folder / "network.yaml").write_text(json.dumps(settings))
        try:
            codes = ranks.play(plan, folder)
        except AssertionError as error:
            raise AssertionError(f"{plan}: {digest(steps)}: {error}") from None
        dies = plan.dies_in(steps)
        for rank, code in enumerate(codes):
            wanted = STATUS[plan.death[0]] if plan.death and dies and rank == plan.victim else 0
            said = (folder / f"err{rank}").read_text()
            if wanted and code == 0:
                lines = json.loads((folder / f"rank{rank}.json").read_text())["offramp"]["lines"]
                if any("imed out" in line for line in lines.values()):
                    return f"{plan.network}: the machine was too slow"
                said += str(lines)
            assert code == wanted, f"{plan}: rank {rank} ended with {code}: {digest(steps)}: {said}"
        rows = {
            rank: json.loads((folder / f"rank{rank}.json").read_text())
            for rank in range(plan.ranks)
            if not (dies and rank == plan.victim)
        }
        if not dies and any(BUSY in line for row in rows.values() for line in row["offramp"]["lines"].values()):
            return f"{plan.network}: gloo could not connect in time"
        for rank, row in rows.items():
            _compare(plan, rank, row, digest(steps), dies)
    return f"{plan.network}: {'a rank ended' if dies else 'the same'}"


def _compare(plan: Plan, rank: int, row: dict[str, Any], program: str, dies: bool) -> None:
    gloo, ours = row["gloo"]["results"], row["offramp"]["results"]
    lines = row["offramp"]["lines"]
    where = f"{plan}: rank {rank}: {program}"
    if not dies:
        keys = sorted(gloo.keys() | ours.keys(), key=lambda key: int(key.split()[0]))
        more = {key.split()[0] for key in keys if gloo.get(key) == "refused" and key not in ours}  # an offload can
        keys = [key for key in keys if key.split()[0] not in more]
        bad = {key: (gloo.get(key), ours.get(key)) for key in keys if gloo.get(key) != ours.get(key)}
        assert not bad, f"{where}: gloo and offramp {bad}; gloo {row['gloo']['lines']}; offramp {lines}"
        return
    more = {key.split()[0] for key in ours if gloo.get(f"{key.split()[0]} ") == "refused"}  # an offload can
    wrong = {k: v for k, v in ours.items() if v not in (gloo.get(k), "refused") and k.split()[0] not in more}
    assert not wrong, f"{where}: another result than gloo's {wrong}; {lines}"
    assert all("\n" not in line for line in lines.values() if " on rank " in line), f"{where}: {lines}"
    assert row["offramp"]["took_s"] < 2 * SHORT_S + LATE_S, f"{where}: {row['offramp']['took_s']:.0f} s: {lines}"


def preload_offloads() -> None:
    """Import and compile what ranks would with their first group, their first sum and their first job."""
    preload()
    import grpc  # noqa: F401
    import scipy.optimize  # noqa: F401
    import torch._dynamo  # noqa: F401

    import offramp.allreduce.control  # noqa: F401
    import offramp_base.p4rt.session  # noqa: F401
    from offramp.hermod.matching.decompose import decompose
    from offramp.torch.offload import OFFLOADS

    for name in ("allreduce", "hermod", "themis", "leo"):
        OFFLOADS.get(name)
    decompose([[0]])
    assert len(list(Path("/proc/self/task").iterdir())) == 1, "only a process with one thread may be forked"


def play_all(seeds: list[int], asked: argparse.Namespace) -> bool:
    """Play the programs of these seeds with ranks and a switch of their own; whether all ended as they should."""
    with (
        kept() as (port, links, control),
        tempfile.TemporaryDirectory(prefix="ranks-") as name,
        responders_forked(Path(name)) as use,
    ):
        ranks = Ranks(port, Path(name), use)
        try:
            one = functools.partial(run, ranks, links, control)
            return not campaign(one, seeds, asked.out, asked.minutes)["wrong"]
        finally:
            ranks.end()


def play_apart(seeds: list[int], asked: argparse.Namespace) -> None:
    """The same in a process of its own, which ends with its parent, and with 1 if something was wrong."""
    ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGTERM)  # a thread that waits for that could not fork ranks
    sys.exit(not play_all(seeds, asked))


def main() -> int:
    parser = options(__doc__ or "")
    parser.add_argument(
        "--lanes", type=int, default=1, help="programs at a time; half as many more in which a rank ends"
    )
    asked = parser.parse_args()
    if not ENVIRONMENT.items() <= os.environ.items():
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | ENVIRONMENT)
    preload_offloads()
    seeds = range(asked.seed, asked.seed + asked.runs)
    deadly = [seed for seed in seeds if Plan.of(seed).death is not None]
    others = [seed for seed in seeds if Plan.of(seed).death is None]
    half = (asked.lanes + 1) // 2
    parts = [
        *(others[lane :: asked.lanes] for lane in range(asked.lanes)),
        *(deadly[lane::half] for lane in range(half)),
    ]
    lanes = [get_context("fork").Process(target=play_apart, args=(part, asked)) for part in parts if part]
    for lane in lanes:
        lane.start()
    for lane in lanes:
        lane.join()
    return int(any(lane.exitcode for lane in lanes))


if __name__ == "__main__":
    sys.exit(main())
