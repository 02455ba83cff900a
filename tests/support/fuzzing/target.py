# SPDX-License-Identifier: Apache-2.0
"""Targets: modules ``target_*.py``, each of which makes one case from a random number generator."""

from __future__ import annotations

import importlib.util
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).parents[2] / "fuzz"


@dataclass(frozen=True)
class Target:
    """Declarations of a module ``target_*.py``.

    Attributes:
        name: name of the module, without ``target_``.
        title: ``NAME``, what is fuzzed.
        path: path of the module.
        run: ``run(rng)`` makes one case and raises on a finding.
        prepare: ``prepare()``, optional, runs once in the process before the memory limit counts.
        allowed: ``ALLOWED``, exceptions that are an answer, beside OfframpError.
        limit_s: ``LIMIT_S``, seconds of processor time that a case may take; it may sleep six times as long.
        memory_mib: ``MEMORY_MIB``, address space that a case may take beyond what the process has after ``prepare``.
        lines: ``LINES``, of the longest message of an OfframpError.
    """

    name: str
    title: str
    path: Path
    run: Callable[[random.Random], None]
    prepare: Callable[[], None]
    allowed: tuple[type[BaseException], ...]
    limit_s: float
    memory_mib: int
    lines: int


def load(path: Path) -> Target:
    """The target in a module."""
    module = _module(path)
    return Target(
        name=target_name(path),
        title=module.NAME,
        path=path,
        run=module.run,
        prepare=getattr(module, "prepare", lambda: None),
        allowed=getattr(module, "ALLOWED", ()),
        limit_s=getattr(module, "LIMIT_S", 10.0),
        memory_mib=getattr(module, "MEMORY_MIB", 1024),
        lines=getattr(module, "LINES", 1),
    )


def discover(folder: Path = FOLDER) -> dict[str, Path]:
    """Modules of targets by name, without importing them: a broken one fails alone, in its own process."""
    targets = {target_name(path): path for path in sorted(folder.glob("target_*.py"))}
    assert targets, f"no target_*.py in {folder}"
    return targets


def target_name(path: Path) -> str:
    """The name of the target in a module, by which it is chosen and its cases are seeded."""
    return path.stem.removeprefix("target_")


def case_rng(name: str, seed: int, case: int) -> random.Random:
    """The generator of one case; the same on every machine."""
    return random.Random(f"{name}:{seed}:{case}")


def _module(path: Path) -> ModuleType:
    name = f"fuzz_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses of a target look their module up
    spec.loader.exec_module(module)
    return module
