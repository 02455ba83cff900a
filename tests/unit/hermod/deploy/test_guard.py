# SPDX-License-Identifier: Apache-2.0
"""A guard by cgroup on a veth pair: what arrives at the other end says who was re-marked. Needs root and Linux 6.6."""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import namespaces
from offramp.hermod.deploy.linux import bpf
from offramp.hermod.deploy.linux.guard import GuardTarget, cgroup_id
from offramp.hermod.plan_file import load_plan
from offramp_base.errors import OfframpError
from offramp_base.wire.ethernet import ipv4_checksum

pytestmark = pytest.mark.netns
PLAN = load_plan("mixtral-8x7b")
FREE = next(dscp for dscp in range(1, 64) if dscp not in PLAN.queues)
JOBS = next(dscp for dscp in sorted(PLAN.queues, reverse=True) if dscp != 48)
_SENDER = """
import socket, sys
open(sys.argv[1] + "/cgroup.procs", "w").write("0")
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as port:
    port.bind(("left", 0))
    for frame in sys.argv[2:]:
        port.send(bytes.fromhex(frame))
"""


@pytest.fixture(scope="module")
def inside() -> Iterator[namespaces.Namespace]:
    namespaces.require()
    with namespaces.Namespace() as namespace:
        namespace.veth("left", "right")
        yield namespace


@pytest.fixture(scope="module")
def cgroups() -> Iterator[dict[str, Path]]:
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    root = next((Path(at) for _, at, kind, *_ in mounts if kind == "cgroup2"), None)
    if root is None:
        pytest.skip("no cgroup v2 is mounted")
    job, other = (root / f"offramp-test-{name}" for name in ("job", "other"))
    folders = {"root": root, "job": job, "child": job / "worker", "other": other}
    try:
        for folder in list(folders.values())[1:]:
            folder.mkdir()
    except OSError as error:
        pytest.skip(f"cgroups cannot be made: {error.strerror}")
    yield folders
    for folder in (folders["child"], job, other):
        folder.rmdir()


def frames(dscp: int, ecn: int) -> list[bytes]:
    """IPv4 and IPv6, from addresses that are not the sender's."""
    ethernet = bytes.fromhex("020000000002020000000001")
    header = struct.pack("!BBHHHBBH", 0x45, dscp << 2 | ecn, 40, 7, 0, 64, 17, 0) + bytes([10, 9, 8, 7, 10, 9, 8, 6])
    header = header[:10] + struct.pack("!H", ipv4_checksum(header)) + header[12:]
    six = struct.pack("!IHBB", 6 << 28 | (dscp << 2 | ecn) << 20 | 0xABCDE, 20, 17, 64) + bytes(range(32))
    return [ethernet + b"\x08\x00" + header + bytes(20), ethernet + b"\x86\xdd" + six + bytes(20)]


def sent(inside: namespaces.Namespace, folder: Path, outgoing: list[bytes]) -> list[bytes]:
    """Frames that arrive of those that a process in a cgroup sends."""

    def work() -> list[bytes]:
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as port:
            port.bind(("right", 0))
            port.settimeout(20)
            words = [sys.executable, "-c", _SENDER, str(folder), *(frame.hex() for frame in outgoing)]
            subprocess.run(words, check=True)
            return [port.recv(2000) for _ in outgoing]

    return inside.call(work)


@pytest.fixture
def guard(inside: namespaces.Namespace, cgroups: dict[str, Path]) -> Iterator[GuardTarget]:
    target = inside.call(lambda: GuardTarget("left", PLAN, [cgroups["job"]]))
    try:
        inside.call(target.apply)
    except OfframpError as error:
        if "Linux 6.6" in str(error):
            pytest.skip(str(error))
        raise
    yield target
    inside.call(target.undo)


@pytest.mark.full
@pytest.mark.parametrize("ecn", [0, 1, 3])
def test_what_others_send_with_the_jobs_dscps_is_best_effort(
    inside: namespaces.Namespace, cgroups: dict[str, Path], guard: GuardTarget, ecn: int
) -> None:
    for name, trusted in {"job": True, "child": True, "other": False, "root": False}.items():
        for dscp in (JOBS, 48, FREE, 0):
            kept = trusted or dscp in (FREE, 0)
            before = inside.call(guard.remarked)
            assert sent(inside, cgroups[name], frames(dscp, ecn)) == frames(dscp if kept else 0, ecn)
            assert inside.call(guard.remarked) - before == (0 if kept else 2)


def test_checked_read_back_replaced_and_removed(
    inside: namespaces.Namespace, cgroups: dict[str, Path], guard: GuardTarget
) -> None:
    assert inside.call(guard.differences) == []
    assert not inside.call(guard.apply)
    other = inside.call(lambda: GuardTarget("left", PLAN, [cgroups["other"]]))
    with pytest.raises(OfframpError, match="guard of interface left"):
        inside.call(other.apply)
    assert inside.call(guard.differences) == []
    assert inside.call(lambda: other.apply(replace=True))
    assert sent(inside, cgroups["other"], frames(JOBS, 0)) == frames(JOBS, 0)
    job, strange = (f"guard: cgroup {cgroup_id(cgroups[name])}" for name in ("job", "other"))
    assert [d.what for d in inside.call(guard.differences)] == [job, strange]
    assert inside.call(other.undo)
    assert not inside.call(other.undo)
    assert inside.call(other.deployed) == {}
    assert sent(inside, cgroups["root"], frames(JOBS, 2)) == frames(JOBS, 2)
    assert inside.call(guard.apply)


def test_a_guard_that_does_not_hold_leaves_what_was_there(
    inside: namespaces.Namespace, cgroups: dict[str, Path], guard: GuardTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = inside.call(guard.state)
    other = inside.call(lambda: GuardTarget("left", PLAN, [cgroups["other"]]))
    with monkeypatch.context() as patch:
        patch.setattr("offramp.hermod.deploy.linux.guard.require_equal", _refuse)
        with pytest.raises(OfframpError, match="told to fail"):
            inside.call(lambda: other.apply(replace=True))
    assert inside.call(guard.state) == before
    with monkeypatch.context() as patch:
        patch.setattr(bpf, "load", _refuse)
        with pytest.raises(OfframpError, match="told to fail"):
            inside.call(lambda: other.apply(replace=True))
    assert inside.call(guard.state) == before


def _refuse(*_: object) -> int:
    raise OfframpError("told to fail")


def test_bad_input(inside: namespaces.Namespace, tmp_path: Path) -> None:
    with pytest.raises(OfframpError, match=r"cgroup .*: expected a folder of cgroup v2"):
        inside.call(lambda: GuardTarget("left", PLAN, [tmp_path]))
    with pytest.raises(OfframpError, match="guard of interface nowhere: no such interface"):
        inside.call(lambda: GuardTarget("nowhere", PLAN, []))
