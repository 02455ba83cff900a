# SPDX-License-Identifier: Apache-2.0
"""Processor time until a switch listens, what code that is not optimised costs packets, and what bmv2's log costs.

docs/results has the tables; nothing passes or fails by it.
"""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from offramp.p4src import p4_root
from offramp_p4.bench.rates import fresh
from offramp_p4.bench.router import router
from offramp_p4.bench.workload import SwitchWorkload
from offramp_p4.native import NativeSwitch
from offramp_p4.optimising import OptimiseWhen
from offramp_p4.trace.sinks import TraceSink
from offramp_sim.switchgnn.workloads import switchgnn

pytestmark = [pytest.mark.bench, pytest.mark.timeout(900)]

ROUNDS = 5
SWITCH = (
    "import sys; from offramp_p4_tools.dropin.simple_switch import main; sys.exit(main(program='simple_switch_grpc'))"
)
WORKLOADS: dict[str, Callable[[], SwitchWorkload]] = {
    "SwitchGNN": lambda: switchgnn(rounds=1),
    "router, 64 B": lambda: router(64, 4096),
}


def processor_s(program: Path, cache: Path) -> float:
    """Processor time of ``simple_switch_grpc`` until it listens; of the process it starts to optimise, none."""
    command = [sys.executable, "-c", SWITCH, str(program), "--grpc-server-addr", "127.0.0.1:0"]
    environment = os.environ | {"XDG_CACHE_HOME": str(cache)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        assert any("Server listening" in line for line in process.stdout)
        tasks = Path(f"/proc/{process.pid}/task").iterdir()
        spent = sum(int((task / "schedstat").read_text().split()[0]) for task in tasks)
        process.send_signal(signal.SIGTERM)
    return spent / 1e9


def test_the_start_of_a_switch(tmp_path: Path) -> None:
    source = next((p4_root() / "examples").glob("reflector.p4")).read_text()
    (tmp_path / "cache").mkdir(mode=0o700)
    program, spent = tmp_path / "program.p4", dict[str, list[float]]()
    for number in range(ROUNDS + 1):
        changed = source.replace("apply {", f"apply {{ bit<32> unlike = {number}; unlike = unlike + 1;", 1)
        program.write_text(changed)
        for what in ("new", "known"):
            spent.setdefault(what, []).append(processor_s(program, tmp_path / "cache"))
    for what, seconds in spent.items():
        sys.stdout.write(f"\n{what} program: {statistics.median(seconds[1:]):.2f} s of processor time until it listens")


@pytest.mark.parametrize("name", WORKLOADS)
def test_passes_by_code_and_log(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workload = WORKLOADS[name]()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    nowhere, file = (TraceSink(name, None, like_bmv2=True).lines_alone for name in (os.devnull, str(tmp_path / "log")))
    switches = {
        "baseline code": NativeSwitch(workload.program, optimise=OptimiseWhen.ASIDE),
        "optimised code": NativeSwitch(workload.program),
        "with bmv2's log, thrown away": NativeSwitch(workload.program, log=nowhere),
        "with bmv2's log, in a file": NativeSwitch(workload.program, log=file),
    }
    switches["baseline code"]._code.baseline.clear()  # stays as it is
    best = dict.fromkeys(switches, float("inf"))
    for _ in range(ROUNDS):
        for what, switch in switches.items():
            fresh(switch, workload)
            before, start = switch.stats.passes, time.process_time()
            for batch in workload.batches[:4]:
                switch.process(batch)
            took = time.process_time() - start
            best[what] = min(best[what], 1e9 * took / (switch.stats.passes - before))
    for what, ns in best.items():
        sys.stdout.write(f"\n{name}, {what}: {ns:.0f} ns a pass, {ns / best['optimised code']:.1f} times")
