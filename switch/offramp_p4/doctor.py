# SPDX-License-Identifier: Apache-2.0
"""Checks of what the switch and its tests use on this machine, and advice on what is missing."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from typing import Final

from offramp_base.checks import Check
from offramp_base.transport.links import TRANSPORTS
from offramp_base.transport.rights import has_capability, obstacle

_DEFAULT_PORT: Final = 9559  # of P4Runtime servers


def checks() -> Iterator[Check]:
    """All checks; they change nothing on the machine."""
    for check in _CHECKS:
        yield from check()


def _python() -> Iterator[Check]:
    yield Check("Python", True, platform.python_version(), needed=True)
    for package, need in (("protobuf", "4.21"), ("grpcio", "1.60"), ("numpy", "1.26"), ("llvmlite", "0.43")):
        needed = package != "llvmlite"
        advice = f"pip install '{package}>={need}'" + ("" if needed else " for the native engine")
        try:
            version = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            yield Check(package, False, "not installed", advice, needed)
            continue
        yield Check(package, _numbers(version) >= _numbers(need), version, advice, needed)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())


def _rights() -> Iterator[Check]:
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    admin, raw = (root or has_capability(name) for name in ("CAP_NET_ADMIN", "CAP_NET_RAW"))
    who = "root" if root else "not root"
    yield Check("CAP_NET_ADMIN", admin, who, "run as root to make veth pairs and network namespaces")
    advice = "run as root, or: sudo setcap cap_net_raw+ep on this Python; ports on unix: sockets need neither"
    yield Check("CAP_NET_RAW", raw, who, advice)


def _network() -> Iterator[Check]:
    names = [name for _, name in socket.if_nameindex()]
    yield Check("interfaces", bool(names), ", ".join(names) or "none", "a container without network has none")
    yield _packet_socket()
    yield _xdp_socket()
    yield _veth()
    yield _port()


def _packet_socket() -> Check:
    advice = "ports on interfaces need Linux and CAP_NET_RAW; unix: sockets work without"
    if not hasattr(socket, "AF_PACKET"):
        return Check("AF_PACKET", False, f"not on {platform.system()}", advice)
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()
    except OSError as error:
        return Check("AF_PACKET", False, error.strerror or str(error), advice)
    return Check("AF_PACKET", True, "raw sockets can be opened")


def _xdp_socket() -> Check:
    reason = obstacle(TRANSPORTS["af_xdp"])
    advice = "links by af_xdp need it; af_packet: and unix: links work without"
    return Check("AF_XDP", not reason, reason or "sockets can be opened", advice)


def _veth() -> Check:
    """A veth pair in a network namespace that ends with the command, so that nothing is left behind."""
    command = ["unshare", "--net", "ip", "link", "add", "offramp0", "type", "veth", "peer", "name", "offramp1"]
    advice = "needs root, iproute2, util-linux and the veth module (modprobe veth)"
    missing = [tool for tool in ("unshare", "ip") if shutil.which(tool) is None]
    if missing:
        return Check("veth pairs", False, f"no {' and '.join(missing)} on PATH", advice)
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Check("veth pairs", False, str(error), advice)
    errors = done.stderr.strip().splitlines()
    reason = errors[-1].removeprefix("unshare: ") if errors else ""
    return Check("veth pairs", done.returncode == 0, reason or "can be made", advice)


def _port() -> Check:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", _DEFAULT_PORT))
        except OSError as error:
            advice = "another switch is running: give --grpc-server-addr another port"
            return Check(f"port {_DEFAULT_PORT}", False, error.strerror or str(error), advice)
    return Check(f"port {_DEFAULT_PORT}", True, "free on 127.0.0.1")


def _reference() -> Iterator[Check]:
    for tool, use in (
        ("p4c-bm2-ss", "compiles for bmv2"),
        ("simple_switch", "bmv2, for comparison"),
        ("simple_switch_grpc", "bmv2 with P4Runtime"),
    ):
        path = shutil.which(tool)
        yield Check(tool, path is not None, path or "not on PATH", f"{use}; only tests and comparisons use it")


_CHECKS: Final[tuple[Callable[[], Iterator[Check]], ...]] = (_python, _rights, _network, _reference)
