# SPDX-License-Identifier: Apache-2.0
"""A switch, agent or store that is not there is named before the first step: one line by every rank, no traceback.

Programs run as a user runs them, in processes of their own. Blind to addresses that swallow packets: a listener that
never says anything stands for them.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from offramp_base.errors import OfframpError
from offramp_base.unreachable import UnreachableError, expect_switch

STORE = "from offramp.leo.store.client import StoreClient\nprint('step 0') if StoreClient({!r}) else 0"
AGENT = "from offramp.leo.devices.smartnic import open_device\nopen_device({!r}, 'nic')\nprint('step 0')"
TORCH = """
import sys
import torch, torch.distributed as dist
import offramp.torch
dist.init_process_group("offramp")
dist.new_group([0, 1])
print(f"step 0 on {dist.get_rank()}", file=sys.stderr, flush=True)
values = torch.ones(50_000)
dist.all_reduce(values)
assert values.sum() == 100_000
dist.destroy_process_group()
"""
GNN = """
import torch, torch.distributed as dist
from torch import nn
from offramp import gnn

class Data:
    num_nodes, x, edge_index = 8, torch.ones(8, 4), torch.arange(16).reshape(2, 8) % 8

data = Data()
data.__dict__.update(x=Data.x, edge_index=Data.edge_index)
dist.init_process_group("gloo")
with gnn.Switch({!r}, {!r}) as switch:
    gnn.distribute(nn.Linear(4, 2), data, propagator=switch)
print("step 0")
"""


@pytest.fixture
def nobody() -> int:
    """A port of loopback at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@pytest.fixture
def silent() -> Iterator[str]:
    """An address whose listener takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def run(*words: str, ranks: int = 0, **environment: str) -> tuple[int, str, list[str]]:
    """Exit code, standard output and the lines on standard error of a program, or of its ranks all together."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", **environment}
    if not ranks:
        done = subprocess.run(
            [sys.executable, *words], env=environment, capture_output=True, text=True, timeout=170, check=False
        )
        return done.returncode, done.stdout, done.stderr.splitlines()
    with socket.create_server(("127.0.0.1", 0)) as server:
        environment |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(server.getsockname()[1])}
    environment |= {"WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks), "OFFRAMP_TORCH_PYTHON": "1"}
    started = [
        subprocess.Popen(
            [sys.executable, *words],
            env=environment | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for rank in range(ranks)
    ]  # fmt: skip
    outputs = [each.communicate(timeout=170) for each in started]
    lines = [line for _, errors in outputs for line in errors.splitlines()]
    return max(each.returncode for each in started), "".join(output for output, _ in outputs), lines


def test_a_switch_that_is_not_there(nobody: int) -> None:
    with pytest.raises(UnreachableError, match=rf"^switch 127.0.0.1:{nobody} does not answer: .*; is `offramp switch"):
        expect_switch(f"127.0.0.1:{nobody}")


def test_the_wait_is_bounded(silent: str) -> None:
    start = time.monotonic()
    with pytest.raises(UnreachableError, match="does not answer"):
        expect_switch(silent, timeout_s=0.5)
    assert time.monotonic() - start < 20


def test_other_errors_keep_their_traceback() -> None:
    code = "from offramp_base.unreachable import UnreachableError\nUnreachableError('x')\n1 / 0"
    status, _, lines = run("-c", code)
    assert (status, lines[0], lines[-1]) == (
        1,
        "Traceback (most recent call last):",
        "ZeroDivisionError: division by zero",
    )


def test_a_store_client(nobody: int) -> None:
    status, output, lines = run("-c", STORE.format(f"127.0.0.1:{nobody}"))
    assert lines == [f"store 127.0.0.1:{nobody}: Connection refused; is `offramp leo serve` running?"]
    assert (status, output) == (1, "")


def test_an_agent(tmp_path: Path) -> None:
    path = tmp_path / "agent.sock"
    status, output, lines = run("-c", AGENT.format(str(path)))
    assert lines == [f"agent {path}: No such file or directory; is `offramp nic run` running?"]
    assert (status, output) == (1, "")


@pytest.mark.full
def test_a_process_group_goes_to_gloo_and_says_so_first(nobody: int, tmp_path: Path) -> None:
    """Two groups: each rank has one line, before its first step, and the sums are right all the same."""
    pytest.importorskip("torch")
    network = tmp_path / "network.yaml"
    network.write_text(
        f'offloads: [allreduce]\nlink: "unix:{tmp_path}/port{{port}}"\ncontrol: "127.0.0.1:{nobody}"\nports: [1, 2]\n'
    )
    status, _, lines = run("-c", TORCH, ranks=2, OFFRAMP_NETWORK=str(network))
    line = (
        f"gloo carries out what offload allreduce would: switch 127.0.0.1:{nobody} does not answer: connection "
        "refused; is `offramp switch run` running?"
    )
    assert status == 0
    assert [each for each in lines if "offload" in each or "step" in each] == [line, "step 0 on 0", line, "step 0 on 1"]


@pytest.mark.full
@pytest.mark.parametrize("where", [pytest.param("nobody", marks=pytest.mark.slow), "silent"])
def test_a_gnn_through_a_switch(where: str, nobody: int, silent: str) -> None:
    """Every rank ends with the same line, before a model has run."""
    pytest.importorskip("torch")
    address = silent if where == "silent" else f"127.0.0.1:{nobody}"
    status, output, lines = run("-c", GNN.format(address, "unix:/nowhere/1,unix:/nowhere/2"), ranks=2)
    assert (status, output) == (1, "")
    assert len(lines) == 2
    assert lines[0] == lines[1]
    assert f"switch {address} does not answer" in lines[0]


@pytest.mark.full
@pytest.mark.parametrize("ranks", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_train(nobody: int, ranks: int) -> None:
    """As one command, and as ranks that torchrun started: a line each."""
    pytest.importorskip("torch")
    words = ["train", "--graph", "karate", "--workers", "2", "--epochs", "1", "--propagator", "switch"]
    words += ["--switch", f"127.0.0.1:{nobody}", "--ports", "unix:/nowhere/1,unix:/nowhere/2"]
    status, output, lines = run("-m", "offramp", *words, ranks=ranks)
    lines = [line for line in lines if not line.startswith("warning:")]
    assert (status, output) == (2, "")
    assert len(lines) == max(1, ranks)
    assert {line.partition(";")[0] for line in lines} == {
        f"switch 127.0.0.1:{nobody} does not answer: connection refused"
    }


def test_it_is_an_error_like_the_others() -> None:
    assert issubclass(UnreachableError, OfframpError)
