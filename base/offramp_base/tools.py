# SPDX-License-Identifier: Apache-2.0
"""A virtual environment of its own for a Python tool whose requirements conflict with ours."""

from __future__ import annotations

import fcntl
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from offramp_base.errors import OfframpError
from offramp_base.private_folder import make_cache, user_cache


def default_folder(name: str) -> Path:
    """``NAME-pythonX.Y`` in the user's cache directory (XDG base directory specification)."""
    return user_cache() / "offramp" / f"{name}-python{sys.version_info.major}.{sys.version_info.minor}"


def ensure(folder: Path, requirement: str) -> Path:
    """The Python interpreter of an environment with ``requirement``, made if it is not there; shows its progress.

    Raises:
        OfframpError: the environment cannot be made, is not this user's alone, or the requirement not installed.
    """
    python, marker = folder / "bin" / "python", folder / "offramp-requirement"
    try:
        make_cache(folder)
        with _locked(folder / ".lock"):
            if marker.is_file() and marker.read_text() == requirement and python.exists():
                return python
            _make(folder, python, requirement)
            marker.write_text(requirement)
    except OSError as error:
        raise OfframpError(f"{folder}: {error.strerror or error}") from None
    return python


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another command may be making the same environment
        yield


def _make(folder: Path, python: Path, requirement: str) -> None:
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    with console.status(f"making a virtual environment in {folder}"):
        try:
            venv.create(folder, with_pip=True, upgrade_deps=False)
        except subprocess.CalledProcessError as error:
            raise OfframpError(f"{folder}: no virtual environment: {error}; is Python's venv installed?") from None
    command = [str(python), "-I", "-m", "pip", "install", "--disable-pip-version-check", "--no-input", requirement]
    with (
        console.status(f"installing {requirement}") as status,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as pip,
    ):
        assert pip.stdout is not None
        lines = []
        for line in pip.stdout:
            lines.append(line.strip())
            if line.startswith(("Collecting", "Downloading", "Installing")):
                status.update(f"installing {requirement}: {line.split(' (')[0].strip()}"[: console.width - 4])
    if pip.returncode:
        reason = _reason(lines) or f"pip ended with {pip.returncode}"
        raise OfframpError(f"{requirement} cannot be installed in {folder}: {reason}")
    console.print(f"installed {requirement} in {folder}")


def _reason(lines: list[str]) -> str:
    """The line in which pip says what went wrong: an error or, if a package cannot be built, the marked line.

    Without a network pip says that it finds no version, and warns before that of each attempt to connect.
    """
    unreached = [line for line in lines if line.startswith("WARNING: Retrying") and "connection broken by" in line]
    if unreached and any("ERROR: Could not find a version" in line for line in lines):
        return "pip reaches no package index; is there a network?"
    for mark in ("ERROR: ", "\N{MULTIPLICATION SIGN} ", "error: ", ""):
        for line in lines if mark else lines[-1:]:
            if line.startswith(mark):
                return line.removeprefix(mark)
    return ""
