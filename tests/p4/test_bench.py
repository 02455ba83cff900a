# SPDX-License-Identifier: Apache-2.0
"""Measurements of the P4 switch measure what they say: packets of a workload, compared, none lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from listening_sockets import descendants
from offramp.p4src import p4_root
from offramp_base.errors import OfframpError
from offramp_cli import show
from offramp_cli.app import app
from offramp_cli.switch.bench_rows import BenchRows
from offramp_p4.bench.rates import MeasuredRate, measure
from offramp_p4.bench.router import router
from offramp_p4.bench.veth import measure_veth
from offramp_p4.bench.workload import SwitchWorkload
from offramp_sim.switchgnn.workloads import switchgnn

pytestmark = pytest.mark.p4


@pytest.mark.full
@pytest.mark.parametrize("engine", ["python", "native"])
def test_every_packet_is_counted(engine: str) -> None:
    rate = measure(router(64, packets=500), engine, 0.0)
    assert rate.packets == rate.passes == 500
    rate = measure(switchgnn(vertices=40, rounds=1), engine, 0.0)
    assert rate.passes > rate.packets > 0


@pytest.mark.full
@pytest.mark.netns
@pytest.mark.parametrize("engine", ["python", "native"])
def test_over_veth(engine: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    routed = measure_veth(router(64, packets=512), engine, 0.3)
    assert routed.packets >= 512
    assert routed.kernel is not None
    assert 0 < routed.kernel < 1
    assert measure_veth(switchgnn(vertices=60, rounds=8), engine, 0.3).passes > 0


@pytest.mark.full
@pytest.mark.netns
def test_a_switch_that_forwards_wrongly_is_not_measured() -> None:
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    plain = router(64, packets=256)
    prepared = []

    def spoil(switch) -> None:  # type: ignore[no-untyped-def]
        plain.prepare(switch)
        if prepared:  # the second switch to be prepared is the one that is measured
            switch.tables["RouterIngress.next_hops"].clear()
        prepared.append(switch)

    spoilt: SwitchWorkload = replace(plain, prepare=spoil)
    with pytest.raises(OfframpError, match=r"python over veth: of 16 frames .* did not come back as they should"):
        measure_veth(spoilt, "python", 0.1)


def test_command(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    arguments = ["switch", "bench", str(p4_root() / "examples/reflector.p4"), "--seconds", "0", "--no-bmv2"]
    result = CliRunner().invoke(app, [*arguments, "--json", str(report)], env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    rates = {rate["switch"]: rate for rate in json.loads(report.read_text())["rates"]}
    assert rates["native"]["packets_per_s"] > rates["python"]["packets_per_s"] > 0
    assert "ns/pass" in result.output
    assert rates["python"]["packets"] == rates["python"]["passes"] == 4096
    assert rates["python"]["ns_per_pass"] == pytest.approx(1e9 / rates["python"]["passes_per_s"])


def test_rows_are_printed_one_by_one_and_compared_with_bmv2(capsys: pytest.CaptureFixture[str]) -> None:
    rows = BenchRows(show.console(wrap=False))
    printed = []
    for switch, packets in (("bmv2", 1000), ("native", 250_000)):
        rows.add(MeasuredRate("router, 64 B", switch, "memory", packets, packets, 1.0))
        printed.append(capsys.readouterr().out.splitlines())
    heading, first = (line.split() for line in printed[0])
    assert heading[:3] == ["workload", "links", "switch"]
    assert first[-4:] == ["1,000", "1,000", "1,000,000", "1.0"]
    assert [line.split()[-4:] for line in printed[1]] == [["250,000", "250,000", "4,000", "250.0"]]


def test_no_measurement_begins_when_the_time_is_over(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    arguments = ["switch", "bench", str(p4_root() / "examples/reflector.p4"), "--within", "0", "--no-bmv2"]
    result = CliRunner().invoke(app, [*arguments, "--json", str(report)], env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    assert json.loads(report.read_text())["rates"] == []
    assert "2 measurements: not measured: 0 s are over (--within), next was reflector" in result.output


@pytest.mark.full
@pytest.mark.netns
def test_what_is_stopped_leaves_the_rows_it_has_and_no_process() -> None:
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    program = str(p4_root() / "examples/reflector.p4")
    command = ["switch", "bench", program, "--veth", "--no-bmv2", "--seconds", "0.2"]
    with subprocess.Popen(
        [sys.executable, "-c", "from offramp_cli import main; main()", *command], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(3)]  # heading, both engines in memory; veth pairs are next
        while not any(b"offramp_p4.bench.player" in command_line(pid) for pid in descendants(process.pid)):
            assert process.poll() is None
        children = descendants(process.pid)
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 143
    assert [line.split()[2] for line in lines] == ["switch", "native", "python"]
    assert not any(Path(f"/proc/{pid}").exists() for pid in children)


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
