# SPDX-License-Identifier: Apache-2.0
"""Items for GPUs: they say so where there is none; kernels of traces are counted once. Blind to CUPTI itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from typer.testing import CliRunner  # noqa: E402

from offramp.graph.load import load  # noqa: E402
from offramp.train.run import train  # noqa: E402
from offramp.train.settings import TrainSettings  # noqa: E402
from offramp_base.errors import OfframpError  # noqa: E402
from offramp_cli.app import app  # noqa: E402
from offramp_sim.reproduce import on_gpu  # noqa: E402
from offramp_sim.reproduce.catalogue import find  # noqa: E402

GRAPH = "sbm:n=60,k=2,degree=4,features=8"


def trace(path: Path, *spans: tuple[float, float], cat: str = "kernel") -> Path:
    events = [{"cat": cat, "ts": start, "dur": end - start, "name": "k"} for start, end in spans]
    path.write_text(json.dumps({"traceEvents": [*events, {"cat": "cpu_op", "ts": 0, "dur": 1e9}]}), "utf-8")
    return path


def test_kernels_that_overlap_count_once(tmp_path: Path) -> None:
    path = trace(tmp_path / "a.json", (10, 20), (12, 15), (18, 30), (50, 60))
    kernels = on_gpu.activity(path, windows=5)
    assert kernels.busy == pytest.approx(30 / 50)
    assert kernels.over_time.tolist() == pytest.approx([1, 1, 0, 0, 1])
    assert kernels.seconds == pytest.approx(50e-6)


def test_a_trace_without_kernels_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OfframpError, match=r"a\.json: expected kernels"):
        on_gpu.activity(trace(tmp_path / "a.json"))


def test_without_a_gpu_each_item_says_where_there_was_one(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(on_gpu, "gpu_name", lambda: None)
    result = CliRunner().invoke(app, ["reproduce", "gpu", "--out", str(tmp_path), "--json", str(tmp_path / "r.json")])
    assert result.exit_code == 0, result.exception
    items = json.loads((tmp_path / "r.json").read_text("utf-8"))["items"]
    assert [item["name"] for item in items] == [item.name for item in find("gpu")]
    assert {name for item in items for name in item["ours"].values()} == {on_gpu.ELSEWHERE}
    assert {kind for item in items for kind in item["evidence"].values()} == {"context"}
    assert not list(tmp_path.glob("*.png"))


def test_a_run_on_the_processor_in_place_of_a_gpu(monkeypatch) -> None:
    monkeypatch.setattr(on_gpu, "gpu_name", lambda: "a processor")
    monkeypatch.setattr(on_gpu, "KERNELS", {"cpu_op"})
    settings = TrainSettings(GRAPH, workers=1, propagator="local", hidden=4, epochs=3)
    reproduction = on_gpu.shown("runs", {}, {"one": lambda: train(load(GRAPH), settings)})
    assert reproduction.markdown.startswith("| runs, on a processor | epoch |")
    assert reproduction.markdown.count("\n") == 3
    assert 0 < reproduction.data["one"]["busy"] <= 1
    assert reproduction.data["one"]["epoch_s"] > 0
