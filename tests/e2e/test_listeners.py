# SPDX-License-Identifier: Apache-2.0
"""The table of listeners in docs/security.md against the sockets of the commands that it names.

Blind to: sockets that are open for less than the time between two looks, and commands on hardware.
"""

from __future__ import annotations

import fnmatch
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from listening_sockets import Reachable, descendants, reachable
from offramp_p4_tools import write_shims

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/security.md"
LOOK_S = 0.02
TRAIN = "offramp train --graph karate --workers 2 --epochs 3 --hidden 8 --propagator"

MODEL = """
import torch


class Net(torch.nn.Linear):
    def forward(self, x, edge_index):
        rows = super().forward(x)
        return rows.index_add(0, edge_index[1], rows[edge_index[0]])
"""
"""A model that needs rows of others, without PyG."""


class Row(NamedTuple):
    """A row of the table: which commands, what listens, where by default."""

    commands: tuple[str, ...]
    listener: str
    addresses: tuple[str, ...]


def rows() -> list[Row]:
    section = PAGE.read_text(encoding="utf-8").partition("\n## Listeners\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    assert len(lines) > 5
    table_rows = []
    for line in lines:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert len(cells) == 5, line
        commands, addresses = (tuple(re.findall("`([^`]+)`", cells[at])) for at in (0, 2))
        assert commands, line
        assert addresses, line
        table_rows.append(Row(commands, cells[1], addresses))
    return table_rows


def matches(socket: Reachable, address: str) -> bool:
    kind, _, pattern = address.partition(" ")
    return socket.kind == kind and fnmatch.fnmatchcase(socket.address, pattern.replace("[", "[[]"))


def sockets_of(words: list[str], folder: Path, status: int, *, ends: bool) -> set[Reachable]:
    """All that was seen while a command ran; one that does not end by itself is ended once it listens."""
    environment = {**os.environ, "TMPDIR": str(folder)}
    with subprocess.Popen(
        words, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        seen: set[Reachable] = set()
        end = time.monotonic() + 240
        quiet_since = time.monotonic()
        while process.poll() is None and time.monotonic() < end:
            now = reachable(descendants(process.pid))
            if now - seen:
                quiet_since = time.monotonic()
            seen |= now
            if not ends and seen and time.monotonic() - quiet_since > 2:
                break
            time.sleep(LOOK_S)
        if process.poll() is None:
            process.terminate()
        _, errors = process.communicate(timeout=30)
        assert process.returncode == status, errors
    return seen


COMMANDS = {
    f"{TRAIN} switch": "offramp train",
    "offramp leo run kvs --workload B --seconds 0.1 --rounds 1": "offramp leo run",
}
SLOW = {
    f"{TRAIN} switch --transport udp": "offramp train",
    f"{TRAIN} p2p": "offramp train",
    "offramp demo --steps 3": "offramp demo",
    "offramp demo --steps 3 --mode sockets": "offramp demo",
    "offramp hermod demo": "offramp hermod demo",
    "offramp dgtp run testbed-products-ps --graph karate --rates 0.01 --iterations 2 --profile 1": "offramp dgtp run",
    "offramp leo cache --requests 100 --rounds 1": "offramp leo cache",
    "offramp leo chain --requests 10 --traced 1": "offramp leo chain",
    "offramp allreduce --ranks 2 --size 0.1 --rounds 1 --compare": "offramp allreduce",
}
LASTING = {
    f"offramp switch run {ROOT}/p4/examples/reflector.p4 -i 1@unix:port1": "offramp switch run",
    "offramp switch run --no-p4 --bfrt-server-addr 127.0.0.1:0": "offramp switch run",
    "offramp switch run --no-p4 --gnmi-server-addr 127.0.0.1:0": "offramp switch run",
    "offramp switch debug --listen 127.0.0.1:0": "offramp switch debug",
    "offramp leo serve --resp 127.0.0.1:0 --memcached 127.0.0.1:0": "offramp leo serve",
    "offramp leo serve kvs --listen 127.0.0.1:0": "offramp leo serve",
    f"offramp job top --on {ROOT}/tests/support/pair.yaml --web": "offramp job top",
}


def compare(command: str, name: str, folder: Path, *, ends: bool) -> None:
    words = shlex.split(command.replace("offramp", f"{sys.executable} -m offramp", 1))
    compare_sockets(name, sockets_of(words, folder, 0 if ends else 143, ends=ends))


def compare_sockets(name: str, seen: set[Reachable]) -> None:
    promised = [row for row in rows() if name in row.commands]
    for socket in seen:
        assert any(matches(socket, a) for row in promised for a in row.addresses), f"{socket} is not in the table"
        if socket.kind == "unix" and socket.mode not in ("", "gone"):
            mode, _, parent = socket.mode.partition(" in ")
            assert mode == "600", socket
            assert parent == "700" or str(socket.address).startswith("port"), socket


@pytest.mark.p4
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_listens_where_the_table_says(command: str, tmp_path: Path) -> None:
    compare(command, COMMANDS[command], tmp_path, ends=True)


@pytest.mark.slow
@pytest.mark.p4
def test_own_models_listen_where_the_table_says(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "offramp", "graph", "partition", "karate", "store", "--parts", "2"]
    subprocess.run(words, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    (tmp_path / "net.py").write_text(MODEL)
    line = "offramp gnn train store --model net.py:Net --epochs 3 --propagator switch"
    compare(line, "offramp gnn train", tmp_path, ends=True)


@pytest.mark.p4
@pytest.mark.parametrize("command", LASTING)
def test_a_command_that_lasts_listens_where_the_table_says(command: str, tmp_path: Path) -> None:
    compare(command, LASTING[command], tmp_path, ends=False)


@pytest.mark.p4
@pytest.mark.parametrize(("name", "services"), [("simple_switch", 2), ("simple_switch_grpc", 1)])
def test_a_launcher_listens_where_the_table_says(name: str, services: int, tmp_path: Path) -> None:
    write_shims(tmp_path / "bin", [str(ROOT / "base"), str(ROOT / "switch")])
    words = [str(tmp_path / "bin" / name), f"{ROOT}/p4/examples/reflector.p4", "-i", "1@unix:port1"]
    seen = sockets_of(words, tmp_path, 0, ends=False)
    compare_sockets(name, seen)
    assert sum(socket.kind == "tcp" for socket in seen) == services


@pytest.mark.slow
@pytest.mark.parametrize("command", SLOW)
def test_a_long_command_listens_where_the_table_says(command: str, tmp_path: Path) -> None:
    compare(command, SLOW[command], tmp_path, ends=True)


def test_no_default_address_is_reached_from_other_machines() -> None:
    for row in rows():
        for address in row.addresses:
            kind, _, where = address.partition(" ")
            # All but the first within namespaces of the command's own, or of a laboratory.
            inside = where.startswith(("127.0.0.1:", "10.77.0.", "10.90.0."))
            assert kind == "unix" or inside, row
