# SPDX-License-Identifier: Apache-2.0
"""A look at a cluster with something of everything, and the page's server in a thread of a test or a process.

``python watched.py CLUSTER`` serves the page of a cluster's file, with looks that do not go on: its address is the line
that it writes, and it ends with its standard input.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from offramp.allreduce.control import LeaseTraffic
from offramp.cluster import Cluster, parse_cluster
from offramp.job.watch import AgentLook, Look, PortLook, RankLook, SwitchLook, WayLook
from offramp.job.web.connections import SILENT_S
from offramp.job.web.server import Watcher, listen, serve


def full_look(at: int = 0) -> Look:
    """The look number ``at``, in which bytes and steps have gone on."""
    hosts = [f"h{number}" for number in range(1, 5)]
    return Look(
        at_s=float(at),
        links={host: (at * 1_000_000 * (1 + n), at * 900_000) for n, host in enumerate(hosts)},
        switches={
            "leaf1": SwitchLook(
                True,
                30,
                {0x51CE: 8, 7: 4},
                {"completed": 100 + at, "repeated": 3, "stranger": 0},
                traffic={7: LeaseTraffic(300 + at, 90_000 + 300 * at, {"added": 200, "completed": 100 + at})},
            ),
            "leaf2": SwitchLook(True, queues={"3/7": {"sent": 5 + at, "marked": 1, "dropped": 2}}),
            "spine": SwitchLook(False),
        },
        ranks={rank: RankLook(at, 0.1 + rank / 100, 0.11, {"backward": 0.04}) for rank in range(4)},
        queues={host: (1500 * n, n) for n, host in enumerate(hosts)},
        agents={
            "h1/nic": AgentLook(True, 2, 1000 + at, 1, {"veth0": PortLook(10 + at, 20 + at, 0)}),
            "h2/nic": AgentLook(False),
        },
        paths={0: {"ca": 700 + at, "cc": 300}},
        plan={
            "allreduce": WayLook(True, 0.09, 0.11, "saves 40 % of a step"),
            "gloo": WayLook(False, 0.16, None, ""),
            'a "way"\\<b>': WayLook(False, None, None, "no such <b>way</b>"),
        },
    )


@contextmanager
def served(cluster: Cluster, sample: Any = None, interval_s: float = 0.05, silent_s: float = SILENT_S) -> Iterator[str]:
    """The address of a server that shows looks which go on."""
    count = iter(range(10**9))
    sock, address = listen("127.0.0.1:0")
    loop = asyncio.new_event_loop()
    watcher = Watcher(cluster, sample or (lambda: full_look(next(count))), interval_s)
    task = loop.create_task(serve(sock, watcher, silent_s))

    def run() -> None:
        try:
            loop.run_until_complete(task)
        except asyncio.CancelledError:
            pass
        finally:
            loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield f"http://{address}"
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join(30)


@contextmanager
def served_alone(cluster: Path) -> Iterator[str]:
    """The address of a server in a process of its own, so that its clients do not share an interpreter with it."""
    command, pipe = [sys.executable, __file__, str(cluster)], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()
            process.wait(30)


if __name__ == "__main__":
    with served(parse_cluster(Path(sys.argv[1]).read_text("utf-8")), lambda: full_look(5), interval_s=1.0) as url:
        sys.stdout.write(f"{url}\n")
        sys.stdout.flush()
        sys.stdin.read()
