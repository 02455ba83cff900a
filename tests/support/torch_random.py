# SPDX-License-Identifier: Apache-2.0
"""Random programs (:mod:`torch_steps`) on gloo and then on ``offramp`` with one offload or another: the same results.

    PYTHONPATH=base:switch:host:sim:tests/support python tests/support/torch_random.py --runs 10000 --out FILE

Two to four ranks, forks of this process, play each program twice: groups, splits, types, strides, asynchronous work,
messages from any source, barriers. In one of twelve a rank ends in the middle: the others must end with results of
gloo's up to there and one line, in time. Offloads are in turn none, sums by a switch, Hermod, Themis, LEO, and several
at once. Blind to what gloo does wrong as well, other than strides and means.
"""

from __future__ import annotations

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
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, NoReturn

from kill_campaign import ENVIRONMENT
from seeded_campaign import campaign, options
from torch_soak import BUSY, HANG_S, ended, preload
from torch_steps import DEATHS, Player, digest, steps_of

PORTS: Final = (3, 1, 2, 4)
TIMEOUT_S: Final = 30.0
SHORT_S: Final = 3.0
"""The timeout of programs in which a rank ends."""
LATE_S: Final = 25.0
"""Seconds that the end of such a program may take beyond two timeouts, on a machine that does other things too."""
RETRY_S: Final = 0.03
NETWORKS: Final = ("none", "allreduce", "hermod", "themis", "leo", "allreduce hermod", "themis hermod", "counted")
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


def keep(pipe: Connection) -> None:
    """The switch and the store that all runs share, in a process of their own."""
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
    keeper = get_context("fork").Process(target=keep, args=(there,))
    keeper.start()
    there.close()
    try:
        yield here.recv()
    finally:
        here.close()
        keeper.join(10)
        keeper.terminate()


def be_rank(plan: Plan, rank: int, folder: Path, port: int) -> None:
    """Play the program on gloo and on offramp; writes ``rankN.json``."""
    import torch
    import torch.distributed as dist

    from offramp.allreduce import reducer
    from offramp.torch.create import VARIABLE
    from offramp.torch.offloads import allreduce

    faulthandler.dump_traceback_later(HANG_S - 8)
    torch.set_num_threads(1)
    allreduce.AllReduceNetwork = functools.partial(reducer.AllReduceNetwork, retry_s=RETRY_S)  # type: ignore[misc,assignment]
    if (folder / "network.yaml").exists():
        os.environ[VARIABLE] = str(folder / "network.yaml")
    steps = steps_of(plan.seed, plan.ranks)
    server = dist.TCPStore("127.0.0.1", port, is_master=False, wait_for_workers=False)
    row: dict[str, Any] = {}
    for name in ("gloo", "offramp"):
        store = dist.PrefixStore(f"{plan.seed}/{os.getppid()}/{name}", server)
        timeout = SHORT_S if plan.death is not None and name == "offramp" else TIMEOUT_S
        began = time.monotonic()
        dist.init_process_group(name, store=store, rank=rank, world_size=plan.ranks, timeout=timedelta(seconds=timeout))
        player = Player(name == "gloo", timedelta(seconds=timeout))
        if name == "offramp":
            player.expected = row["gloo"]["results"]
            player.death = plan.death if rank == plan.victim else None
        player.play(steps)
        row[name] = {"results": player.results, "lines": player.lines}
        if name == "gloo" or plan.death is None:
            store.set(f"over {rank}", "1")
            store.wait([f"over {each}" for each in range(plan.ranks)], timedelta(seconds=TIMEOUT_S))
        dist.destroy_process_group()
        row[name]["took_s"] = time.monotonic() - began
    (folder / f"rank{rank}.json").write_text(json.dumps(row))


def _be_child(plan: Plan, rank: int, folder: Path, port: int) -> NoReturn:
    status = 1
    try:
        file = os.open(folder / f"err{rank}", os.O_CREAT | os.O_WRONLY)
        os.dup2(file, 1)
        os.dup2(file, 2)
        be_rank(plan, rank, folder, port)
        status = 0
    except SystemExit as end:
        status = int(end.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def run(port: int, links: str, control: str, seed: int) -> str:
    """One program; what it came to."""
    plan = Plan.of(seed)
    steps = steps_of(seed, plan.ranks)
    with tempfile.TemporaryDirectory(prefix="random-") as name:
        folder = Path(name)
        settings = plan.settings(links, control, folder)
        if settings is not None:
            (folder / "network.yaml").write_text(json.dumps(settings))
        pids = []
        for rank in range(plan.ranks):
            pids.append(os.fork())
            if not pids[-1]:
                _be_child(plan, rank, folder, port)
        try:
            codes = ended(pids)
        except AssertionError as error:
            said = {rank: (folder / f"err{rank}").read_text()[-4000:] for rank in range(plan.ranks)}
            raise AssertionError(f"{plan}: {error}: {digest(steps)}: {said}") from None
        dies = plan.death is not None and any(step.number == plan.death[1] for step in steps)
        for rank, code in enumerate(codes):
            wanted = STATUS[plan.death[0]] if plan.death and dies and rank == plan.victim else 0
            said = (folder / f"err{rank}").read_text()[-4000:]
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
    wrong = {key: value for key, value in ours.items() if value not in (gloo.get(key), "refused")}
    assert not wrong, f"{where}: another result than gloo's {wrong}; {lines}"
    assert all("\n" not in line for line in lines.values() if " on rank " in line), f"{where}: {lines}"
    assert row["offramp"]["took_s"] < 2 * SHORT_S + LATE_S, f"{where}: {row['offramp']['took_s']:.0f} s: {lines}"


def main() -> int:
    asked = options(__doc__ or "").parse_args()
    if not ENVIRONMENT.items() <= os.environ.items():
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | ENVIRONMENT)
    preload()
    import torch._dynamo  # noqa: F401 - else each rank imports it with its first group

    with kept() as where:
        summary = campaign(
            functools.partial(run, *where), range(asked.seed, asked.seed + asked.runs), asked.out, asked.minutes
        )
    return bool(summary["wrong"])


if __name__ == "__main__":
    sys.exit(main())
