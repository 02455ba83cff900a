# SPDX-License-Identifier: Apache-2.0
"""The soak's compiled part: ``soak.cpp`` with the smartNIC agent's worker, built once for each version of them."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from offramp.cmake import cpp_sources
from offramp_base.errors import OfframpError

_COMMAND = ("g++", "-std=c++20", "-O2", "-fPIC", "-shared")
_I64, _I32, _DOUBLE, _POINTER = ctypes.c_int64, ctypes.c_int32, ctypes.c_double, ctypes.c_void_p


class SoakSwitch(ctypes.Structure):
    """Like ``SoakSwitch`` in ``soak.cpp``; pointers are addresses of arrays that Python keeps."""

    _fields_ = (
        ("words", _POINTER),
        ("run", _POINTER),
        ("registers", _POINTER),
        ("register_count", _I64),
        ("open", _POINTER),
        ("open_bytes", _I64),
        ("wires", _POINTER),
        ("wire_count", _I64),
    )


class SoakWorker(ctypes.Structure):
    """Like ``SoakWorker``."""

    _fields_ = (("plans", _POINTER), ("plans_size", _I64), ("rows", _POINTER), ("leaf", _I32), ("port", _I32))


class SoakJobData(ctypes.Structure):
    """Like ``SoakJob``."""

    _fields_ = (
        ("switches", _POINTER),
        ("switch_count", _I64),
        ("workers", _POINTER),
        ("worker_count", _I64),
        ("vertices", _I64),
        ("edges", _POINTER),
        ("edge_count", _I64),
        ("widths", _POINTER),
        ("out_words", _I64),
        ("index_words", _I64),
        ("loss", _DOUBLE),
        ("duplication", _DOUBLE),
        ("delay", _DOUBLE),
        ("inner_loss", _DOUBLE),
        ("acks", _I32),
        ("restarts", _I32),
    )


class SoakResult(ctypes.Structure):
    """Like ``SoakResult``."""

    _fields_ = (("verdict", _I64), ("frames", _I64), ("ticks", _I64), ("rounds", _I64), ("why", ctypes.c_char * 240))


def load_library(breaks: Mapping[str, tuple[str, str]] | None = None) -> ctypes.CDLL:
    """The library.

    Args:
        breaks: for each file of the worker a text in it and what replaces it: to see that a run finds such a fault.

    Raises:
        OfframpError: there is no compiler, the sources do not compile, or a text to replace is not there once.
    """
    if shutil.which(_COMMAND[0]) is None:
        raise OfframpError("the soak needs g++")
    lib = cpp_sources() / "lib"
    sources = [Path(__file__).with_name("soak.cpp"), *sorted((lib / "switchgnn").glob("*.cpp"))]
    headers = sorted(path for folder in ("", "formats", "switchgnn") for path in (lib / folder).glob("*.hpp"))
    texts = {path: path.read_text("utf-8") for path in (*sources, *headers)}
    for name, (old, new) in (breaks or {}).items():
        path = lib / "switchgnn" / name
        if texts[path].count(old) != 1:
            raise OfframpError(f"{name}: expected {old!r} once, found it {texts[path].count(old)} times")
        texts[path] = texts[path].replace(old, new)
    digest = hashlib.sha256(repr([_COMMAND, [*texts.values()]]).encode()).hexdigest()[:16]
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "offramp" / "soak"
    library = folder / f"{digest}.so"
    if not library.exists():
        _build(library, {path.name: texts[path] for path in sources}, {p: texts[p] for p in headers}, lib)
    loaded = ctypes.CDLL(str(library))
    loaded.soak.argtypes = [ctypes.POINTER(SoakJobData), _I64, _I64, ctypes.POINTER(SoakResult)]
    loaded.soak.restype = None
    return loaded


def _build(library: Path, sources: Mapping[str, str], headers: Mapping[Path, str], lib: Path) -> None:
    library.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=library.parent) as temporary:
        folder = Path(temporary)
        for path, text in headers.items():
            target = folder / path.relative_to(lib)
            target.parent.mkdir(exist_ok=True)
            target.write_text(text, "utf-8")
        for name, text in sources.items():
            (folder / name).write_text(text, "utf-8")
        shared_object = folder / "soak.so"
        _run([*_COMMAND, "-I", ".", *sources, "-o", shared_object.name], folder)
        shared_object.replace(library)


def _run(command: Sequence[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    if done.returncode:
        raise OfframpError(f"the soak does not compile: {done.stderr.strip().splitlines()[0]}")
