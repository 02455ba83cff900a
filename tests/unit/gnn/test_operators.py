# SPDX-License-Identifier: Apache-2.0
"""PyTorch's operators on rows of ranks equal one process or are refused; the tables of names are ATen's.

The samples are those of PyTorch's own test suite, in float32. Blind to other types, and to operators that it does not
describe (tests/unit/gnn/test_mixed.py has what models do besides).
"""

from __future__ import annotations

import collections
import sys

import pytest

torch = pytest.importorskip("torch")

import gnn_operators  # noqa: E402
from offramp.gnn import operators  # noqa: E402
from offramp.gnn.rules import RULES  # noqa: E402
from offramp.workers.processes import run_workers  # noqa: E402

SOME = """
    add where clamp sum mean var amax norm softmax cumsum sort topk index_select gather scatter_add index_add
    index_put masked_fill nn.functional.linear nn.functional.layer_norm nn.functional.batch_norm matmul einsum cat
    stack squeeze unsqueeze permute reshape expand flatten split roll flip take
    nn.functional.scaled_dot_product_attention normal bernoulli randn_like zeros_like fft.fft linalg.svd tril
    as_strided
"""
INTERNAL = {"native_dropout_backward", "gelu_backward", "logit_backward", "sigmoid_backward", "silu_backward"} | {
    "tanh_backward",
    "threshold_backward",
}
"""Pointwise operators of backward passes, which no model calls."""


def aten(tag):
    """Names of ATen's operators that have a tag."""
    packets = {name: getattr(torch.ops.aten, name) for name in dir(torch.ops.aten) if not name.startswith("__")}
    return {
        name
        for name, packet in packets.items()
        if hasattr(packet, "overloads") and any(tag in getattr(packet, each).tags for each in packet.overloads())
    }


def shares(table):
    """Print the counts, and return the operators that were neither equal nor refused."""
    calls = collections.Counter()
    for counts in table.values():
        calls.update(counts)
    print(f"{len(table)} operators, calls: {dict(calls)}", file=sys.stderr)  # noqa: T201 - the table of the case
    return {name: counts for name, counts in table.items() if "DIFFERENT" in counts}


def test_some_operators():
    table = run_workers(gnn_operators.compare, [(SOME.split(), 1)] * 2, print)
    assert shares(table) == {}
    assert len(table) > 35
    assert any("refused" in counts for counts in table.values())
    assert set(table["expand"]) == {"exact"}


@pytest.mark.slow
@pytest.mark.timeout(3600)  # minutes of processor time on each rank
@pytest.mark.parametrize("ranks", [2, 3])
def test_every_operator(ranks):
    table = run_workers(gnn_operators.compare, [([], 4)] * ranks, print)
    assert shares(table) == {}
    assert len(table) > 600


def test_pointwise_operators_are_atens():
    missing = aten(torch.Tag.pointwise) - operators.POINTWISE - INTERNAL - {"max", "min", "where", "equal"}
    assert {name for name in missing if "polynomial" not in name} == set()


def test_random_operators_are_atens():
    """Private ones are behind others, and what has no name in Python."""
    missing = {name for name in aten(torch.Tag.nondeterministic_seeded) if not name.startswith("_")} - operators.RANDOM
    assert missing <= {"cauchy", "exponential", "geometric", "log_normal", "uniform", "miopen_rnn"} | {
        "normal_functional",
        "rrelu_with_noise_",
        "rrelu_with_noise_functional",
    }


def test_a_name_has_one_meaning():
    tables = [operators.POINTWISE, operators.METADATA, set(operators.REFUSED), set(operators.SAME_DIM)]
    for place, table in enumerate([*tables, set(operators.DROPS)]):
        for other in tables[:place]:
            assert not table & set(other)
    assert not set(RULES) & set(operators.REFUSED)
