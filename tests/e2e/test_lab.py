# SPDX-License-Identifier: Apache-2.0
"""``offramp lab``: clusters on this machine, by the command line; nothing is left, however a laboratory ends.

Blind spots: this kernel has no netem, so that delays are only said to be missing; rates are bounded from above, since a
busy machine may always be slower.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from offramp.fabric import read_fabric
from offramp.job import link_bytes, since
from offramp_base.ending.owner import is_process
from offramp_sim.lab import possible_mode

pytestmark = pytest.mark.netns
CLUSTER = """\
name: {name}
hosts: [{{name: "h[1-3]"}}]
switches: [{{name: leaf}}, {{name: other, target: plain}}]
links:
  - {{ends: ["h[1-2]", leaf], rate: 10mbit, delay: 1ms}}
  - {{ends: [h3, other], rate: 10mbit}}
  - {{ends: [leaf, other], rate: 1gbit}}
"""
SERVE = """
import socket
c = socket.create_server(("", 7)).accept()[0]
n = 0
while b := c.recv(1 << 20):
    n += len(b)
print(n)
"""
SEND = """
import socket, sys, time
for _ in range(300):
    try:
        c = socket.create_connection((sys.argv[1], 7), 5)
        break
    except OSError:
        time.sleep(0.1)
start = time.monotonic()
c.sendall(bytes(1_500_000))
c.shutdown(1)
c.recv(1)
print(time.monotonic() - start)
"""


def offramp(*words: str, status: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "offramp", *words], check=False, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


def labs() -> list[dict]:
    return json.loads(offramp("lab", "status", "--json", "-"))["labs"]


@pytest.fixture(scope="module")
def mode() -> str:
    """Namespaces without root where they may be had, since that is the harder way."""
    probe = subprocess.run(["unshare", "--user", "--map-root-user", "--net", "true"], capture_output=True, check=False)
    probed = "user" if probe.returncode == 0 else possible_mode()[0]
    if probed == "sockets":
        pytest.skip(f"no network namespaces: {possible_mode()[1]}")
    return probed


@pytest.fixture
def up(tmp_path: Path, mode: str) -> Iterator[Callable[..., dict]]:
    """Start a laboratory by name; what still runs at the end is ended."""
    names: list[str] = []

    def start(name: str, mode: str = mode, text: str = CLUSTER) -> dict:
        name = f"{name}-{os.getpid()}"
        path = tmp_path / f"{name}.yaml"
        path.write_text(text.format(name=name))
        names.append(name)
        return json.loads(offramp("lab", "up", str(path), "--mode", mode, "--json", "-"))["lab"]

    yield start
    for lab in labs():
        if lab["name"] in names:
            offramp("lab", "down", lab["name"])


def gone(lab: dict) -> bool:
    """Whether no process of a laboratory runs and its folder is removed."""
    deadline = time.monotonic() + 10
    while any(map(is_process, lab["processes"].values())) and time.monotonic() < deadline:
        time.sleep(0.05)
    labs()  # which sweeps
    return not any(map(is_process, lab["processes"].values())) and not Path(lab["folder"]).exists()


def transfer(lab: dict, sender: str, receiver: str, address: str) -> tuple[int, float]:
    """Bytes that came, and the seconds that they took."""
    words = [sys.executable, "-m", "offramp", "lab", "exec"]
    with subprocess.Popen(
        [*words, f"{lab['name']}/{receiver}", "--", sys.executable, "-c", SERVE], stdout=subprocess.PIPE, text=True
    ) as server:
        took = offramp("lab", "exec", f"{lab['name']}/{sender}", "--", sys.executable, "-c", SEND, address)
        assert server.stdout is not None
        return int(server.stdout.read()), float(took)


def test_hosts_reach_each_other_over_switches_at_the_links_rate(up):
    lab = up("reach")
    assert len(lab["processes"]) == 4
    for receiver, address in (("h2", "10.90.0.2"), ("h3", "10.90.0.3")):  # by a P4 switch; by that and a bridge
        came, seconds = transfer(lab, "h1", receiver, address)
        assert came == 1_500_000
        assert seconds > 1_500_000 * 8 / 10e6 * 0.8
    assert any("other (plain)" in note for note in lab["notes"])
    assert offramp("lab", "exec", f"{lab['name']}/h1", "--", "sh", "-c", "exit 7", status=7) == ""
    assert "h9: no such host" in offramp("lab", "exec", f"{lab['name']}/h9", "ls", status=2)
    offramp("lab", "down", lab["name"])
    assert gone(lab)


@pytest.mark.slow
def test_two_laboratories_of_the_same_addresses_beside_each_other(up):
    first, second = up("first"), up("second")
    assert transfer(second, "h2", "h1", "10.90.0.1")[0] == 1_500_000
    assert "runs already" in offramp("lab", "up", str(Path(first["source"])), "--name", first["name"], status=2)
    offramp("lab", "down", first["name"])
    assert gone(first)
    assert {lab["name"] for lab in labs()} >= {second["name"]}


@pytest.mark.parametrize("victim", ["holder", "switch leaf"])
def test_after_kill_9_nothing_is_left_or_a_switch_comes_back(up, victim):
    lab = up("killed")
    owner = lab["holder"] if victim == "holder" else lab["processes"][victim]
    os.kill(int(owner.split(".")[0]), signal.SIGKILL)
    deadline = time.monotonic() + 10
    while is_process(owner) and time.monotonic() < deadline:
        time.sleep(0.02)
    if victim == "holder":
        assert gone(lab)
        assert lab["name"] not in {each["name"] for each in labs()}
    else:
        while True:
            (listed,) = (each for each in labs() if each["name"] == lab["name"])
            if listed["restarts"] == {victim: 1} or time.monotonic() > deadline + 50:
                break
            time.sleep(0.1)
        assert (listed["restarts"], listed["ended"]) == ({victim: 1}, [])
        assert transfer(lab, "h2", "h1", "10.90.0.1")[0] == 1_500_000
        offramp("lab", "down", lab["name"])
        assert gone(lab)


@pytest.mark.smoke
def test_sockets_where_there_are_no_namespaces(up):
    only = "name: {name}\nhosts: [{{name: a}}]\nswitches: [{{name: s}}, {{name: t}}]\nlinks:\n"
    lab = up("sockets", "sockets", only + "  - {{ends: [a, s], rate: 1g}}\n  - {{ends: [s, t], rate: 1g}}\n")
    assert offramp("lab", "exec", f"{lab['name']}/a", "--", "echo", "here") == "here\n"
    assert (Path(lab["folder"]) / "s" / "port1").is_socket()


def test_what_cannot_be_built_is_one_line_and_leaves_nothing(tmp_path, mode):
    path = tmp_path / "apart.yaml"
    path.write_text("hosts: [{name: a},\n {name: b}]\n")
    assert (
        offramp("lab", "up", str(path), "--mode", mode, status=2)
        == f"{path}:2: b: no way to a: expected links that join them\n"
    )
    path.write_text("hosts: [{name: a, address: nowhere}, {name: b}]\nlinks: [{ends: [a, b], rate: 1g}]\n")
    assert offramp("lab", "up", str(path), "--mode", mode, status=2).count("\n") == 1
    assert "apart" not in {lab["name"] for lab in labs()}  # others' laboratories come and go


FAILING = """\
name: {name}
hosts: [{{name: "h[1-4]"}}]
switches: [{{name: "leaf[1-2]"}}, {{name: "spine[1-2]", target: plain}}]
links:
  - {{ends: ["h[1-2]", leaf1], rate: 100mbit}}
  - {{ends: ["h[3-4]", leaf2], rate: 100mbit}}
  - {{ends: ["leaf[1-2]", spine1], rate: 1gbit}}
  - {{ends: ["leaf[1-2]", spine2], rate: 1gbit}}
failures:
  - {{link: [leaf1, spine1], until: 12s}}
"""
FRAMES = 200
FRAME_BYTES = 1000
SEND_FRAMES = """
import socket, sys, time
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as link:
    link.bind(("eth0", 0))
    for mac in sys.argv[3:]:
        for _ in range(int(sys.argv[1])):
            frame = bytes.fromhex(mac.replace(":", "") + "020000000099") + b"\\x88\\xb5"
            link.send(frame.ljust(int(sys.argv[2]), b"x"))
            time.sleep(0.0005)
"""


@pytest.mark.slow
def test_links_carry_what_the_fabric_counts_while_one_fails_and_when_it_is_mended(up):
    """Frames from h1 and h3 to all other hosts; what the kernel adds of its own is below a twentieth of a flow."""
    lab = up("failing", text=FAILING)
    file = Path(lab["folder"]) / "cluster.yaml"
    seen: set[frozenset[int]] = set()
    deadline = time.monotonic() + 60
    while frozenset() not in seen and time.monotonic() < deadline:
        fabric = read_fabric(file).at(0.0)
        pairs = [(source, sink) for source in (0, 2) for sink in range(4) if source != sink]
        before = link_bytes(fabric.cluster)
        for source in (0, 2):
            macs = [str(fabric.cluster.hosts[sink].mac) for a, sink in pairs if a == source]
            words = [sys.executable, "-c", SEND_FRAMES, str(FRAMES), str(FRAME_BYTES), *macs]
            offramp("lab", "exec", f"{lab['name']}/{fabric.nodes[source]}", "--", *words)
        time.sleep(0.2)
        moved = since(before, link_bytes(fabric.cluster))
        if read_fabric(file).at(0.0).without != fabric.without:
            continue  # it was mended meanwhile
        seen.add(fabric.without)
        load = fabric.load(*zip(*pairs, strict=True), [float(FRAMES * FRAME_BYTES)] * len(pairs))
        counted = [each for cable in fabric.cluster.links for each in moved.get(cable, (0, 0))]
        assert counted == pytest.approx(load[: len(counted)].tolist(), abs=FRAMES * FRAME_BYTES / 20)
    assert {len(without) for without in seen} == {0, 1}
