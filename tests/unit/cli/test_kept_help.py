# SPDX-License-Identifier: Apache-2.0
"""The page of ``offramp --help`` is kept for the same command, width and colours; values need no pydantic."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

import pytest

from offramp_cli import kept_help
from offramp_cli.kept_help import help_kept


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    tmp_path.chmod(0o700)


@pytest.mark.usefixtures("own_cache")
def test_a_page_is_kept_for_its_command_and_its_looks(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def page(*words: str) -> bool:
        with contextlib.suppress(SystemExit), help_kept(["offramp", *words]) as kept:
            if not kept:
                sys.stdout.write("a page\n")
            raise SystemExit(0)
        assert capsys.readouterr().out == "a page\n"
        return kept

    assert not page("--help")
    assert page("--help")
    assert page("-h")
    assert not page("switch", "--help")
    assert not page("switch", "--help")
    monkeypatch.setenv("COLUMNS", "60")
    assert not page("--help")
    assert page("--help")
    monkeypatch.setattr(kept_help, "_SOURCES", ("tree.py",))
    assert not page("--help")


@pytest.mark.usefixtures("own_cache")
def test_what_fails_is_not_kept(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        with contextlib.suppress(SystemExit), help_kept(["offramp", "--help"]) as kept:
            assert not kept
            raise SystemExit(2)
    assert capsys.readouterr().out == ""


def test_commands_run_without_pydantic(tmp_path: Path) -> None:
    """The sources are those of this test, whatever is installed: imports of a command are no matter of time."""
    code = (
        "import sys; from offramp_cli.app import app; from offramp_base import OfframpError\n"
        f"try: app(['switch', 'lint', {str(tmp_path / 'none.p4')!r}], standalone_mode=False)\n"
        "except OfframpError as error: print(error)\n"
        "print('pydantic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "cannot read the program" in done.stdout
    assert done.stdout.endswith("False\n")
