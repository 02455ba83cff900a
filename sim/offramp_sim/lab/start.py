# SPDX-License-Identifier: Apache-2.0
"""Starting a laboratory: the rights of this user, and the process that holds it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from offramp_base.documents import parse_json
from offramp_base.ending.children import stop
from offramp_base.errors import OfframpError
from offramp_sim.lab.state import DOWN_S, STATE, Lab, read_state, running

MODES: Final = {
    "auto": "the first of these that works here",
    "root": "network namespaces",
    "user": "network namespaces in a user namespace, without root",
    "sockets": "no namespaces: Unix sockets, without rates",
}
_PROBE: Final = "ip link add v0 type veth peer name v1 && tc qdisc add dev v0 root handle 1: htb default 1"


def possible_mode() -> tuple[str, str]:
    """The best mode for this user on this kernel, and why no better one is possible; the reason may be empty."""
    reason = _lacking()
    if reason:
        return "sockets", reason
    for mode, flags in (("root", ["--net"]), ("user", ["--user", "--map-root-user", "--net"])):
        if mode == "root" and os.geteuid() != 0:
            continue
        done = subprocess.run(["unshare", *flags, "sh", "-c", _PROBE], check=False, capture_output=True, text=True)
        if done.returncode == 0:
            return mode, ""
        reason = reason or (done.stderr.strip().splitlines() or ["the kernel refuses namespaces"])[-1]
    return "sockets", reason


def _lacking() -> str:
    """The commands for namespaces that this machine lacks, in a sentence; empty if none."""
    missing = [tool for tool in ("ip", "tc", "unshare", "nsenter") if shutil.which(tool) is None]
    return f"no {' and '.join(missing)} on PATH; they come with iproute2 and util-linux" if missing else ""


def start(cluster: Path, name: str | None = None, mode: str = "auto") -> tuple[Lab, str]:
    """Start a laboratory that outlives this process; also returns why it has no better mode.

    Raises:
        OfframpError: a fault in the file, a running laboratory of the same name, or insufficient rights.
    """
    process, lab, reason = _begin(cluster, name, mode, lasting=True)
    assert process.stdin is not None
    process.stdin.close()
    return lab, reason


@contextmanager
def held(cluster: Path, name: str | None = None, mode: str = "auto") -> Iterator[tuple[Lab, str]]:
    """Start a laboratory for a block: it ends with the block or with this process, however that ends.

    Raises:
        OfframpError: as :func:`start`.
    """
    process, lab, reason = _begin(cluster, name, mode, lasting=False)
    assert process.stdin is not None
    try:
        yield lab, reason
    finally:
        stop(process, DOWN_S)
        process.stdin.close()


def _begin(cluster: Path, name: str | None, mode: str, *, lasting: bool) -> tuple[subprocess.Popen[str], Lab, str]:
    from offramp.cluster import read_cluster

    wanted = name or read_cluster(cluster).name
    if any(lab.name == wanted for lab in running()):
        raise OfframpError(f"lab {wanted}: runs already: offramp lab down {wanted} ends it; --name gives another name")
    reason = ""
    if mode == "auto":
        mode, reason = possible_mode()
    elif mode != "sockets" and (lacking := _lacking()):
        raise OfframpError(f"lab {wanted}: {lacking}; the mode sockets needs neither")
    request = {"cluster": str(cluster.absolute()), "name": wanted, "mode": mode, "lasting": lasting}
    process = subprocess.Popen(
        [sys.executable, "-m", "offramp_sim.lab.holder"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(request) + "\n")
    process.stdin.flush()
    with process.stdout as stdout:
        line = stdout.readline()
    answer: dict[str, Any] = parse_json(line) if line.strip() else {"error": "the laboratory did not start"}
    if "error" in answer:
        process.stdin.close()
        process.wait()
        raise OfframpError(str(answer["error"]))
    (lab,) = read_state(Path(answer["folder"]) / STATE)
    process.stdin.write("go\n")
    process.stdin.flush()
    return process, lab, reason
