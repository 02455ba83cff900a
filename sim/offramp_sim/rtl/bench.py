# SPDX-License-Identifier: Apache-2.0
"""Runs cocotb test benches on a cached build, each in a simulator's process of its own."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from offramp_base.errors import MultilineError
from offramp_sim.rtl.build import TIMESCALE, Design, build, libraries, runner


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

    Args:
        design: to simulate.
        simulator: ``icarus`` or ``verilator``.
        bench: a Python file; what stands beside it can be imported.
        work: folder for logs and results.
        case: the only test of the module to run.
        seed: of Python's random numbers in the bench.
        settings: what :func:`settings` returns there; JSON.

    Raises:
        OfframpError: a test failed, or none ran; with the log's last lines.
    """
    folder = build(design, simulator)
    report, log, results = work / "report.json", work / "simulation.log", work / "results.xml"
    report.unlink(missing_ok=True)
    environment = {
        "OFFRAMP_BENCH_SETTINGS": json.dumps(dict(settings or {})),
        "OFFRAMP_BENCH_REPORT": str(report),
        "PYTHONWARNINGS": "ignore::DeprecationWarning",  # cocotbext-axi speaks cocotb 1's dialect
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
        )
    except (RuntimeError, SystemExit):  # a test failed, or the simulator: the results say which
        pass
    finally:
        sys.path.remove(str(bench.parent))
    ran, failed = _counts(results) if results.exists() else (0, 0)
    if failed or not ran:
        raise MultilineError(f"{bench.stem} on {design.top} ({simulator}): {failed} of {ran} failed\n{_tail(log)}")
    found: dict[str, Any] = json.loads(report.read_text()) if report.exists() else {}
    return found


def settings() -> dict[str, Any]:
    """What :func:`run_bench` was given; for use in a bench."""
    found: dict[str, Any] = json.loads(os.environ.get("OFFRAMP_BENCH_SETTINGS", "{}"))
    return found


def report(**found: Any) -> None:
    """Add to what :func:`run_bench` returns; for use in a bench."""
    path = Path(os.environ["OFFRAMP_BENCH_REPORT"])
    before: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(before | found))


def _counts(results: Path) -> tuple[int, int]:
    from cocotb_tools.check_results import get_results

    ran, failed = get_results(results)
    return ran, failed


def _tail(log: Path, lines: int = 40) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:]) if log.exists() else "no log"
