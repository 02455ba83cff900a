# SPDX-License-Identifier: Apache-2.0
"""The commands as reference pages, from their declared settings: Markdown for the site, roff for ``man``."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from itertools import groupby

from offramp_base import __version__
from offramp_base.settings import Declared
from offramp_base.settings.field import REQUIRED
from offramp_cli.command import Command, help_of, imported
from offramp_cli.tree import OFFRAMP, CommandGroup


def commands(
    group: CommandGroup | str = OFFRAMP, words: tuple[str, ...] = ("offramp",)
) -> Iterator[tuple[str, Command]]:
    """Every command with its words, depth first."""
    if isinstance(group, str):
        yield " ".join(words), imported(group)
        return
    if group.itself:
        yield " ".join(words), imported(group.itself)
    for name, member in group.members.items():
        yield from commands(member, (*words, name))


def _flag(each: Declared) -> str:
    if each.field.position:
        return each.key.upper()
    flag = "--" + each.key.replace("_", "-")
    return f"{each.field.short}, {flag}" if each.field.short else flag


def _default(each: Declared) -> str:
    if each.default is REQUIRED:
        return "required"
    if each.default is None or each.default == ():
        return ""
    return each.field.unit.shown(each.default) if each.field.unit else str(each.default)


def _groups(command: Command) -> Iterator[tuple[str, list[Declared]]]:
    shown = [each for each in command.fields.values() if not each.field.hidden]
    for group, fields in groupby(shown, lambda each: each.group or "Options"):
        yield group, list(fields)


def markdown() -> str:
    """All commands as one page."""
    parts = ["# Commands\n\nMade from the declared settings; `--help` shows the same.\n"]
    for words, command in commands():
        parts.append(f"## {words}\n\n{inspect.getdoc(command)}\n\n`{command.epilog}`\n")
        for group, fields in _groups(command):
            parts.append(f"**{group}**\n\n| Option | Default | |\n|---|---|---|")
            cells = [(f"`{_flag(each)}`", _default(each), help_of(each)) for each in fields]
            parts += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in cells]
            parts.append("")
    return "\n".join(parts)


def manual() -> dict[str, str]:
    """A manual page of section 1 for each command, by its file's name."""
    pages = {}
    for words, command in commands():
        name = words.replace(" ", "-")
        text = inspect.getdoc(command) or ""
        lines = [f'.TH "{name.upper()}" 1 "" "offramp {__version__}"', ".SH NAME", f"{name} \\- {text.splitlines()[0]}"]
        lines += [".SH SYNOPSIS", f".B {words}", "[OPTION]...", ".SH DESCRIPTION", _escaped(text)]
        for group, fields in _groups(command):
            lines.append(f".SH {group.upper()}")
            for each in fields:
                default = _default(each)
                lines += [".TP", f".B {_escaped(_flag(each))}", _escaped(help_of(each))]
                lines += [_escaped(f"Default: {default}")] if default else []
        lines += [".SH EXAMPLE", _escaped(command.epilog.removeprefix("Example: "))]
        pages[f"{name}.1"] = "\n".join(lines) + "\n"
    return pages


def _escaped(text: str) -> str:
    """Text escaped for roff, so that no line begins with a request."""
    return "\n".join(
        f"\\&{line}" if line.startswith((".", "'")) else line
        for line in text.replace("\\", "\\e").replace("-", "\\-").splitlines()
    )
