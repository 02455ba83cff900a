# SPDX-License-Identifier: Apache-2.0
"""Every example prints what its docstring says, at most 60 lines long; the index names all of them."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from offramp.leo.store import missing_tools as store_lacks
from offramp.nic import missing_tools as nic_lacks
from offramp_sim.lab import possible_mode
from offramp_sim.rtl import missing_tools as rtl_lacks

FOLDER = Path(__file__).parents[2] / "examples"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "ranks")
PACKAGES = {
    "dask_sweep": ["pymetis"],
    "pyg_distributed": ["torch", "torch_geometric"],
    **{name: ["torch"] for name in ("ddp", "experts", "own_codec", "switchgnn")},
}
MARKS = {"nic_agent": [pytest.mark.nic], "pynq_driver": [pytest.mark.rtl, pytest.mark.slow]}


def needs(name: str) -> None:
    """Skip where something is missing that the index names."""
    for package in PACKAGES.get(name, []):
        pytest.importorskip(package)
    lacks = {"leo_in_c": store_lacks, "nic_agent": nic_lacks, "pynq_driver": lambda: rtl_lacks("icarus")}
    if lacking := lacks.get(name, list)():
        pytest.skip(f"{name} needs {lacking}")


def printed(docstring: str) -> str:
    """The indented block at the end of a docstring, as a pattern in which … stands for anything on its line."""
    block = docstring.rstrip().rpartition("\n\n")[2]
    assert all(line.startswith("    ") for line in block.splitlines()), block
    return ".*".join(re.escape(part) for part in re.sub("^    ", "", block, flags=re.MULTILINE).split("…"))


def run(name: str, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, str(FOLDER / f"{name}.py"), *words],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", [pytest.param(name, marks=MARKS.get(name, [])) for name in PROGRAMS])
def test_it_prints_what_it_says(name: str) -> None:
    needs(name)
    text = (FOLDER / f"{name}.py").read_text()
    assert len(text.splitlines()) <= 62, "two lines are the licence and an end"
    expected, output = printed(ast.get_docstring(ast.parse(text)) or ""), run(name)
    assert re.fullmatch(expected, output.rstrip("\n")), output


def test_the_index_names_them_all() -> None:
    index = (FOLDER / "README.md").read_text()
    assert set(re.findall(r"^\| \[(\w+)\.py\]\(\1\.py\)", index, re.MULTILINE)) == set(PROGRAMS)
    assert all((FOLDER / name).exists() for name in re.findall(r"\]\(([^)]+)\)", index))


def test_the_sweep_on_a_cluster() -> None:
    needs("dask_sweep")
    distributed = pytest.importorskip("distributed")
    local = {"protocol": "tcp", "host": "127.0.0.1", "dashboard_address": None, "worker_dashboard_address": None}
    with distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, **local) as cluster:
        assert run("dask_sweep", cluster.scheduler_address) == run("dask_sweep")


@pytest.mark.rtl
@pytest.mark.slow
def test_the_request_over_an_fpga_in_simulated_rtl() -> None:
    if lacking := rtl_lacks("icarus"):
        pytest.skip(f"the RTL needs {lacking}")
    assert run("leo_fpga", "fpga:engines=reduce") == run("leo_fpga")


@pytest.mark.slow
@pytest.mark.netns
def test_the_job_runs_in_a_laboratory(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    if possible_mode()[0] == "sockets":
        pytest.skip("no network namespaces")
    name = f"racks-{os.getpid()}"
    (tmp_path / "cluster.yaml").write_text(
        (FOLDER / "job/cluster.yaml").read_text().replace("name: racks", f"name: {name}")
    )

    def offramp(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "offramp", *words], cwd=FOLDER / "job", capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    offramp("lab", "up", str(tmp_path / "cluster.yaml"))
    try:
        on = ["--on", f"lab:{name}", "--no-calibrate", "--out", str(tmp_path / "out")]
        said = offramp("job", "run", "job.yaml", *on)
    finally:
        offramp("lab", "down", name)
    assert "allreduce" in said
    assert "'allreduce': {'all_reduce': {'calls': 5" in (tmp_path / "out/allreduce/rank-0.log").read_text()
