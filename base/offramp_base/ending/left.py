# SPDX-License-Identifier: Apache-2.0
"""Temporary folders and network namespaces that say whose they are; removing those whose owner was killed."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from offramp_base.ending.owner import is_left, owned_name
from offramp_base.errors import OfframpError
from offramp_base.iproute import NAMESPACES, ip

_LONGEST: Final = 40
"""Characters: the name of a folder has about as many, and what is in it has a name, too; a socket's path has 107."""
_SHORT: Final = "/tmp"  # noqa: S108 - with a name nobody can guess, as mkdtemp makes it

_swept: set[Callable[[], None]] = set()
"""The sweeps that this process has done already: each is done once."""


def temporary_folder(inside: Path | None = None) -> tempfile.TemporaryDirectory[str]:
    """A folder of this user alone; a context manager that removes it.

    It is where temporary files belong, unless that path is too long for a Unix socket in the folder (unix(7)). If
    this process is killed, the next one that calls this function removes it.

    Args:
        inside: a private folder that it is to be in instead, such as one of the cache.
    """
    if inside is not None:
        _sweep_in(inside, is_left)
        return tempfile.TemporaryDirectory(prefix=owned_name(), dir=inside)
    _once(sweep_folders)
    usual = tempfile.gettempdir()
    return tempfile.TemporaryDirectory(prefix=owned_name(), dir=usual if len(usual) <= _LONGEST else _SHORT)


@contextmanager
def namespaces(names: list[str]) -> Iterator[list[str]]:
    """Network namespaces of these names, extended by their owner's; they end with the context.

    If this process is killed, the next one that calls this function removes them.

    Raises:
        OfframpError: no right to make them.
    """
    _once(sweep_namespaces)
    created: list[str] = []
    try:
        for name in names:
            full = owned_name() + name
            ip("netns", "add", full)
            created.append(full)
        yield created
    finally:
        for name in created:
            _remove_namespace(name)


def sweep() -> None:
    """Remove what ended processes of this user have left behind."""
    sweep_folders()
    sweep_namespaces()


def sweep_folders(*, own: bool = False) -> None:
    """Remove temporary folders of this user's ended processes, or this process' own; what a link points to stays."""
    mine = owned_name()
    for parent in {tempfile.gettempdir(), _SHORT}:
        _sweep_in(parent, (lambda name: name.startswith(mine)) if own else is_left)


def sweep_namespaces() -> None:
    """Remove network namespaces of ended processes; only root has any."""
    if os.geteuid() == 0:
        for name in _names(NAMESPACES):
            if is_left(name):
                _remove_namespace(name)


def _sweep_in(parent: str | Path, goes: Callable[[str], bool]) -> None:
    for name in _names(parent):
        if goes(name):
            path = Path(parent, name)
            with contextlib.suppress(OSError):
                status = path.lstat()
                if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid():
                    shutil.rmtree(path, ignore_errors=True)


def _once(look: Callable[[], None]) -> None:
    if look not in _swept:
        _swept.add(look)
        look()


def _names(folder: str | Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries]
    except OSError:
        return []


def _remove_namespace(name: str) -> None:
    with contextlib.suppress(OfframpError):
        ip("netns", "del", name)
