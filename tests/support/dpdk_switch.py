# SPDX-License-Identifier: Apache-2.0
"""Switches with ports of DPDK's, each a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

import pytest

from offramp_base.errors import OfframpError
from offramp_p4.ports.dpdk.sources import library, missing
from offramp_p4.settings import Settings

_DRIVERS = Path("/usr/lib")


def require(*drivers: str) -> None:
    """Skip the test, naming what is missing, where DPDK is not installed or lacks a driver."""
    lacking = missing()
    lacking += [f"librte-net-{name.replace('_', '-')}23" for name in drivers if not _driver(name)]
    if lacking:
        pytest.skip(f"ports of DPDK's need {', '.join(lacking)}")
    try:
        library()
    except OfframpError as error:
        pytest.fail(str(error))


def _driver(name: str) -> bool:
    return any(_DRIVERS.glob(f"*/dpdk/pmds-*/librte_net_{name}.so*"))


class DpdkSwitch:
    """A switch as a process; a context manager that ends it.

    Attributes:
        address: address of its P4Runtime server.
        process: it.
    """

    def __init__(
        self, program: Path, ports: dict[int, str], where: str, launcher: tuple[str, ...] = (), **settings: Any
    ) -> None:
        self._settings = Settings(program=str(program), ports=ports, address=f"unix:{where}", **settings)
        self.address = self._settings.address
        self._launcher = launcher

    def __enter__(self) -> Self:
        command = [*self._launcher, sys.executable, "-m", "offramp_p4.serve", self._settings.to_json()]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        answer = json.loads(self.process.stdout.readline() or '{"error": "it ended"}')
        if "error" in answer:
            self.__exit__()
            raise OfframpError(answer["error"])
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()  # it ends with its parent
        self.process.wait(20)
        assert self.process.stdout is not None
        self.process.stdout.close()
