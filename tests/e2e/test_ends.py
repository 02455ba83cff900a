# SPDX-License-Identifier: Apache-2.0
"""Every command ends within two seconds of a signal, with one line and nothing left: the whole tree is walked."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import typer

from ends import Marked
from offramp import p4_root
from offramp_cli.app import app

SHORT = "ends by itself at once: it reads a file or asks the machine, and starts nothing"
OTHERS = "tells another program what to do, and waits for it as any command does for a child"
PROGRAM = str(p4_root() / "examples/reflector.p4")
TRAIN = ["--graph", "sbm:n=150,k=3", "--workers", "2", "--epochs", "100000"]

LASTS: dict[str, list[str]] = {
    "allreduce": ["--rounds", "1000"],
    "demo": ["--steps", "100000"],
    "plan": ["sbm:n=1000000,k=4", "--partition", "metis"],
    "reproduce": ["all"],
    "train": [*TRAIN, "--propagator", "switch"],
    "train dgs": ["--epochs", "100000"],
    "train torchgt": ["--epochs", "100000"],
    "train unitg": ["--epochs", "100000"],
    "switch run": [PROGRAM, "--grpc-server-addr", "127.0.0.1:0"],
    "switch debug": ["--listen", "127.0.0.1:0"],
    "switch bench": ["--seconds", "60"],
    "switch fuzz": ["--minutes", "5"],
    "simulate dgtp": ["simulated-papers100m"],
    "simulate leo": ["--sweep", "100000"],
    "simulate themis": [],
    "graph partition": ["sbm:n=3000000,k=4", "store", "--parts", "4"],
    "simulate g3": ["--graph", "ba:n=200000,m=5"],
    "simulate packets": ["--size", "200MB"],
    "simulate switchgnn": ["sbm:n=300000,k=8", "--partition", "hash"],
    "dgtp run": ["testbed-products-ps", "--graph", "karate", "--network", "loopback", "--iterations", "100000"],
    "hermod demo": [],
    "leo profile": ["kvs", "direct", "--seconds", "60"],
    "leo run": ["kvs", "--seconds", "60"],
    "leo bench": ["--seconds", "60"],
    "leo cache": ["--rounds", "1000"],
    "leo chain": ["--requests", "1000000"],
    "leo serve": ["--listen", "127.0.0.1:0"],
    "nic bench": ["--seconds", "60"],
    "nic run": ["--port", "loop", "--socket", "agent.sock"],
    "transport bench": ["--seconds", "60"],
    "fpga build": [],
    "fpga synth": [],
    "fpga test": [],
}
"""Arguments with which a command goes on for longer than the test looks at it."""
WITHOUT: dict[str, str] = {
    **dict.fromkeys(
        (
            "switch stf", "switch trace", "switch doctor", "switch lint", "switch p4info", "switch dissector",
            "switch resources", "switch compile", "switch shims",
            "simulate hermod", "simulate unitg", "simulate coflows", "themis check", "themis export",
            "hermod models", "hermod plan", "hermod compose",
            "hermod match", "hermod export",
            "fpga lint", "fpga regs", "leo validate", "leo plan", "leo password",
            "graph convert", "nic stats", "nic metrics", "nic doctor", "transport list",
            "token", "schema", "cluster check", "cluster show", "cluster import", "cluster export", "lab status",
            "job export",
        ),
        SHORT,
    ),
    "switch language-server": "it ends with its editor's pipe, and speaks to it on the standard streams",
    **dict.fromkeys(("switch shell", "hermod deploy", "fpga flash", "nic build", "lab exec", "job undo"), OTHERS),
    "simulate cluster": "needs a file of jobs; its work is Python's, with short calls of machine code",
    "nic upgrade": "takes the place of a running agent; tests/nic/test_upgrade.py",
    "leo connect": "needs a responder; tests/unit/leo/test_remote.py",
    **dict.fromkeys(("gnn train", "gnn predict", "gnn embed"), "needs a store; tests/unit/gnn/test_commands.py"),
    **dict.fromkeys(("lab up", "lab down"), "what they build outlasts them; tests/e2e/test_lab.py ends it in all ways"),
    **dict.fromkeys(("job plan", "job run", "job top"), "need a laboratory; tests/unit/job and tests/e2e/test_job.py"),
}  # fmt: skip
ROOT = {"hermod demo", "leo chain", "nic bench", "transport bench"}
TOOLS = {
    "fpga build": "yosys",
    "fpga synth": "yosys",
    "fpga test": "iverilog",
    "leo bench": "cmake",
    "leo chain": "cmake",
    "leo serve": "cmake",
    "nic run": "cmake",
    "nic bench": "cmake",
}
FINITE = {"simulate themis", "simulate g3", "simulate packets", "simulate switchgnn"}
"""Their work may be done before the signal comes."""
QUICK = {"plan", "simulate leo", "switch run", "train"}
"""Commands of each kind (a library that keeps Python's lock, a pool, a server, workers) that ``make test`` starts."""


def leaves() -> Iterator[str]:
    """Every command, as one types it."""

    def walk(command: object, path: tuple[str, ...]) -> Iterator[str]:
        below = getattr(command, "commands", None)
        if below is None or getattr(command, "invoke_without_command", False):
            yield " ".join(path)
        for name, inner in (below or {}).items():
            yield from walk(inner, (*path, name))

    yield from walk(typer.main.get_command(app), ())


def test_the_table_has_every_command_once() -> None:
    assert sorted([*LASTS, *WITHOUT]) == sorted(leaves())


METIS = "Failed during initial partitioning"
"""METIS catches SIGTERM itself, and says this if it comes in the middle of a partition."""


def _case(name: str, number: signal.Signals) -> object:
    quick = name in QUICK and number is signal.SIGTERM
    return pytest.param(name, number, id=f"{name} {number.name}", marks=[] if quick else [pytest.mark.slow])


@pytest.mark.parametrize(
    ("name", "number"), [_case(name, number) for name in LASTS for number in (signal.SIGINT, signal.SIGTERM)]
)
def test_a_signal_ends_it_with_one_line_and_nothing_left(name: str, number: signal.Signals, tmp_path: Path) -> None:
    if name in ROOT and os.geteuid() != 0:
        pytest.skip("needs root")
    if name in TOOLS and shutil.which(TOOLS[name]) is None:
        pytest.skip(f"no {TOOLS[name]} on PATH")
    after = np.random.default_rng([*name.encode(), number]).uniform(0.5, 10)
    with Marked([sys.executable, "-m", "offramp", *name.split(), *LASTS[name]], tmp_path) as marked:
        deadline = time.monotonic() + after
        while marked.process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        if marked.process.poll() is not None:
            assert marked.end().left == []
            pytest.skip(f"ended by itself after less than {after:.1f} s: {marked.errors.read_text()[-200:]}")
        before = len(marked.errors.read_text().splitlines())
        ended = marked.end(number)
    if name in FINITE and (ended.code, ended.left) == (0, []):
        pytest.skip("ended by itself")
    lines = [line for line in ended.lines[before:] if line != METIS]
    assert (ended.code, lines, ended.left) == (128 + number, [f"ended by {number.name}"], [])
    assert ended.took_s < ended.limit_s
