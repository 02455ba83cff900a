# SPDX-License-Identifier: Apache-2.0
"""Partitions in files: round trips, METIS's own format, and files that do not fit."""

from __future__ import annotations

import numpy as np
import pytest

from offramp.graph.data import build_graph
from offramp.graph.partition import partition
from offramp.graph.partition_file import write_partition
from offramp.train.settings import TrainSettings
from offramp_base.errors import OfframpError


def path(n: int):
    return build_graph("path", n, (np.arange(n - 1), np.arange(1, n)))


def test_round_trip_and_metis_format(tmp_path) -> None:
    owner = np.array([0, 2, 1, 1, 0], np.int32)
    file = tmp_path / "path.part.3"
    write_partition(file, path(5), owner)
    assert partition(path(5), 3, str(file)).tolist() == owner.tolist()
    file.write_text("0\n2\n1\n1\n0\n")  # as gpmetis writes it
    assert partition(path(5), 3, str(file)).tolist() == owner.tolist()
    assert TrainSettings("karate", partition=str(file)).partition == str(file)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0\n1\n", ": of another graph: 2 vertices, expected 5"),
        ("% offramp partition of graph 00000000\n0\n1\n2\n0\n1\n", ": of another graph"),
        ("0\n1\n3\n0\n1\n", ", line 3: 3: expected a worker from 0 to 2"),
        ("0\n1\n-1\n0\n1\n", ", line 3: -1: expected a worker from 0 to 2"),
        ("0\n1\nx\n0\n1\n", ", line 3: x: expected a worker from 0 to 2"),
        ("0\n1\n0\n0\n1\n", ": worker 2 of 3 has no vertex"),
        ("", ": of another graph: 0 vertices, expected 5"),
        ("0\n1\n\u0662\n0\n1\n", ", line 3: \u0662: expected a worker from 0 to 2"),
        ("0\n1\n" + "9" * 5000 + "\n0\n1\n", ", line 3: 99999999999999999999: expected a worker from 0 to 2"),
        ("é", ": of another graph: 1 vertices, expected 5"),
    ],
)
def test_golden_errors(tmp_path, text: str, message: str) -> None:
    file = tmp_path / "a.part"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(OfframpError) as caught:
        partition(path(5), 3, str(file))
    assert str(caught.value) == f"partition {file}{message}"


def test_files_that_are_not_there(tmp_path) -> None:
    with pytest.raises(OfframpError, match=r"^partition .*/none.part: cannot be read: No such file or directory$"):
        partition(path(5), 3, str(tmp_path / "none.part"))
    with pytest.raises(OfframpError, match=r"x: cannot be written: No such file or directory$"):
        write_partition(tmp_path / "missing" / "x", path(5), np.zeros(5, np.int32))
