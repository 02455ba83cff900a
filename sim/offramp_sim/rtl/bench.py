# SPDX-License-Identifier: Apache-2.0
"""Runs cocotb test benches on a cached build, each in its own simulator process."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from offramp_base.errors import MultilineError
from offramp_sim.rtl.build import TIMESCALE, Design, build, libraries, runner

WAVES: Final = "OFFRAMP_BENCH_WAVES"
"""Environment variable for waveforms: ``never``, ``failed`` (a failed bench runs again, recording) or ``always``."""
COVERAGE: Final = "OFFRAMP_BENCH_COVERAGE"
"""Environment variable for a file to which benches append their functional coverage, a line of JSON each."""


def run_bench(
    design: Design,
    simulator: str,
    bench: Path,
    work: Path,
    *,
    case: str | None = None,
    seed: int = 1,
    settings: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Run the cocotb tests of the module ``bench`` and return what they reported.

    The environment variables :data:`WAVES` and :data:`COVERAGE` say what is kept of a run; cocotb's own ``WAVES=1``
    means ``always``. Waveforms are in ``work``: ``waves.fst`` from Icarus, ``waves.vcd`` from Verilator.

    Args:
        design: design to simulate.
        simulator: ``icarus`` or ``verilator``.
        bench: a Python file, which can import modules beside it.
        work: folder for logs and results.
        case: run only this test of the module.
        seed: random seed of Python's generator in the bench.
        settings: what :func:`settings` returns there; JSON.

    Raises:
        OfframpError: a test failed, or none ran; with the log's last lines.
    """
    when = os.environ.get(WAVES) or ("always" if os.environ.get("WAVES", "0") not in ("", "0") else "never")
    run = partial(_run, design, simulator, bench, work, case, seed, settings or {})
    try:
        return run(waves=when == "always")
    except MultilineError:
        if when != "failed":
            raise
    return run(waves=True)  # fails again: the seed is the same


def _run(
    design: Design,
    simulator: str,
    bench: Path,
    work: Path,
    case: str | None,
    seed: int,
    settings: Mapping[str, Any],
    *,
    waves: bool,
) -> dict[str, Any]:
    folder = build(replace(design, waves=waves), simulator)
    recorded = work / ("waves.fst" if simulator == "icarus" else "waves.vcd")
    recorded.unlink(missing_ok=True)
    report, log, results = work / "report.json", work / "simulation.log", work / "results.xml"
    report.unlink(missing_ok=True)
    environment = {
        "OFFRAMP_BENCH_SETTINGS": json.dumps(dict(settings)),
        "OFFRAMP_BENCH_REPORT": str(report),
        "PYTHONWARNINGS": "ignore::DeprecationWarning",  # cocotbext-axi speaks cocotb 1's dialect
        # cocotb imports pytest for messages of failed assertions, and plugins would be a third of a short bench.
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "COCOTB_LOG_LEVEL": os.environ.get("COCOTB_LOG_LEVEL", "WARNING"),
    }
    sys.path.insert(0, str(bench.parent))  # cocotb's runner hands sys.path to the simulator's process
    try:
        runner(simulator).test(
            test_module=bench.stem,
            hdl_toplevel=design.top,
            hdl_toplevel_lang="verilog",
            testcase=case,
            seed=seed,
            build_dir=folder,
            test_dir=work,
            results_xml=str(results),
            timescale=TIMESCALE,
            extra_env=environment | libraries(),
            log_file=log,
            waves=waves,
            plusargs=[f"+waves={recorded}"] if waves and simulator == "icarus" else [],
            test_args=["--trace-file", str(recorded)] if waves and simulator == "verilator" else [],
        )
    except (RuntimeError, SystemExit):  # a test failed, or the simulator: the results say which
        pass
    finally:
        sys.path.remove(str(bench.parent))
    ran, failed = _counts(results) if results.exists() else (0, 0)
    reported: dict[str, Any] = json.loads(report.read_text()) if report.exists() else {}
    _cover(f"{bench.stem}.{case}" if case else bench.stem, reported.pop("coverage", {}))
    if failed or not ran:
        lines = [f"{bench.stem} on {design.top} ({simulator}): {failed} of {ran} failed", _tail(log)]
        raise MultilineError("\n".join([*lines, f"waveforms: {recorded}"] if recorded.exists() else lines))
    return reported


def _cover(name: str, points: Mapping[str, Any]) -> None:
    path = os.environ.get(COVERAGE)
    if path and points:
        with Path(path).open("a", encoding="utf-8") as file:  # a line at once: several processes append
            file.write(json.dumps({"bench": name, "points": points}) + "\n")


def settings() -> dict[str, Any]:
    """Settings that :func:`run_bench` was given; for use in a bench."""
    values: dict[str, Any] = json.loads(os.environ.get("OFFRAMP_BENCH_SETTINGS", "{}"))
    return values


def report(**values: Any) -> None:
    """Add to the results of :func:`run_bench`; for use in a bench."""
    path = Path(os.environ["OFFRAMP_BENCH_REPORT"])
    before: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(before | values))


def _counts(results: Path) -> tuple[int, int]:
    from cocotb_tools.check_results import get_results

    ran, failed = get_results(results)
    return ran, failed


def _tail(log: Path, lines: int = 40) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:]) if log.exists() else "no log"
