# SPDX-License-Identifier: Apache-2.0
"""The HLS kernels in C simulation: compiled with g++ and called through ctypes."""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import os
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import numpy as np

SOURCES = Path(__file__).parents[2] / "fpga" / "hls"
FLAGS = ["-std=c++17", "-O1", "-fPIC", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas"]
# What the vendor's own headers do, seen through inlining.
FLAGS += ["-Wno-uninitialized", "-Wno-maybe-uninitialized"]


def headers() -> Path:
    """Vitis's arbitrary precision types, as hls4ml carries them; its package is not imported."""
    package = importlib.util.find_spec("hls4ml")
    if package is None or not package.submodule_search_locations:
        pytest.skip("hls4ml is not installed: its ap_types headers are missing")
    return Path(package.submodule_search_locations[0]) / "templates" / "vivado" / "ap_types"


@cache
def kernels() -> ctypes.CDLL:
    """All kernels; compiled once for each state of the sources, in 10 to 20 s."""
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("g++ is not installed")
    files = sorted(SOURCES.rglob("*.[ch]pp"))
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files) + " ".join(FLAGS).encode()).hexdigest()[:16]
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "offramp" / "hls"
    library = folder / f"{digest}.so"
    if not library.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as build:
            _compile(compiler, [file for file in files if file.suffix == ".cpp"], Path(build))
            (Path(build) / "kernels.so").replace(library)
    return ctypes.CDLL(str(library))


def _compile(compiler: str, sources: list[Path], into: Path) -> None:
    def one(source: Path) -> str:
        target = str(into / f"{source.stem}.o")
        command = [compiler, *FLAGS, f"-I{SOURCES}", "-isystem", str(headers()), "-c", str(source), "-o", target]
        subprocess.run(command, check=True)
        return target

    with ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(one, sources))
    subprocess.run([compiler, "-shared", "-o", str(into / "kernels.so"), *objects], check=True)


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    """A pointer to a contiguous array, which must stay alive while the pointer is used."""
    assert array.flags.c_contiguous
    return ctypes.c_void_p(array.ctypes.data)
