# SPDX-License-Identifier: Apache-2.0
"""Other builds: for 64-bit Arm under qemu, with sanitizers, with a fuzzer, as a package. All take minutes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from nic_agent import built, emulated, job_of, write_job, write_vectors
from nic_seeds import write_seeds
from nic_vectors import all_vectors

pytestmark = [pytest.mark.nic, pytest.mark.slow]


def run_tests(launcher: list[str], folder: Path, tmp_path: Path) -> None:
    write_vectors(tmp_path / "vectors", all_vectors(1))
    commands = [[folder / "offramp-nic-vectors", tmp_path / "vectors"]]
    for seed in range(3):
        job = tmp_path / f"job{seed}"
        write_job(job, *job_of(seed))
        commands.append([folder / "offramp-nic-exchange", job, seed, 0.05, 0.05, 100 * seed])
        commands.append([folder / "offramp-nic-coflows", seed, 0.05, 0.05])
    for command in commands:
        words = [*launcher, *map(str, command)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "right" in done.stdout


def test_aarch64(tmp_path: Path) -> None:
    qemu = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
    if qemu is None:
        pytest.skip("programs for aarch64 need qemu-user-static")
    run_tests([qemu, "-L", "/usr/aarch64-linux-gnu"], built("aarch64"), tmp_path)


@pytest.mark.parametrize("sanitize", ["address,undefined", "thread"])
def test_sanitizers(tmp_path: Path, sanitize: str) -> None:
    run_tests([], built(sanitize=sanitize), tmp_path)


@pytest.mark.parametrize("name", ["packet", "control", "plans", "coflows", "sums"])
def test_fuzz(tmp_path: Path, name: str) -> None:
    """So many seconds as OFFRAMP_FUZZ_SECONDS says; a finding makes the program fail."""
    folder = built(fuzz=True)
    write_seeds(name, tmp_path / "corpus")
    seconds = os.environ.get("OFFRAMP_FUZZ_SECONDS", "20")
    command = [folder / f"offramp-nic-fuzz-{name}", f"-max_total_time={seconds}", "-max_len=4096", "-seed=1"]
    done = subprocess.run(
        [*map(str, command), str(tmp_path / "corpus")],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        timeout=3600,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stderr.splitlines()
    last = next(line for line in reversed(lines) if "DONE" in line)
    print(f"{name}: {' '.join(last.split())}; {lines[-1]}")  # noqa: T201 (shown with -s: the counts)


def packed(folder: Path) -> Path:
    """The package of a build."""
    if shutil.which("cpack") is None:
        pytest.skip("packages need cmake's cpack")
    subprocess.run(["cpack", "-G", "DEB"], cwd=folder, check=True, capture_output=True)
    (package,) = folder.glob("offramp-nic_*.deb")
    return package


def said(*command: str | Path) -> str:
    """Output of a command."""
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout


def test_package(programs: Path, tmp_path: Path) -> None:
    """Unpacked into a root of its own: the agent runs, systemd takes the unit."""
    package = packed(programs)
    assert "librte-eal23" in said("dpkg-deb", "-f", package, "Depends")
    said("dpkg-deb", "-x", package, tmp_path)
    assert "usage: offramp-nic-agent" in said(tmp_path / "usr/bin/offramp-nic-agent", "--help")
    said(tmp_path / "usr/bin/offramp-nic-agent", "--check")
    if shutil.which("systemd-analyze"):
        unit = tmp_path / "offramp-nic.service"
        text = (tmp_path / "lib/systemd/system" / unit.name).read_text()
        assert "ExecStart=/usr/bin/offramp-nic-agent" in text
        unit.write_text(text.replace("/usr/bin/", f"{tmp_path}/usr/bin/"))
        said("systemd-analyze", "verify", "--man=no", "--recursive-errors=no", unit)


def test_package_for_aarch64() -> None:
    """The package depends on the libraries that the program is linked with."""
    folder = emulated().parent
    package = packed(folder)
    assert said("dpkg-deb", "-f", package, "Architecture").strip() == "arm64"
    depends = said("dpkg-deb", "-f", package, "Depends")
    linked = said("aarch64-linux-gnu-readelf", "-d", folder / "offramp-nic-agent")
    for library, number in re.findall(r"\[(librte_\w+|libhwy|libstdc\+\+)\.so\.(\d+)\]", linked):
        assert f"{library.replace('_', '-')}{number}" in depends
