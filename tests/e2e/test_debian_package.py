# SPDX-License-Identifier: Apache-2.0
"""The Debian package: what it holds, and that it runs from where it is installed.

It is unpacked, not installed, and its ``/opt`` laid over this machine's in a mount namespace. Blind to other
distributions and other versions of Python.
"""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHON = Path(f"/usr/bin/python3.{sys.version_info[1]}")
pytestmark = pytest.mark.slow


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not shutil.which("dpkg-deb"):
        pytest.skip("dpkg-deb is missing")
    if os.geteuid() or not PYTHON.exists():
        pytest.skip(f"needs root, for a mount namespace, and {PYTHON}")
    folder = tmp_path_factory.mktemp("deb")
    built = run(ROOT / "ci/deb", folder)
    if "No matching distribution" in built.stderr or "Could not find a version" in built.stderr:
        pytest.skip("pip finds no index")
    assert built.returncode == 0, built.stderr
    subprocess.run(["dpkg-deb", "-x", built.stdout.splitlines()[-1], folder / "root"], check=True)
    (folder / "root/build").write_text(built.stdout)
    return folder / "root"


def installed(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command of the package with its folder as ``/opt``."""
    inside = ["sh", "-c", 'mount --bind "$0" /opt && exec "$@"', str(root / "opt"), *words]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        ["unshare", "--mount", *inside], capture_output=True, text=True, check=False, cwd=root, env=environment
    )


def test_its_control_file_and_what_it_puts_where(unpacked: Path) -> None:
    package = (unpacked / "build").read_text().splitlines()[-1]
    said = run("dpkg-deb", "--field", package, "Package", "Depends").stdout
    minor = sys.version_info[1]
    assert said == f"Package: offramp\nDepends: python3 (>= 3.{minor}), python3 (<< 3.{minor + 1})\n"
    assert (unpacked / "usr/bin/offramp").readlink() == Path("/opt/offramp/bin/offramp")
    with gzip.open(unpacked / "usr/share/man/man1/offramp-plan.1.gz", "rt") as page:
        assert ".TH" in page.readline()
    assert "offramp" in (unpacked / "usr/share/bash-completion/completions/offramp").read_text()
    owners = run("dpkg-deb", "--contents", package).stdout.splitlines()
    assert {line.split()[1] for line in owners} == {"root/root"}


def test_it_runs_where_it_is_installed(unpacked: Path) -> None:
    there = installed(unpacked, "/opt/offramp/bin/offramp", "--version")
    assert there.returncode == 0, there.stderr
    assert there.stdout.startswith("offramp ")
    checked = installed(unpacked, "/opt/offramp/bin/offramp", "switch", "doctor", "--json", "-")
    assert '"native"' in checked.stdout or "native" in checked.stdout, checked.stderr
    where = installed(unpacked, "/opt/offramp/bin/python", "-c", "import offramp; print(offramp.__file__)")
    assert where.stdout.startswith("/opt/offramp/lib/"), where.stderr
