# SPDX-License-Identifier: Apache-2.0
"""Epochs through the switch and from worker to worker behind rated links, where boundary vertices have many copies.

``pytest -s -m bench tests/bench/test_switchgnn_links.py``: eight hosts on one embedded switch, each behind a link with
HTB at both ends, ways by turns: through the switch as published, and as ``--scheme auto`` decides. All send the same
integers of 32 bits. ``OFFRAMP_RATES``, ``OFFRAMP_GRAPHS`` and ``OFFRAMP_WAYS`` choose some, ``OFFRAMP_DATA`` is the
folder of the graphs. docs/results has the table; nothing passes or fails by it.
"""

from __future__ import annotations

import os
import statistics
import sys
from pathlib import Path

import pytest

from offramp.job.kind import kind_of
from offramp.job.run import run_job
from offramp.job.settings import JobSettings
from offramp_sim.lab.start import possible_mode, start
from offramp_sim.lab.state import end

pytest.importorskip("torch")
pytestmark = [pytest.mark.bench, pytest.mark.netns]
DATA = Path(os.environ.get("OFFRAMP_DATA", Path(__file__).parents[3] / "shared" / "data"))
CLUSTER = """\
name: {name}
hosts: [{{name: "h[1-8]"}}]
switches: [{{name: s1, memory: 16MB}}]
links: [{{ends: ["h[1-8]", s1], rate: {rate}}}]
"""
JOB = "graph: {graph}\nhidden: 128\nlayers: 3\nepochs: {epochs}\npartition: {partition}\n"
GRAPHS = {
    "facebook": (DATA / "facebook.npz", "hash"),
    "digits": ("digits", "hash"),
    "sbm": ("'sbm:n=4000,k=16,degree=30,features=64,homophily=0.4'", "metis-volume"),
}
"""Each graph, and how it is cut: 4.2, 5.7 and 5.8 copies of a boundary vertex with eight workers."""
EPOCHS = int(os.environ.get("OFFRAMP_EPOCHS", "10"))
TURNS = int(os.environ.get("OFFRAMP_TURNS", "2"))
RATES = os.environ.get("OFFRAMP_RATES", "100mbit,300mbit,1gbit").split(",")
CHOSEN = os.environ.get("OFFRAMP_GRAPHS", ",".join(GRAPHS)).split(",")
WAYS = {"p2p": ("p2p", "codec: fixed\n"), "switch": ("switchgnn", ""), "auto": ("switchgnn", "scheme: auto\n")}
"""The way of the job, and what its file says beside the graph."""
TAKEN = os.environ.get("OFFRAMP_WAYS", ",".join(WAYS)).split(",")


@pytest.fixture(scope="module", params=RATES)
def lab(request, tmp_path_factory):
    mode, reason = possible_mode()
    if mode == "sockets":
        pytest.skip(f"no network namespaces: {reason}")
    path = tmp_path_factory.mktemp("lab") / "cluster.yaml"
    path.write_text(CLUSTER.format(name=f"links-{os.getpid()}", rate=request.param))
    state, _ = start(path, mode=mode)
    yield request.param, state.cluster()
    end(state)


@pytest.mark.parametrize("name", CHOSEN)
def test_epochs(lab, name, tmp_path):
    rate, cluster = lab
    graph, partition = GRAPHS[name]
    seconds: dict[str, list[float]] = {name: [] for name in TAKEN}
    sent: dict[str, int] = {}
    for turn in range(TURNS):
        for taken in TAKEN:
            way, settings = WAYS[taken]
            folder = tmp_path / f"{taken}-{turn}"
            folder.mkdir()
            path = folder / "train.yaml"
            path.write_text(JOB.format(graph=graph, epochs=EPOCHS, partition=partition) + settings)
            job = JobSettings(name=f"{name}-{taken}", command=(), train=path)
            result = run_job(job, cluster, way, folder)
            step_s = kind_of(job).step_s(folder)
            assert step_s is not None
            seconds[taken].append(step_s)
            sent[taken] = sum(up for up, _ in result.bytes_by_link.values())
    row = [name, rate]
    for taken in TAKEN:
        times = ", ".join(f"{1e3 * each:.0f}" for each in seconds[taken])
        ratio = statistics.median(seconds[taken]) / statistics.median(seconds[TAKEN[0]])
        row.append(f"{times} ms ({ratio:.2f}), {sent[taken] / 1e6:.0f} MB")
    sys.stdout.write("\n| " + " | ".join(row) + f" | load {os.getloadavg()[0]:.0f}\n")
