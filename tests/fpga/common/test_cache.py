# SPDX-License-Identifier: Apache-2.0
"""Builds in the cache serve every Python environment of the machine, also after the one that made them is gone."""

import os
import subprocess

import pytest

from offramp_sim.rtl.build import Design, build, libraries

pytestmark = pytest.mark.rtl


def test_a_build_does_not_remember_its_environment(fast, monkeypatch, tmp_path):
    monkeypatch.setenv("OFFRAMP_RTL_CACHE", str(tmp_path))
    folder = build(Design("fifo"), fast)
    dynamic = subprocess.run(["readelf", "-d", folder / "fifo"], capture_output=True, text=True, check=True).stdout
    assert "libcocotbvpi_verilator" in dynamic
    assert "path" not in dynamic.lower()
    needed = subprocess.run(
        ["ldd", folder / "fifo"], capture_output=True, text=True, env=os.environ | libraries(), check=True
    )
    assert "not found" not in needed.stdout
