# SPDX-License-Identifier: Apache-2.0
"""The backend's C++, compiled once for each PyTorch version and kept in the user's cache.

One file is compiled with one call of the compiler, for which ``torch.utils.cpp_extension`` would require ninja and
setuptools.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import logging
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any, Final

import torch

from offramp_base.ending.left import temporary_folder
from offramp_base.errors import OfframpError
from offramp_base.private_folder import check_owned, make_cache, user_cache

NAME: Final = "offramp_c10d"
LIMIT_S: Final = 900
"""Seconds that the compiler may take; on a busy machine it needs minutes."""
_SOURCES: Final = Path(__file__).parent / "native"
_LIBRARIES: Final = ("c10", "torch_cpu", "torch", "torch_python")
_log = logging.getLogger("offramp.torch")


def load() -> Any:
    """The extension, compiled now unless it is in the cache.

    Raises:
        OfframpError: compiler or headers are missing, the compiler fails, or the cache is writable by others.
    """
    if NAME in sys.modules:
        return sys.modules[NAME]
    try:
        path = _built()
        check_owned(path, folder=False)
        spec = importlib.util.spec_from_file_location(NAME, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    except (OSError, ImportError) as error:
        raise OfframpError(f"the backend's extension: {error}") from None
    sys.modules[NAME] = module
    return module


def _command(source: Path, out: Path) -> list[str]:
    root = Path(torch.__file__).resolve().parent
    includes = [root / "include", root / "include/torch/csrc/api/include", Path(sysconfig.get_path("include"))]
    abi = int(torch.compiled_with_cxx11_abi())
    return [
        os.environ.get("CXX", "g++"),
        *("-std=c++20", "-O1", "-fPIC", "-shared", "-w", f"-D_GLIBCXX_USE_CXX11_ABI={abi}"),
        f"-DTORCH_EXTENSION_NAME={NAME}",
        *(word for folder in includes for word in ("-isystem", str(folder))),
        str(source),
        *("-o", str(out), f"-L{root / 'lib'}"),
        *(f"-l{library}" for library in _LIBRARIES),
    ]


def _built() -> Path:
    sources = sorted(_SOURCES.iterdir())
    command = _command(Path("source"), Path("out"))
    known = [torch.__version__, sys.version, *command, *(each.read_text(encoding="utf-8") for each in sources)]
    folder = user_cache() / "offramp" / "torch" / hashlib.sha256("\0".join(known).encode()).hexdigest()[:32]
    path = folder / f"{NAME}.so"
    make_cache(folder)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # ranks of this machine start together
        if not path.exists():
            with temporary_folder(folder) as aside:
                _compile(Path(aside))
                (Path(aside) / path.name).replace(path)
    return path


def _compile(into: Path) -> None:
    """Compile into a folder, which has the compiler's own files meanwhile: what it leaves goes with the folder."""
    command = _command(_SOURCES / "backend.cpp", into / f"{NAME}.so")
    if shutil.which(command[0]) is None:
        raise OfframpError(f"the backend's extension: no compiler {command[0]}")
    _log.warning("compiling the backend offramp for PyTorch %s: once, about a minute", torch.__version__)
    try:
        environment = os.environ | {"TMPDIR": str(into)}
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=LIMIT_S, env=environment)
    except subprocess.TimeoutExpired:
        raise OfframpError(f"the backend's extension: not compiled after {LIMIT_S} s") from None
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()[-1:]
        raise OfframpError(f"the backend's extension: {errors[0].strip() if errors else 'the compiler failed'}")
