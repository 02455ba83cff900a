# SPDX-License-Identifier: Apache-2.0
"""``python -m offramp_cli.prepare``: compile what would be compiled when it is first needed.

An installation ends with it, so that no first run has to wait. What cannot be compiled here is said, and is no failure:
whoever needs it later reads the same line.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from offramp_base import OfframpError


def _worker() -> Any:
    from offramp.switchgnn.worker_library import library

    return library()


def _backend() -> Any:
    from offramp.torch.build import load

    return load()


def _card() -> Any:
    from offramp_cli.demo.rtl import look_up

    return look_up(1, 0)


PARTS: dict[str, Callable[[], Any]] = {
    "SwitchGNN's worker": _worker,
    "the backend of torch.distributed": _backend,
    "the FPGA's RTL in simulation": _card,
}
"""What is compiled, and the function that compiles and loads it."""


def main() -> None:
    """Compile all parts."""
    for name, compile_part in PARTS.items():
        try:
            compile_part()
        except (ImportError, OfframpError) as error:
            sys.stderr.write(f"{name} is not compiled yet: {error}\n")


if __name__ == "__main__":
    main()
