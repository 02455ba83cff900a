# SPDX-License-Identifier: Apache-2.0
"""One clear line for what cannot be run, and texts of every source."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from offramp.graph.data import Graph, build_graph
from offramp.unitg.job import plan
from offramp.unitg.run import train_unitg
from offramp.unitg.settings import UnitgSettings
from offramp.unitg.text import PAD, START, UNKNOWN, tokenise, vertex_texts
from offramp_base.errors import OfframpError


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stages": 0}, "stages 0: expected at least 1"),
        ({"stages": 6}, "stages 6: expected 1 to 5, the number of layers"),
        ({"microbatches": 3}, "microbatches 3: expected 1 to 2, the number of stages (M <= P)"),
        ({"microbatches": 0}, "microbatches 0: expected at least 1"),
        ({"microbatches": -1}, "microbatches -1: expected at least 1"),
        (
            {"model": "revgnn"},
            "model revgnn: expected one of dagnn, gat, gcn, gcnii, jknet, resgen, revgat, revgcn, sage, sgc",
        ),
        ({"model": "jknet"}, "model jknet: expected one of gat, gcn, gcnii, resgen, revgat, revgcn, sage"),
        ({"mode": "both"}, "mode both: expected one of interleaved, colocated, sequential, glem, alone"),
        ({"hidden": 7}, "hidden 7: expected an even number for model revgcn"),
        ({"lm_heads": 3}, "lm_heads 3: expected a divisor of lm_width 16"),
        ({"lm_length": 1}, "lm_length 1: expected at least 2"),
        ({"epochs": 0}, "epochs 0: expected at least 1"),
        ({"lr": 0.0}, "lr 0: expected more than 0"),
        ({"dropout": 1.0}, "dropout 1: expected at least 0 and below 1"),
        ({"layers": 1}, "layers 1: expected 2 to 1024"),
        ({"device_ms": -1.0}, "device_ms -1: expected at least 0"),
    ],
)
def test_settings(base: UnitgSettings, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(OfframpError) as error:
        replace(base, **changes)
    assert str(error.value) == message


def ring(**given: Any) -> Graph:
    n = 6
    ends = np.arange(n), (np.arange(n) + 1) % n
    return build_graph("ring", n, ends, labels=np.arange(n) % 2, split="0.5/0.2/0.3", **given)


def test_a_graph_without_text(base: UnitgSettings) -> None:
    message = (
        "ring: has no text and no features to make words of; "
        "expected a text file with a line for each vertex, or text topics"
    )
    with pytest.raises(OfframpError) as error:
        train_unitg(ring(), base)
    assert str(error.value) == message
    plan(ring(), replace(base, mode="alone"))


def test_a_graph_without_labels(base: UnitgSettings) -> None:
    graph = build_graph("bare", 3, ([0, 1], [1, 2]), features=np.eye(3, dtype=np.float32))
    with pytest.raises(OfframpError, match=r"^bare: has no labels; expected a class for each vertex$"):
        plan(graph, base)


def test_more_microbatches_than_vertices(base: UnitgSettings) -> None:
    with pytest.raises(OfframpError, match=r"^microbatches 3: expected up to 2, the number of vertices$"):
        replace(base, stages=5, microbatches=3).microbatches_of(2)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("one\ntwo\n", "expected 6 lines, one per vertex, got 2"),
        ("\n" * 6, "has no words; expected a text for each vertex"),
        (None, "cannot be read: No such file or directory"),
        (b"\xff\xfe\n", "cannot be read: it is not UTF-8 text"),
    ],
)
def test_bad_text_files(tmp_path: Path, content: str | bytes | None, message: str) -> None:
    path = tmp_path / "texts.txt"
    if content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(OfframpError) as error:
        vertex_texts(ring(), str(path), 5, 0)
    assert str(error.value) == f"text {path}: {message}"


def test_a_text_file(tmp_path: Path) -> None:
    path = tmp_path / "texts.txt"
    path.write_text("A graph of words.\n\nword\nwords words\nof\na\n", "utf-8")
    tokens, size = tokenise(vertex_texts(ring(), str(path), 3, 0), 4)
    assert tokens.shape == (6, 4)
    assert (tokens[:, 0] == START).all()
    assert tokens[1].tolist() == [START, PAD, PAD, PAD]
    assert tokens[3, 1] == tokens[3, 2]
    assert size == tokens.max() + 1
    assert UNKNOWN not in tokens


def test_words_of_features() -> None:
    features = np.array([[0, 2, 1], [3, 0, 0], [0, 0, 0], [0, 0, 5], [0, 1, 0], [1, 0, 0]], np.float32)
    assert vertex_texts(ring(features=features), "features", 2, 0)[:2] == ["w1", "w0"]
    dense = vertex_texts(ring(features=features), "features", 2, 0)
    graph = ring(features=features)
    graph.features = sp.csr_array(features)
    assert vertex_texts(graph, "features", 2, 0) == ["w1 w2", *dense[1:]]


def test_words_of_topics_tell_the_class() -> None:
    graph = ring(features=np.ones((6, 1), np.float32))
    texts = vertex_texts(graph, "topics", 50, 1)
    assert texts == vertex_texts(graph, "topics", 50, 1)
    for label, text in zip(graph.labels.tolist(), texts, strict=True):
        topics = [int(word[5:]) // 40 for word in text.split() if word.startswith("topic")]
        assert topics
        assert set(topics) == {label}
