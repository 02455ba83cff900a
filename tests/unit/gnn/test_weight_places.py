# SPDX-License-Identifier: Apache-2.0
"""Weights of a model in files and at URLs are the same bytes, and what cannot be read is one line."""

from __future__ import annotations

from pathlib import Path

import fsspec
import pytest
import torch

from offramp.gnn.weights import load_weights, save_weights
from offramp_base.errors import OfframpError

ABOUT = {"model": {"model": "gcn"}}


def test_weights_at_a_url_are_those_of_a_file(tmp_path: Path) -> None:
    state = {"weight": torch.arange(6.0).reshape(2, 3)}
    save_weights(tmp_path / "net.safetensors", state, ABOUT)
    for url in ("memory://weights/net.safetensors", f"file://{tmp_path}/other.safetensors"):
        save_weights(url, state, ABOUT)
        read, about = load_weights(url)
        assert torch.equal(read["weight"], state["weight"])
        assert about == ABOUT
    system = fsspec.filesystem("memory")
    for name in ("net.safetensors", "net.safetensors.json"):
        assert system.cat_file(f"/weights/{name}") == (tmp_path / name).read_bytes()


@pytest.mark.parametrize(
    ("where", "line"),
    [
        ("memory://weights/none.pt", r"^weights memory://weights: none.pt: cannot be read: "),
        ("/nowhere/none.pt", r"^weights /nowhere/none.pt: cannot be read: No such file or directory$"),
        ("gopher://x/none.pt", r"^weights gopher://x: expected a URL that fsspec opens: "),
    ],
)
def test_what_cannot_be_read_is_one_line(where: str, line: str) -> None:
    with pytest.raises(OfframpError, match=line):
        load_weights(where)
