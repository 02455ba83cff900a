# SPDX-License-Identifier: Apache-2.0
"""The planner's choice beside every way measured: 8 hosts, 2 leaves, 2 spines, links of 100 Mb/s and 1 Gb/s.

``pytest -s -m bench tests/bench/test_jobs.py`` takes hours on two cores, which eight ranks share; each way runs twice,
for the calibration and as a whole. ``OFFRAMP_JOBS`` and ``OFFRAMP_RATES`` choose some (``cora,kvs``; ``100mbit``),
``OFFRAMP_DATA`` is the folder of the graphs. A line of JSON for each job goes into ``OFFRAMP_ROWS``, if that is set.
docs/results has the table; nothing passes or fails by it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from offramp.job.kind import kind_of
from offramp.job.planner import make_job_plan
from offramp.job.run import calibrate, run_job
from offramp.job.settings import JobSettings
from offramp_base.errors import OfframpError
from offramp_sim.lab.start import possible_mode, start
from offramp_sim.lab.state import end

pytest.importorskip("torch")
pytestmark = [pytest.mark.bench, pytest.mark.netns]
DATA = Path(os.environ.get("OFFRAMP_DATA", Path(__file__).parents[3] / "shared" / "data"))
CLUSTER = """\
name: {name}
hosts: [{{name: "h[1-8]"}}]
switches: [{{name: "leaf[1-2]", memory: 8MB}}, {{name: "spine[1-2]", memory: 8MB}}]
links:
  - {{ends: ["h[1-4]", leaf1], rate: {rate}}}
  - {{ends: ["h[5-8]", leaf2], rate: {rate}}}
  - {{ends: [leaf1, "spine[1-2]"], rate: {up}}}
  - {{ends: [leaf2, "spine[1-2]"], rate: {up}}}
"""
UP = {"100mbit": "400mbit", "1gbit": "4gbit"}
SUMS = """
import sys
import torch
import torch.distributed as dist
import offramp.torch
from offramp.job.steps import step

torch.set_num_threads(1)
dist.init_process_group("offramp")
for number in range(6):
    values = torch.full((int(sys.argv[1]) // 4,), 1.0)
    with step(number):
        dist.all_reduce(values)
dist.destroy_process_group()
"""
EXPERTS = """
import sys
import torch
import torch.distributed as dist
import offramp.torch
from offramp.job.steps import step

torch.set_num_threads(1)
dist.init_process_group("offramp")
tokens = torch.ones(int(sys.argv[1]) // 8)
gradients = torch.ones(int(sys.argv[2]) // 4)
expert = torch.nn.Linear(64, 64)
for number in range(6):
    with step(number), torch.no_grad():
        dispatched, combined = torch.empty_like(tokens), torch.empty_like(tokens)
        dist.all_to_all_single(dispatched, tokens)
        dist.all_to_all_single(combined, expert(dispatched.view(-1, 64)).flatten())
        if len(gradients):
            dist.all_reduce(gradients)
dist.destroy_process_group()
"""
"""A mixture of experts: tokens go to their experts and come back; the second number: gradients of dense layers."""
GNN = "graph: {graph}\nhidden: {hidden}\nepochs: 20\npartition: metis-volume\n"
TRANSFORMER = "graph: {graph}\nmodel: {model}\nlayers: 2\nhidden: 32\nheads: 8\nepochs: 12\nclusters: 8\n"
UNITG = "graph: {graph}\nlayers: 8\nhidden: 32\nepochs: 24\nlm_layers: 2\nlm_width: 32\nlm_epochs: 2\n"
FILES = {
    "cora": ("train", GNN.format(graph=DATA / "cora.npz", hidden=64)),
    "citeseer": ("train", GNN.format(graph=DATA / "citeseer.npz", hidden=64)),
    "facebook": ("train", GNN.format(graph=DATA / "facebook.npz", hidden=64)),
    "sbm": ("train", GNN.format(graph="'sbm:n=4000,k=8,degree=15,features=64'", hidden=64)),
    "digits-gph": ("torchgt", TRANSFORMER.format(graph="digits", model="graphormer")),
    "digits-gt": ("torchgt", TRANSFORMER.format(graph="digits", model="gt")),
    "digits-unitg": ("unitg", UNITG.format(graph="digits")),
    "sbm-unitg": ("unitg", UNITG.format(graph="'sbm:n=2000,k=8,features=64'")),
    "kvs": ("leo", "names: [kvs]\nrequests: 20000\n"),
    "ebs": ("leo", "names: [ebs]\nrequests: 5000\n"),
}
"""For each job, the field of its file and the contents of that file."""
PROGRAMS = {"experts": (0, 1 << 20), "experts-data": (1 << 20, 1 << 20), "data": (1 << 20, 0)}
"""Bytes that a rank sums and exchanges in a step. The last job is not one of the twelve."""
NAMES = [*FILES, *list(PROGRAMS)[:2]]
LOSSY = {"digits-gph", "digits-gt"}
DEADLINE_S = 150.0
"""Deadline of a calibration: one to three rounds."""
CHOSEN = os.environ.get("OFFRAMP_JOBS", ",".join(NAMES)).split(",")
RATES = os.environ.get("OFFRAMP_RATES", ",".join(UP)).split(",")


def job_of(name: str, folder: Path) -> JobSettings:
    hosts = "h1,h8" if FILES.get(name, ("",))[0] == "leo" else "h[1-8]"
    if name in PROGRAMS:
        sums, exchanged = PROGRAMS[name]
        (folder / "program.py").write_text(EXPERTS if exchanged else SUMS)
        sizes = (str(exchanged), str(sums)) if exchanged else (str(sums),)
        command = (sys.executable, str(folder / "program.py"), *sizes)
        known = {"all_reduce": sums, "all_to_all": exchanged, "exchanges": 2}
        return JobSettings(name=name, command=command, deadline_s=DEADLINE_S, **known)
    field, text = FILES[name]
    path = folder / f"{name}.yaml"
    path.write_text(text)
    return replace(
        JobSettings(name=name, command=("x",), hosts=hosts), command=(), **{field: path}, deadline_s=DEADLINE_S
    )


@pytest.fixture(scope="module", params=RATES)
def lab(request, tmp_path_factory):
    mode, reason = possible_mode()
    if mode == "sockets":
        pytest.skip(f"no network namespaces: {reason}")
    path = tmp_path_factory.mktemp("lab") / "cluster.yaml"
    path.write_text(CLUSTER.format(name=f"jobs-{os.getpid()}", rate=request.param, up=UP[request.param]))
    state, _ = start(path, mode=mode)
    yield request.param, state.cluster()
    end(state)


@pytest.mark.parametrize("name", [name for name in [*FILES, *PROGRAMS] if name in CHOSEN])
def test_the_planners_choice(lab, name, tmp_path):
    rate, cluster = lab
    job = replace(job_of(name, tmp_path), lossy=name in LOSSY)
    if str(DATA) in FILES.get(name, ("", ""))[1] and not DATA.is_dir():
        pytest.skip(f"{DATA} is missing: set OFFRAMP_DATA to the folder that holds the graphs")
    kind, deadline = kind_of(job), time.monotonic() + job.deadline_s
    folder = tmp_path / "calibration"
    folder.mkdir()
    plan = make_job_plan(
        job,
        cluster,
        lambda ways, size: calibrate(job, cluster, ways, size, folder, max(1.0, deadline - time.monotonic())),
    )
    measured: dict[str, float] = {}
    for each in plan.choices:
        if each.step_s is None:
            continue
        mine = tmp_path / each.way
        mine.mkdir()
        try:
            run_job(job, cluster, each.way, mine)
        except OfframpError as error:
            sys.stdout.write(f"{name}: {each.way}: {error}\n")
            continue
        step_s = kind.step_s(mine)
        if step_s is not None:
            measured[each.way] = step_s
    row = table_row(name, rate, plan, measured)
    sys.stdout.write(json.dumps(row) + "\n")
    if "OFFRAMP_ROWS" in os.environ:
        with Path(os.environ["OFFRAMP_ROWS"]).open("a") as file:
            file.write(json.dumps(row) + "\n")
    assert plan.taken.way in measured


def table_row(name: str, rate: str, plan: Any, measured: dict[str, float]) -> dict[str, Any]:
    """The table's row of a job."""
    best = min(measured, key=lambda way: measured[way])
    taken, plain = plan.taken, plan.plain.way
    return {
        "job": name,
        "rate": rate,
        "taken": taken.way,
        "best": best,
        "over_best": measured[taken.way] / measured[best],
        "predicted_s": taken.step_s,
        "measured_s": measured[taken.way],
        "error": measured[taken.way] / taken.step_s - 1,
        "gain": measured[plain] / measured[taken.way],
        "predicted": {each.way: each.step_s for each in plan.choices},
        "measured": measured,
        "why": {each.way: each.reason for each in plan.choices if each.step_s is None},
    }
