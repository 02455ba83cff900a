# SPDX-License-Identifier: Apache-2.0
"""``offramp token``."""

from __future__ import annotations

import stat
from pathlib import Path

from typer.testing import CliRunner

from offramp_base.listening import Token
from offramp_cli.app import app


def test_a_token_file_is_new_private_and_different_each_time(tmp_path: Path) -> None:
    for name in ("a", "b"):
        result = CliRunner().invoke(app, ["token", str(tmp_path / name)])
        assert result.exit_code == 0
        assert "OFFRAMP_TOKEN_FILE" in result.output
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    assert Token.read(tmp_path / "a").proof("x") != Token.read(tmp_path / "b").proof("x")
    assert CliRunner().invoke(app, ["token", str(tmp_path / "a")]).exit_code != 0
