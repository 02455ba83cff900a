# SPDX-License-Identifier: Apache-2.0
"""Cost for SwitchGNN on the native engine of asking where each packet comes from: at most 5 % of its packets.

The program as it is and the same text without the check run in one process, batch by batch by turns; processor time
decides, so that other work on the machine meets both alike. Blind to what the check costs other engines, and a Tofino,
where it costs stages (``tests/p4/switchgnn/test_p4c_tofino.py``).
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from offramp.p4src import p4_text
from offramp.switchgnn.wire import LANES, NO_ID, build_frames
from offramp_base.wire.batch import PacketBatch
from offramp_p4.bench.rates import fresh
from offramp_p4.bench.workload import SwitchWorkload
from offramp_p4.native import NativeSwitch
from offramp_sim.switchgnn import direct
from offramp_sim.switchgnn.workloads import replicated_switchgnn, switchgnn

pytestmark = [pytest.mark.bench, pytest.mark.timeout(900)]

PAIRS, LEAST_S = 61, 0.010
MOST = 0.05
FOREIGN = 9
WORKLOADS: dict[str, tuple[Callable[..., SwitchWorkload], str, int]] = {
    "v1model": (switchgnn, "switchgnn/v1model.p4", 16),
    "replicated": (replicated_switchgnn, "switchgnn/replicated_v1model.p4", 12),
}
"""The maker of the packets, the program, and how many rounds of them take long enough to be measured."""
THE_CHECK = {
    "origin.apply(hdr, meta, standard_metadata.ingress_port);": ("", 1),
    "strangers.apply(meta.outcome, standard_metadata.ingress_port);": ("", 1),
    "source != meta.source": ("false", 2),  # Guard, Barrier
    "        source = port;\n": ("", 3),  # Guard; hosts of the Barrier
}
"""Texts of the check, what stands in their place without it, and how often each occurs."""


def without_check(name: str, folder: Path) -> Path:
    """The program of this name without the check, whose texts must be there."""
    text = p4_text(name)
    for there, (instead, times) in THE_CHECK.items():
        assert text.count(there) == times, f"{name}: {there.strip()}"
        text = text.replace(there, instead)
    path = folder / Path(name).name
    path.write_text(text)
    return path


def packets_of_strangers(switch: NativeSwitch) -> int:
    """Number of two forged uploads, in the names of the first two vertices, that are counted as a stranger's."""
    before = direct.counters(switch)["stranger"]
    lanes = np.full((1, LANES), 9, np.int32)
    for vertex in range(2):
        forged = build_frames(0, {"dst_id": NO_ID, "src_id": vertex, "round": 1}, 1, lanes)
        switch.process(PacketBatch.of((FOREIGN, frame) for frame in forged.frames()))
    return direct.counters(switch)["stranger"] - before


def run(switches: Sequence[NativeSwitch], workload: SwitchWorkload) -> list[float]:
    """Processor time of each switch for all packets of the job, twice.

    Who goes first changes by batch, and is the other one the second time: a batch that was read is in the cache, and so
    is the state of the switch that was cleared last.
    """
    spent = [0.0] * len(switches)
    for turns in ([0, 1], [1, 0]):
        for at in turns:
            fresh(switches[at], workload)
        for batch in workload.batches:
            for at in turns:
                start = time.process_time()
                switches[at].process(batch)
                spent[at] += time.process_time() - start
            turns.reverse()
    return spent


@pytest.mark.parametrize("name", WORKLOADS)
def test_the_check_of_ports_costs_at_most_five_percent(
    name: str, tmp_path: Path, record_property: Callable[[str, object], None], capsys: pytest.CaptureFixture[str]
) -> None:
    make, source, rounds = WORKLOADS[name]
    workload = make(rounds=rounds)
    unchecked = NativeSwitch(replace(workload, source=without_check(source, tmp_path)).program)
    checked = NativeSwitch(workload.program)
    run((checked, unchecked), workload)
    done = [{k: n for k, n in direct.counters(switch).items() if k != "stranger"} for switch in (checked, unchecked)]
    assert done[0] == done[1]
    assert (packets_of_strangers(checked), packets_of_strangers(unchecked)) == (2, 0)

    pairs = [run((checked, unchecked), workload) for _ in range(PAIRS)]
    assert min(map(min, pairs)) >= LEAST_S
    cost = statistics.median(with_ / without for with_, without in pairs) - 1
    best = min(with_ for with_, _ in pairs) / min(without for _, without in pairs) - 1
    medians = [1e3 * statistics.median(column) for column in zip(*pairs, strict=True)]
    line = (
        f"{name}: {workload.packets:,} packets, {PAIRS} pairs: {medians[1]:.2f} ms without the check, "
        f"{medians[0]:.2f} ms with it; median of ratios {cost:+.1%}, ratio of the best {best:+.1%}"
    )
    record_property("cost", line)
    with capsys.disabled():
        sys.stdout.write(f"\n{line}\n")
    assert cost <= MOST, line
