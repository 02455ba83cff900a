# SPDX-License-Identifier: Apache-2.0
"""The runner finds what toy targets do on purpose, names the case, and repeats it."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from fuzzing.campaign import Campaign, Finding

RUNNER = Path(__file__).parent


def toy(tmp_path: Path, body: str, head: str = "") -> Path:
    """A target that does ``body`` in about one of four cases."""
    path = tmp_path / "target_toy.py"
    lines = textwrap.indent(textwrap.dedent(body), "        ")
    path.write_text(
        f'import os, signal, time\nfrom offramp_base.errors import MultilineError, OfframpError\nNAME = "toy"\n{head}\n'
        f"def run(rng):\n    if rng.random() < 0.25:\n{lines}\n    time.sleep(0.001)\n"
    )
    return path


def only_finding(path: Path, cases: int = 40) -> Finding:
    campaign = Campaign("toy", path, seed=5)
    campaign.run(60, cases=cases)
    assert campaign.cases == cases  # what was found did not end the run
    (finding,) = campaign.findings
    return finding


@pytest.mark.smoke
def test_an_exception_is_found_once_and_counted(tmp_path: Path) -> None:
    finding = only_finding(toy(tmp_path, "raise ValueError('seventeen')"))
    assert finding.kind == "ValueError"
    assert finding.count > 1
    assert "seventeen" in finding.text
    assert f"--seed 5 --case {finding.case}" in finding.repeat


def test_offramp_errors_and_allowed_exceptions_are_answers(tmp_path: Path) -> None:
    path = toy(tmp_path, "raise OfframpError('no') if rng.random() < 0.5 else KeyError(1)", "ALLOWED = (KeyError,)")
    campaign = Campaign("toy", path, seed=5)
    campaign.run(60, cases=40)
    assert campaign.findings == []
    assert campaign.cases == 40


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", "killed by SIGSEGV"),
        ("import ctypes; ctypes.string_at(8)", "killed by SIGSEGV"),
        ("os.abort()", "killed by SIGABRT"),
        ("os._exit(3)", "the process ended with exit code 3"),
        ("x = bytearray(200 << 20)", "MemoryError"),
        ("raise SystemExit(0)", "SystemExit"),
        ("raise OfframpError('')", "message empty"),
        (r"raise MultilineError('two\nlines')", "message of more than 1 lines"),
    ],
)
def test_what_ends_a_process_or_eats_memory_is_found(tmp_path: Path, body: str, kind: str) -> None:
    finding = only_finding(toy(tmp_path, body, "MEMORY_MIB = 100"), cases=8)
    assert finding.kind == kind


@pytest.mark.parametrize("body", ["while True: pass", "time.sleep(1000)"], ids=["busy", "asleep"])
def test_a_hang_is_found_and_says_where(tmp_path: Path, body: str) -> None:
    finding = only_finding(toy(tmp_path, body, "LIMIT_S = 0.2"), cases=4)
    assert finding.kind == "no end in 0.2 s of processor time"
    assert "target_toy.py:7" in finding.where


def test_a_campaign_resumes_where_it_ended(tmp_path: Path) -> None:
    path = toy(tmp_path, "raise ValueError")
    whole, first, second = (Campaign("toy", path, seed=7) for _ in range(3))
    whole.run(60, cases=30)
    first.run(60, cases=13)
    second.restore(json.loads(json.dumps(first.state())))
    second.run(120, cases=17)
    assert second.cases == whole.cases == 30
    assert [f.count for f in second.findings] == [f.count for f in whole.findings]


def test_the_state_of_a_campaign_under_way_has_what_its_worker_has_done(tmp_path: Path) -> None:
    campaign = Campaign("toy", toy(tmp_path, "raise ValueError"), seed=7)
    thread = threading.Thread(target=campaign.run, args=(60,))
    thread.start()
    while not campaign.findings and thread.is_alive():
        time.sleep(0.01)
    state = campaign.state()
    campaign.stop.set()
    thread.join()
    assert state["cases"] > 0
    assert state["findings"][0]["kind"] == "ValueError"


def test_a_target_that_cannot_be_imported_is_a_finding(tmp_path: Path) -> None:
    path = tmp_path / "target_toy.py"
    path.write_text("import no_such_module")
    campaign = Campaign("toy", path, seed=0)
    campaign.run(60)
    assert "no_such_module" in campaign.findings[0].text


def test_the_command_lists_its_targets_when_one_is_unknown() -> None:
    done = subprocess.run([sys.executable, RUNNER, "--only", "nonsense"], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "--only nonsense: expected one of" in done.stderr
