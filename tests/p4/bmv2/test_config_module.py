# SPDX-License-Identifier: Apache-2.0
"""The module ``p4.tmp.p4config_pb2`` that the tutorials' controllers import, beside P4Runtime's own package ``p4``.

Blind spot: protobuf of the installed version only.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from offramp_base.errors import OfframpError
from offramp_cli.app import app
from offramp_p4.runtime.device_config import device_config
from offramp_p4_tools.dropin.config_module import write_config_module

pytestmark = pytest.mark.p4
CONTROLLER = """
import sys
import p4.v1
from p4.tmp import p4config_pb2

config = p4config_pb2.P4DeviceConfig()
config.reassign = True
config.device_data = b'{"program": 1}'
config.extras.kv["a"] = "b"
assert p4config_pb2.P4DeviceConfig.FromString(config.SerializeToString()) == config
sys.stdout.buffer.write(config.SerializeToString())
"""


@pytest.mark.parametrize("regular", [True, False], ids=["a package", "a namespace"])
def test_a_controller_wraps_a_program_that_the_switch_reads(tmp_path: Path, regular: bool) -> None:
    other = tmp_path / "site" / "p4" / "v1"
    other.mkdir(parents=True)
    for folder in (other, other.parent) if regular else ():
        (folder / "__init__.py").write_text("")
    done = CliRunner().invoke(app, ["switch", "shims", str(tmp_path / "bin"), "--python", str(tmp_path / "ours")])
    assert done.exit_code == 0, done.output
    assert "p4config_pb2.py" in done.output.replace("\n", "")
    search = os.pathsep.join([str(tmp_path / "ours"), str(tmp_path / "site"), *sys.path[1:]])
    wrapped = subprocess.run(
        [sys.executable, "-c", CONTROLLER], env={**os.environ, "PYTHONPATH": search}, cwd=tmp_path, check=True,
        capture_output=True,
    )  # fmt: skip
    pushed = SimpleNamespace(p4_device_config=wrapped.stdout, p4info=SimpleNamespace(SerializeToString=lambda: b""))
    assert device_config(pushed).text == '{"program": 1}'


def test_modules_of_others_are_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "p4").mkdir()
    (tmp_path / "p4" / "__init__.py").write_text("theirs = 1\n")
    with pytest.raises(OfframpError, match="is there, and not one of ours"):
        write_config_module(tmp_path)
    assert [p.name for p in tmp_path.rglob("*.py")] == ["__init__.py"]
    (tmp_path / "p4" / "__init__.py").unlink()
    assert write_config_module(tmp_path) == write_config_module(tmp_path)
