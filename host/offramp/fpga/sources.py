# SPDX-License-Identifier: Apache-2.0
"""SystemVerilog sources: a module or package in a file of its name in ``rtl/<engine>/``; macros in ``rtl/include``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from offramp_base.errors import OfframpError

_PACKAGE = Path(__file__).resolve().parent.parent
_NOISE = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_PACKAGES = "_pkg"  # what names of packages end with
_INCLUDE = re.compile(r'`include "(\w+\.svh)"')
_WORD = re.compile(r"[A-Za-z_]\w*")


def fpga_root() -> Path:
    """The folder ``fpga``: inside the installed package, or at the top of a checkout.

    Raises:
        OfframpError: the installation lacks it.
    """
    for folder in (_PACKAGE / "fpgasrc", _PACKAGE.parent.parent / "fpga"):
        if (folder / "rtl").is_dir():
            return folder
    raise OfframpError("FPGA sources: not in this installation; expected the folder offramp/fpgasrc")


def modules() -> dict[str, Path]:
    """Every module's file, by name."""
    return {name: path for name, path in _sources().items() if not name.endswith(_PACKAGES)}


def packages() -> dict[str, Path]:
    """Every package's file, by name."""
    return {name: path for name, path in _sources().items() if name.endswith(_PACKAGES)}


def headers() -> dict[str, Path]:
    """Every header of macros, by name."""
    return {path.stem: path for path in sorted((fpga_root() / "rtl" / "include").glob("*.svh"))}


def include_option() -> str:
    """What tells Icarus, Verilator and yosys where the headers are."""
    return f"-I{fpga_root() / 'rtl' / 'include'}"


def _sources() -> dict[str, Path]:
    return {path.stem: path for path in sorted((fpga_root() / "rtl").glob("*/*.sv"))}


def register_maps() -> dict[str, Path]:
    """Every SystemRDL file, by the module that comes from it (``reduce_regs`` from ``reduce_regs.rdl``)."""
    return {path.stem: path for path in sorted((fpga_root() / "regs").glob("*_regs.rdl"))}


def closure(top: str, extra: Iterable[Path] = ()) -> tuple[list[Path], list[str]]:
    """All sources of ``top``: files, behind those they include, instantiate or take constants from; register blocks.

    Args:
        top: a module.
        extra: files beside those under ``fpga/rtl``, a module each: boards' tops, wrappers of tests.

    Raises:
        OfframpError: there is no such module.
    """
    known, generated = modules() | {path.stem: path for path in extra}, register_maps()
    if top not in known:
        raise OfframpError(f"FPGA module {top}: expected one of {', '.join(known)}")
    known |= packages() | {path.name: path for path in headers().values()}
    files: dict[str, Path] = {}
    blocks: set[str] = set()

    def visit(name: str) -> None:
        text = _NOISE.sub("", known[name].read_text(encoding="utf-8"))
        words = {*_WORD.findall(text), *_INCLUDE.findall(text)}
        blocks.update(words & generated.keys())
        for other in sorted(words & known.keys() - {name} - files.keys()):
            visit(other)
        files[name] = known[name]

    visit(top)
    return list(files.values()), sorted(blocks)
