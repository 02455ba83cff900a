# SPDX-License-Identifier: Apache-2.0
"""Folders and files that only this user can have written, for programs that are kept to be run again."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from tempfile import gettempdir
from typing import Final

from offramp_base.errors import OfframpError

ROOTS_FOLDERS: Final = "OFFRAMP_ROOTS_FOLDERS"
"""Variable of processes in a user namespace: folders above the caches that belong to root outside."""
_UID_MAP: Final = Path("/proc/self/uid_map")
_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH


class NoHomeFolder(OfframpError):
    """This user has no home folder, and no variable names a folder instead."""


def user_folder(variable: str, usual: str) -> Path:
    """A folder of the user's (XDG Base Directory Specification).

    Args:
        variable: environment variable that names it, such as ``XDG_CACHE_HOME``.
        usual: where it is in the home folder without the variable.

    Raises:
        NoHomeFolder: there is no home folder, as in a container whose user number nobody has.
    """
    base = os.environ.get(variable, "")
    if base and Path(base).is_absolute():
        return Path(base)
    try:
        return Path.home() / usual
    except RuntimeError:
        raise NoHomeFolder(f"user {os.geteuid()} has no home folder: set {variable} to a folder of yours") from None


def user_cache() -> Path:
    """The user's cache folder; one of the user's own among temporary files where the home folder takes none.

    Raises:
        NoHomeFolder: the latter is somebody else's, or cannot be made.
    """
    try:
        folder = user_folder("XDG_CACHE_HOME", ".cache")
    except NoHomeFolder:
        return _temporary_cache()
    if "XDG_CACHE_HOME" in os.environ or _takes_files(folder):
        return folder
    return _temporary_cache()


def _temporary_cache() -> Path:
    """A folder whose name anybody can guess and whose files are executed: nobody else may have made it."""
    folder = Path(gettempdir()) / f"offramp-cache-{os.geteuid()}"
    try:
        make_private(folder)
    except (OSError, OfframpError) as error:
        raise NoHomeFolder(f"no folder for what is kept ({error}): set XDG_CACHE_HOME to a folder of yours") from None
    return folder


def _takes_files(folder: Path) -> bool:
    """Whether the folder, or the nearest above it that is there, can be written."""
    there = next((each for each in (folder, *folder.parents) if each.exists()), folder)
    return os.access(there, os.W_OK | os.X_OK)


def check_owned(path: Path, *, folder: bool) -> None:
    """Check that a folder or file is writable by this user alone, and is not a link.

    Raises:
        OfframpError: another user owns it; the message names that user.
        OSError: it is not there, or cannot be looked at.
    """
    status = path.lstat()
    right = stat.S_ISDIR if folder else stat.S_ISREG
    if not right(status.st_mode):
        raise OfframpError(f"{path}: refused: expected a {'folder' if folder else 'file'}, not a link or a device")
    if status.st_uid != os.geteuid():
        raise OfframpError(f"{path}: refused: it belongs to user {status.st_uid}, not to {os.geteuid()}")
    if status.st_mode & _OTHERS:
        raise OfframpError(f"{path}: refused: other users may write it (mode {stat.S_IMODE(status.st_mode):04o})")


def check_way(path: Path) -> None:
    """Check that nobody else can replace ``path``: its parents belong to this user or root.

    A parent that others may write must be sticky, as ``/tmp`` is.

    Raises:
        OfframpError: somebody can.
        OSError: a parent cannot be looked at.
    """
    for parent in path.absolute().parents:
        status = parent.stat()
        if status.st_uid not in (0, os.geteuid()) and not _was_roots(parent, status.st_uid):
            raise OfframpError(f"{path}: refused: {parent} belongs to user {status.st_uid}")
        if status.st_mode & _OTHERS and not status.st_mode & stat.S_ISVTX:
            raise OfframpError(f"{path}: refused: other users may write {parent}")


def _was_roots(folder: Path, owner: int) -> bool:
    """Whether this is a user namespace, to which the folder's owner has no number, and it was root's outside."""
    if str(folder) not in os.environ.get(ROOTS_FOLDERS, "").split(os.pathsep):
        return False
    nobody = int(Path("/proc/sys/kernel/overflowuid").read_text())
    return owner == nobody and _UID_MAP.read_text().split() != ["0", "0", str(2**32 - 1)]


def remember_roots_folders() -> None:
    """Before a user namespace is entered, where root is nobody: which folders above the caches are root's.

    Processes that this one starts are told by a variable, and believe it in a user namespace alone.
    """
    try:
        ends = [user_cache(), Path(gettempdir(), "any")]
    except NoHomeFolder:
        return
    folders = {parent for end in ends for parent in end.absolute().parents if parent.exists()}
    known = sorted(str(folder) for folder in folders if folder.stat().st_uid == 0)
    if known and os.pathsep not in "".join(known):
        os.environ[ROOTS_FOLDERS] = os.pathsep.join(known)


def make_private(folder: Path) -> None:
    """Make ``folder`` with mode 0700 unless it is there, and check that it is this user's alone.

    Raises:
        OfframpError: it is somebody else's, or somebody else can replace it.
        OSError: it cannot be made.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    check_owned(folder, folder=True)
    check_way(folder)
    if stat.S_IMODE(folder.stat().st_mode) & 0o077:
        folder.chmod(0o700)  # others may read it: it was made under another umask


def make_cache(folder: Path) -> None:
    """Make a private folder in the user's cache that a command needs, like :func:`make_private`.

    Raises:
        OfframpError: it cannot be made, or is not this user's alone.
    """
    try:
        make_private(folder)
    except OSError as error:
        place = f"{error.filename or folder}: {error.strerror or error}"
        raise OfframpError(f"{place}: set XDG_CACHE_HOME to a folder of yours, where builds are kept") from None


def read_owned(path: Path) -> bytes:
    """The contents of a file that is this user's alone to write.

    Raises:
        OfframpError: it is not.
        OSError: it cannot be read.
    """
    check_owned(path, folder=False)
    # What is opened is looked at again: another file may have come into its place.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
        opened = os.fstat(file.fileno())
        if opened.st_uid != os.geteuid() or opened.st_mode & _OTHERS or not stat.S_ISREG(opened.st_mode):
            raise OfframpError(f"{path}: refused: it is not this user's alone")
        return file.read()
