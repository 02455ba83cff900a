# SPDX-License-Identifier: Apache-2.0
"""Options that are rarely needed: ``--help-all`` shows them, ``--help`` does not, and they work all the same."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from offramp_base.settings.field import Declared
from offramp_cli.app import app
from offramp_cli.reference import commands

RARE = [
    (words, fields)
    for words, command in commands()
    if (fields := [each for each in command.fields.values() if each.field.rare])
]
WIDE = {"COLUMNS": "200"}


def _help(words: str, flag: str, **environment: str) -> str:
    result = CliRunner().invoke(app, [*words.split()[1:], flag], env=environment or WIDE)
    assert result.exit_code == 0, result.output
    return str(result.output)


@pytest.mark.parametrize(("words", "fields"), RARE, ids=[words for words, _ in RARE])
def test_rare_options_are_behind_help_all(words: str, fields: list[Declared]) -> None:
    usual, everything = _help(words, "--help"), _help(words, "--help-all")
    for each in fields:
        flag = f"--{each.key.replace('_', '-')} "
        assert flag not in usual
        assert flag in everything
    assert f"the {len(fields)} options that are rarely needed" in usual
    assert _help(words, "--help") == usual  # and asking for all changes nothing for the next who asks


def test_the_switch_fits_two_screens() -> None:
    """Eighty columns: what most want, by heading."""
    lines = _help("offramp switch run", "--help", COLUMNS="80").splitlines()
    assert len(lines) <= 80
    assert max(map(len, lines)) <= 80


def test_commands_without_rare_options_have_no_second_help() -> None:
    result = CliRunner().invoke(app, ["token", "--help-all"])
    assert result.exit_code == 2
