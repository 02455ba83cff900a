# SPDX-License-Identifier: Apache-2.0
"""``offramp graph convert`` and ``graph partition``: numbers that they show and write, against the graph's own."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from offramp.graph import read_manifest
from offramp.graph.load import load
from offramp_base.errors import OfframpError
from offramp_cli.app import app


def run(*arguments: str) -> list[str]:
    result = CliRunner().invoke(app, ["graph", *arguments], env={"COLUMNS": "200"})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return [" ".join(line.split()) for line in result.output.splitlines()]


def test_a_converted_graph_is_the_same(tmp_path: Path) -> None:
    file, numbers = tmp_path / "g.npz", tmp_path / "n.json"
    lines = run("convert", "karate", str(file), "--split", "0.5/0.25/0.25", "--json", str(numbers))
    assert {"vertices 34", "edges 78", "classes 2"} <= {*lines}
    written = json.loads(numbers.read_text())
    ours, theirs = load(str(file), 0, None), load("karate", 0, "0.5/0.25/0.25")
    assert (ours.indptr == theirs.indptr).all()
    assert (ours.indices == theirs.indices).all()
    assert [written[part] for part in ("train", "val", "test")] == [
        int(getattr(theirs, part).sum()) for part in ("train", "val", "test")
    ]
    assert written["features"] == theirs.features.shape[1]
    with pytest.raises(OfframpError, match=r"g\.csv: expected the name of an \.npz file"):
        run("convert", "karate", str(tmp_path / "g.csv"))


def test_parts_and_the_edges_between_them(tmp_path: Path) -> None:
    store, numbers = tmp_path / "store", tmp_path / "n.json"
    lines = run("partition", "karate", str(store), "--method", "hash", "--json", str(numbers))
    manifest = read_manifest(store)
    assert manifest.parts == 2
    graph, owner = load("karate", 0, None), np.load(store / "owner.npy")
    source = np.repeat(np.arange(34), np.diff(graph.indptr))
    cut = int((owner[source] != owner[graph.indices]).sum())
    assert {"vertices 34", "directed edges 156", f"edges between parts {cut} ({cut / 156:.1%})"} <= {*lines}
    written = json.loads(numbers.read_text())
    assert (written["cut_edges"], written["edges"], written["vertices"]) == (cut, 156, 34)
    assert "files" not in written


@pytest.mark.parametrize(("edges", "words"), [([], "0 (0.0%)"), ([(0, 1)], "1 (100.0%)")])
def test_shares_of_the_fewest_edges(tmp_path: Path, edges: list[tuple[int, int]], words: str) -> None:
    folder = tmp_path / "g"
    folder.mkdir()
    np.save(folder / "x.npy", np.zeros((2, 3), np.float32))
    np.save(folder / "edge_index.npy", np.array(edges, np.int64).reshape(-1, 2).T)
    lines = run("partition", str(folder), str(tmp_path / "store"), "--method", "chunk")
    assert (np.load(tmp_path / "store/owner.npy")[:2] == [0, 1]).all()
    assert f"edges between parts {words}" in lines


def test_a_partition_says_its_numbers(tmp_path: Path) -> None:
    lines = run("partition", "karate", str(tmp_path / "store"), "--method", "chunk", "--json", str(tmp_path / "n.json"))
    graph = load("karate", 0)
    owner = np.arange(34) * 2 // 34
    cut = int((np.repeat(owner, np.diff(graph.indptr)) != owner[graph.indices]).sum())
    assert {f"directed edges {graph.indices.size}", f"edges between parts {cut} ({cut / graph.indices.size:.1%})"} <= {
        *lines
    }
    written = json.loads((tmp_path / "n.json").read_text())
    assert (written["cut_edges"], written["vertices"], written["parts"]) == (cut, 34, 2)
    assert f"halo rows {written['halo']}" in lines
    assert "files" not in written


def test_a_partition_says_what_it_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []
    monkeypatch.setattr("offramp_cli.graph.partition.stages", lambda _: nullcontext(begun.append))
    run("partition", "karate", str(tmp_path / "store"), "--method", "chunk")
    assert begun == ["reading", "cutting", "writing"]
