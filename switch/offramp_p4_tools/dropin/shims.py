# SPDX-License-Identifier: Apache-2.0
"""Launchers with the names of bmv2's and p4c's programs, for a folder that stands first on PATH."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Final

from offramp_base.errors import OfframpError
from offramp_p4.reference.process import LAUNCHER_MARK

PROGRAMS: Final = {
    "simple_switch": "simple_switch",
    "simple_switch_grpc": "simple_switch",
    "simple_switch_CLI": "thrift.cli",
    "p4c": "p4c",
    "p4c-bm2-ss": "p4c",
    "p4c-bm2-psa": "p4c",
    "p4c-bm2-pna": "p4c",
}
"""The launchers, and the modules of :mod:`offramp_p4_tools.dropin` whose ``main`` they call."""


def write_shims(folder: Path, search: list[str] | None = None) -> list[Path]:
    """Write the launchers; those of an earlier call are replaced, other files are not.

    Args:
        folder: is made where it is missing.
        search: folders that the launchers put before Python's own, for an installation that is not in its
            ``site-packages``.

    Raises:
        OfframpError: the folder cannot be written, or has a program of one of these names that is not ours.
    """
    scripts = {folder / name: _script(name, module, search or []) for name, module in PROGRAMS.items()}
    for path in scripts:
        if path.exists() and LAUNCHER_MARK not in path.read_text(errors="replace"):
            raise OfframpError(f"{path}: is there, and not one of ours")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in scripts.items():
            path.write_text(text)
            path.chmod(0o755)
    except OSError as error:
        raise OfframpError(f"{folder}: cannot be written: {error.strerror}") from None
    return list(scripts)


def _script(name: str, module: str, search: list[str]) -> str:
    paths = f"sys.path[:0] = {search!r}\n" if search else ""
    return (
        f"#!/bin/sh\n{LAUNCHER_MARK}\n'''exec' {shlex.quote(sys.executable)} \"$0\" \"$@\"\n'''\nimport sys\n{paths}"
        f"from offramp_p4_tools.dropin.{module} import main\nsys.exit(main(program={name!r}))\n"
    )
