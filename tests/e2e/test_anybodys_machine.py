# SPDX-License-Identifier: Apache-2.0
"""The fast tier on a machine unlike a developer's: another folder, another user, another language, fewer packages.

The checkout lies in a path with a space and a letter outside ASCII. The user is nobody, who may gain no privileges; the
home folder is read-only, messages are in the C locale, and only the core's packages and those that run tests are there.

Blind spot: other operating systems, and other versions of Python than the one that runs this test.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
RUNNERS = ("pytest", "pytest-xdist", "pytest-timeout", "pytest-benchmark", "hypothesis", "hatchling", "packaging")
"""Packages that run the tests, beside those of the core."""
NOBODY = "65534"
RESTART = "import subprocess, sys; subprocess.run([sys.executable, '-c', ''], check=True)"
"""A program that starts its own interpreter: the first start alone may still have root's rights to find it."""
FOLDERS = ("base", "switch", "host", "sim", "cli")


def python_for_all() -> Path:
    """An interpreter of this version that any user may start."""
    name = f"python3.{sys.version_info[1]}"
    for candidate in (Path(sys.executable).resolve(), Path("/usr/bin") / name, Path("/usr/local/bin") / name):
        if candidate.exists():
            restarts = [*as_nobody(), str(candidate), "-c", RESTART]
            if subprocess.run(restarts, check=False, capture_output=True).returncode == 0:
                return candidate
    pytest.skip(f"other users than root find no {name} in /usr/bin or /usr/local/bin")


def as_nobody() -> list[str]:
    """Words before a command that is to run without any privilege; an ordinary user has none to lose."""
    if os.geteuid():
        return []
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs"]


def copy_packages(target: Path) -> None:
    """Copy the distributions of the core and of the runners, with all that they need, from this environment."""
    project = metadata.requires("offramp") or []
    pending = [Requirement(row) for row in project] + [Requirement(name) for name in RUNNERS]
    copied: set[str] = set()
    for file in metadata.distribution("offramp").files or []:  # its entry points; the code is the checkout's
        if file.parent.name.endswith(".dist-info"):
            (target / file).parent.mkdir(exist_ok=True)
            shutil.copy(str(file.locate()), target / file)
    while pending:
        requirement = pending.pop()
        name = canonicalize_name(requirement.name)
        if name in copied or (requirement.marker is not None and not requirement.marker.evaluate({"extra": ""})):
            continue
        copied.add(name)
        distribution = metadata.distribution(name)
        pending += [Requirement(row) for row in distribution.requires or []]
        tops = {file.parts[0] for file in distribution.files or [] if file.parts[0] not in ("..", "__pycache__")}
        for top in tops:
            source = Path(str(distribution.locate_file(top)))
            if source.is_dir():
                shutil.copytree(source, target / top, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, target / top)


def copy_checkout(target: Path) -> None:
    """Copy the files that git knows or would take."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    for name in filter(None, names):
        if (ROOT / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name, follow_symlinks=False)


@pytest.mark.timeout(3000)
def test_the_fast_tier_passes_on_anybodys_machine() -> None:
    python = python_for_all()
    # Not below pytest's own folder, which no other user may enter.
    scratch = Path(subprocess.run(["mktemp", "-d"], capture_output=True, text=True, check=True).stdout.strip())
    try:
        checkout, packages, home, temporary = (scratch / name for name in ("a b \u00fc", "packages", "home", "tmp"))
        for folder in (checkout, packages, home, temporary):
            folder.mkdir()
        copy_packages(packages)
        copy_checkout(checkout)
        subprocess.run(["git", "init", "--quiet", checkout], check=True)
        subprocess.run(["git", "-C", checkout, "add", "--all"], check=True)
        if not os.geteuid():
            subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", checkout, temporary], check=True)
        scratch.chmod(0o755)
        home.chmod(0o555)
        environment = {
            "HOME": str(home),
            "LANG": "C",
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": os.pathsep.join([*(str(checkout / each) for each in FOLDERS), str(packages)]),
            "TMPDIR": str(temporary),
        }
        words = [str(python), "-m", "pytest", "-n", "2", "--dist", "worksteal", "-q", "-p", "no:cacheprovider"]
        done = subprocess.run(
            [*as_nobody(), *words, "--tier", "fast", "-m", "not slow and not bench and not guest and not cluster"],
            cwd=checkout, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        passed = re.search(r"(\d+) passed", done.stdout)
        assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-5_000:]
        assert passed, done.stdout[-2_000:]
        assert int(passed[1]) > 2_000
    finally:
        home.chmod(0o755)
        shutil.rmtree(scratch)
