# SPDX-License-Identifier: Apache-2.0
"""Outcomes of four acts such as a demo has, with everything that the page can show; the numbers are drawn by a seed.

``python tests/support/four_acts.py FOLDER`` writes the page and its trace, to be looked at.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Mapping
from pathlib import Path

from offramp.report import (
    Alternative,
    DrawnFabric,
    FabricLink,
    FabricMachine,
    Outcome,
    ReportCheck,
    Verdict,
    outcomes_page,
)
from offramp.report.outcome import ProgressPoint

TRACE = "trace.json"
RACKS = {"leaf1": ("h1", "h2"), "leaf2": ("h3", "h4")}


def steps(rng: random.Random, median_s: float, count: int = 30) -> tuple[float, ...]:
    """Steps of about this many seconds, with a tail."""
    return tuple(median_s * (0.96 + rng.expovariate(20)) for _ in range(count))


def curve(rng: random.Random, points: int) -> tuple[ProgressPoint, ...]:
    """A training that learns."""
    return tuple(ProgressPoint(k, 2.3 * 0.93**k + rng.random() / 50, 1 - 0.9 * 0.94**k) for k in range(1, points + 1))


def racks(by: Mapping[str, int], uncounted: frozenset[str] = frozenset()) -> DrawnFabric:
    """Two racks below a spine; each alternative has sent about so many bytes on a host's link."""
    nodes = [FabricMachine(host, "host", leaf) for leaf, hosts in RACKS.items() for host in hosts]
    nodes += [FabricMachine(name, "switch") for name in (*RACKS, "spine")]
    links = [
        FabricLink((host, leaf), 25_000_000, {name: (size, size * 9 // 10) for name, size in by.items()})
        for leaf, hosts in RACKS.items()
        for host in hosts
    ]
    counted = {name: (size * 2, size * 2) for name, size in by.items() if name not in uncounted}
    links += [FabricLink((leaf, "spine"), 50_000_000, counted) for leaf in RACKS]
    return DrawnFabric(tuple(nodes), tuple(links))


def trace(path: Path) -> None:
    """Three steps of four ranks, each with a collective."""
    events: list[dict[str, object]] = []
    for rank in range(4):
        events.append({"ph": "M", "name": "process_name", "pid": rank, "args": {"name": f"rank {rank}"}})
        for number in range(3):
            begin = 180_000 * number + 2_000 * rank
            for name, tid, after, length, part in (
                (f"step {number}", 0, 0, 170_000, ""),
                ("backward", 0, 1_000, 90_000, "computing"),
                ("all_reduce by allreduce", 1, 91_000, 70_000, "sending"),
                ("last rank", 1, 161_000, 6_000 - 1_900 * rank, "waiting"),
            ):
                event = {"ph": "X", "name": name, "pid": rank, "tid": tid, "ts": begin + after, "dur": max(0, length)}
                events.append(event | ({"cat": part} if part else {}))
    path.write_text(json.dumps({"traceEvents": events}))


def four_acts(seed: int = 1) -> list[Outcome]:
    """The outcomes."""
    rng = random.Random(seed)
    return [
        Outcome(
            "gnn",
            "A graph network through a switch",
            "Does the switch make training of a graph network faster than sending features from worker to worker?",
            Verdict("yes", "An epoch took 412 ms by switch and 866 ms by p2p (medians): 2.10 times as fast."),
            "epoch",
            (
                Alternative(
                    "p2p",
                    predicted_s=0.8,
                    measured_s=steps(rng, 0.86),
                    startup_s=4.2,
                    parts_s={"computing": 0.1, "sending": 0.72, "waiting": 0.05},
                    curve=curve(rng, 30),
                ),
                Alternative(
                    "switch",
                    predicted_s=0.38,
                    measured_s=steps(rng, 0.41),
                    startup_s=7.9,
                    parts_s={"computing": 0.1, "sending": 0.25, "waiting": 0.06},
                    curve=curve(rng, 30),
                    taken=True,
                    bound="links of the hosts",
                    note="2.11 times as fast as p2p",
                ),
            ),
            racks({"p2p": 41_000_000, "switch": 17_000_000}),
            (
                ReportCheck("Both ways compute what one process computes, to the last bit.", True),
                ReportCheck("Hosts sent less where the switch adds.", True),
            ),
            TRACE,
            ("Four workers with hash partitions; one turn of each after the other.",),
            71.0,
        ),
        Outcome(
            "hermod",
            "Coflows that compete",
            "Does the coflow that others wait for end sooner when queues know its priority?",
            Verdict("unknown", "Cannot be told, because other work wanted 2.3 of this machine's 2 processors."),
            "coflow",
            (
                Alternative("one queue", measured_s=steps(rng, 1.4, 12), startup_s=1.1, predicted_s=1.2),
                Alternative("by priority", measured_s=steps(rng, 1.3, 12), startup_s=1.2, predicted_s=0.7),
            ),
            racks({"one queue": 31_000_000, "by priority": 31_000_000}, frozenset({"one queue"})),
            seconds=33.0,
        ),
        Outcome(
            "leo",
            "Requests over processor, FPGA and smartNIC",
            "Is a request done sooner when each takes the path on which it ends first?",
            Verdict("no", "No path is faster than the processor for requests of this size."),
            "request",
            (
                Alternative(
                    "processor", measured_s=steps(rng, 31e-6, 400), parts_s={"computing": 25e-6, "sending": 6e-6}
                ),
                Alternative(
                    "FPGA", modelled_s=55e-6, note="no simulator of its RTL is installed, so its model is shown"
                ),
                Alternative("smartNIC", measured_s=steps(rng, 48e-6, 400), startup_s=0.4),
                Alternative("one-path", note="not run: it is the processor alone"),
            ),
            DrawnFabric(
                (
                    FabricMachine("client", "host"),
                    FabricMachine("server", "host"),
                    FabricMachine("fpga", "card"),
                    FabricMachine("nic", "nic"),
                ),
                (
                    FabricLink(("client", "server"), None, {"processor": (900_000, 4_000_000)}),
                    FabricLink(("server", "fpga"), 64_000_000_000),
                    FabricLink(("server", "nic"), 25_000_000_000, {"smartNIC": (700_000, 3_000_000)}),
                ),
            ),
            seconds=9.0,
        ),
        Outcome(
            "job",
            "A data-parallel job, planned and run",
            "Does an offload pay for this job?",
            Verdict(
                "yes",
                "A step took 189 ms by allreduce and 297 ms by gloo (medians): 1.57 times as fast. The whole run took "
                "112 s by allreduce and 53 s by gloo: start-up, which took 106 s and 44 s, is not in the steps.",
            ),
            "step",
            (
                Alternative(
                    "gloo",
                    predicted_s=0.28,
                    measured_s=steps(rng, 0.29),
                    startup_s=44.0,
                    parts_s={"computing": 0.02, "sending": 0.26, "waiting": 0.01},
                    curve=curve(rng, 30),
                    bound="links of the hosts",
                    note="slower",
                ),
                Alternative(
                    "allreduce",
                    predicted_s=0.179,
                    measured_s=steps(rng, 0.19),
                    startup_s=106.0,
                    parts_s={"computing": 0.02, "sending": 0.15, "waiting": 0.02},
                    curve=curve(rng, 30),
                    taken=True,
                    bound="passes of the switch",
                    note="1.56 times as fast as gloo",
                ),
                Alternative("hermod", predicted_s=0.28, note="1.00 of gloo's speed"),
                Alternative("themis", note="the cluster has no dimensions to balance"),
                Alternative("sylvie", note="the job does not allow loss (lossy)"),
            ),
            racks({"gloo": 26_000_000, "allreduce": 17_500_000}),
            (ReportCheck("Test accuracy by allreduce is 0.00 points from the 94.2 % by gloo (at most 0.5).", True),),
            TRACE,
            seconds=165.0,
        ),
    ]


def write_page(folder: Path) -> Path:
    """The page of the four acts with its trace in a folder; its path."""
    folder.mkdir(parents=True, exist_ok=True)
    trace(folder / TRACE)
    page = folder / "report.html"
    lead = "Four acts on this machine; what it lacks is said."
    text = outcomes_page(
        "Offramp's demo", lead, four_acts(), "offramp demo --out out", "Offramp 9, today", folder=folder
    )
    page.write_text(text, "utf-8")
    return page


if __name__ == "__main__":
    sys.stdout.write(f"{write_page(Path(sys.argv[1]))}\n")
