# SPDX-License-Identifier: Apache-2.0
"""The guest itself: it says how its command ended, keeps the host's files as they are, and leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import guest


def folders() -> set[Path]:
    return set(Path("/tmp").glob("offramp-guest-*"))


def children() -> set[int]:
    """Processes of QEMU that hold our kernel."""
    pids = set()
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = each.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"qemu-system-x86_64") and str(guest.ROOT).encode() in b" ".join(words):
            pids.add(int(each.parent.name))
    return pids


def test_exit_status_output_and_files_come_back(tmp_path: Path) -> None:
    before = folders()
    kept = guest.ROOT / "guest-was-here"
    script = f"echo out; echo err >&2; echo file >/mnt/file; echo x >{kept}; test -e {kept} && uname -r; nproc; exit 7"
    done = guest.run("bash", "-c", script, out=tmp_path / "out", env={"A": "b c'd"}, limit_s=300)
    assert done.returncode == 7, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:2] == ["out", "err"]
    assert lines[2].endswith("-amd64")
    assert (tmp_path / "out/file").read_text() == "file\n"
    assert not kept.exists()  # what the guest writes is in its own memory
    assert folders() == before


def test_the_hardware_that_it_promises(tmp_path: Path) -> None:
    script = """
        set -e
        cat /sys/bus/pci/devices/0000:00:1[0-3].0/{vendor,device} | sort | uniq -c
        grep HugePages_Total /proc/meminfo
        for module in rdma_rxe sch_netem sch_prio vfio-pci; do modprobe $module; done
        ls /sys/kernel/iommu_groups | wc -l
        echo "$A"
    """
    done = guest.run("bash", "-c", script, env={"A": "b c'd"}, limit_s=300)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert {"2 0x1041", "2 0x1af4", "2 0x8086", "2 0x100e"} <= set(lines)
    assert "HugePages_Total: 256" in lines
    assert int(lines[-2]) >= 8  # each card in a group of its own
    assert lines[-1] == "b c'd"


def test_one_that_hangs_is_ended(tmp_path: Path) -> None:
    others, before = children(), folders()
    done = guest.run("sleep", "1000", limit_s=60)
    assert done.returncode == guest.FAILED
    assert done.stderr.splitlines()[-1] == "guest: the guest ran for 60 s and was ended"
    assert children() <= others
    assert folders() == before


def test_it_ends_with_who_started_it(tmp_path: Path) -> None:
    others = children()
    command = [sys.executable, str(guest.ROOT / "ci/guest/run"), "--", "sleep", "1000"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env={**os.environ, "TMPDIR": str(tmp_path)})
    end = time.monotonic() + 60
    while not children() - others:
        assert time.monotonic() < end
        time.sleep(0.1)
    process.kill()
    process.wait()
    while children() - others:
        assert time.monotonic() < end
        time.sleep(0.1)
