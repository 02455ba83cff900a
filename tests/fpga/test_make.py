# SPDX-License-Identifier: Apache-2.0
"""The folders of the benches as users of cocotb expect them: ``make``, waveforms, functional coverage of a run."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from offramp_base.errors import MultilineError
from offramp_sim.rtl.bench import COVERAGE, WAVES, run_bench
from offramp_sim.rtl.build import Design
from rtl.coverage import merge, table

pytestmark = pytest.mark.rtl
HERE = Path(__file__).parent
FAILING = """
import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles
from rtl.coverage import Coverage

@cocotb.test()
async def fails(dut):
    cocotb.start_soon(Clock(dut.clk, 4, unit="ns").start())
    await ClockCycles(dut.clk, 5)
    cover = Coverage(size=("small", "large"), end=(True, False))
    cover.hit(size="small", end=True)
    cover.hit(size="small", end=False)
    cover.check()
"""


def test_every_folder_of_benches_has_a_makefile_of_three_lines():
    folders = {path.parent for path in HERE.glob("*/bench_*.py")}
    assert len(folders) > 8
    for folder in folders:
        lines = (folder / "Makefile").read_text().splitlines()
        assert len(lines) == 3
        assert lines[-1] == "include ../bench.mk"


@pytest.mark.skipif(not shutil.which("make"), reason="needs make")
def test_make_runs_a_bench_and_records_it(simulator, tmp_path):
    environment = {name: text for name, text in os.environ.items() if not name.startswith(("OFFRAMP_BENCH", "PYTEST"))}
    words = ["make", f"SIM={simulator}", "WAVES=1", "K=skid_buffer and 0.0-0.0", f"OUT={tmp_path / 'out'}"]
    done = subprocess.run(
        words, cwd=HERE / "common", env=environment, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
    (recorded,) = {path.resolve() for path in (tmp_path / "out").glob("*/waves.fst")}
    assert recorded.stat().st_size > 100


def test_make_names_the_simulators_and_folders_that_there_are(simulator):
    done = subprocess.run(
        ["make", "SIM=questa"], cwd=HERE / "common", capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode
    assert "icarus" in done.stderr
    assert "verilator" in done.stderr


@pytest.fixture
def failing(tmp_path):
    bench = tmp_path / "bench_failing.py"
    bench.write_text(FAILING)
    work = tmp_path / "work"
    work.mkdir()
    return bench, work


def test_a_bench_that_fails_keeps_its_waveforms(either, failing, monkeypatch):
    bench, work = failing
    name = {"icarus": "waves.fst", "verilator": "waves.vcd"}[either]
    monkeypatch.delenv("WAVES", raising=False)
    monkeypatch.delenv(COVERAGE, raising=False)
    monkeypatch.setenv(WAVES, "never")
    with pytest.raises(MultilineError) as plain:
        run_bench(Design("skid_buffer"), either, bench, work)
    assert "waveforms" not in str(plain.value)
    assert not (work / name).exists()
    monkeypatch.setenv(WAVES, "failed")
    with pytest.raises(MultilineError, match=r"waveforms: .*waves") as kept:
        run_bench(Design("skid_buffer"), either, bench, work)
    assert str(work / name) in str(kept.value)
    assert (work / name).stat().st_size > 100


def test_coverage_of_all_benches_is_merged(simulator, failing, monkeypatch, tmp_path):
    bench, work = failing
    hits = tmp_path / "hits.jsonl"
    monkeypatch.setenv(COVERAGE, str(hits))
    monkeypatch.setenv(WAVES, "never")
    for _ in range(2):
        with pytest.raises(MultilineError, match="not covered"):
            run_bench(Design("skid_buffer"), simulator, bench, work)
    merged = merge(hits.read_text().splitlines())
    assert merged == {"bench_failing": {"size": {"small": 4, "large": 0}, "end": {"True": 2, "False": 2}}}
    ends, sizes = table(merged)
    assert ends == "bench_failing: end: 2 of 2 bins; least often False: 2"
    assert sizes == "bench_failing: size: 1 of 2 bins; never: large"
