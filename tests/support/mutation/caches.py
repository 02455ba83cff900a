# SPDX-License-Identifier: Apache-2.0
"""A cache folder of a mutant's own: what mutated code keeps nobody else may read, nor it what sound code has kept.

Machine code and builds go by their contents and are shared. What Python has made of its inputs goes by its sources as
they were when they were imported, so a mutant would find the result of the original, or leave its own under that name.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from offramp_base.private_folder import user_cache

_MADE_BY_PYTHON: Final = {".ir", ".module", ".templates", ".plan", ".txt"}
_TRANSLATORS: Final = ("switch/", "base/offramp_base/native/")
"""Where code lies that makes what P4 programs are translated to; mutants elsewhere may find that."""
_ELSEWHERE: Final = ("pynq-", "hls")
"""Environments of tools, many files that nobody changes."""
_COPY: Final = "OFFRAMP_MUTANTS_CACHE"


@contextmanager
def own_cache() -> Iterator[None]:
    """Processes that begin meanwhile keep what they make in a folder of their own, where all builds are already."""
    shared, before = user_cache() / "offramp", os.environ.get("XDG_CACHE_HOME")
    folder = Path(f"mutant.cache.{os.getpid()}").resolve()  # in the copy of the tree, which goes with all in it
    folder.mkdir(mode=0o700)
    os.environ[_COPY] = str(shared)
    try:
        for path in shared.glob("*"):
            if path.name.startswith(_ELSEWHERE):
                (folder / "offramp").mkdir(exist_ok=True, mode=0o700)
                (folder / "offramp" / path.name).symlink_to(path)
            else:
                shutil.copytree(path, folder / "offramp" / path.name, symlinks=True, copy_function=_link)
        os.environ["XDG_CACHE_HOME"] = str(folder)
        yield
    finally:
        os.environ.pop("XDG_CACHE_HOME", None)
        if before is not None:
            os.environ["XDG_CACHE_HOME"] = before
        shutil.rmtree(folder, ignore_errors=True)


def renew(module: str) -> None:
    """Before a mutant of a module: what those before it have kept goes; what it may find comes back."""
    own, shared = user_cache() / "offramp", Path(os.environ[_COPY])
    for path in own.glob("*/*"):
        if path.suffix in _MADE_BY_PYTHON:
            path.unlink(missing_ok=True)
    if not module.startswith(_TRANSLATORS):
        for path in shared.glob("*/*"):
            if path.suffix in _MADE_BY_PYTHON - {".plan"} and not (own / path.relative_to(shared)).exists():
                (own / path.parent.name).mkdir(exist_ok=True, mode=0o700)
                _link(path, own / path.relative_to(shared))


def _link(source: str | Path, target: str | Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)
