# SPDX-License-Identifier: Apache-2.0
"""The ``offramp`` command: the tree as typer's groups."""

from __future__ import annotations

import sys
from typing import Any, Final

import typer
from typer.core import TyperGroup

from offramp_base import OfframpError
from offramp_base.errors import printable
from offramp_cli.command import CONTEXT, Late, LateCommand, Version, imported
from offramp_cli.tree import OFFRAMP, CommandGroup

_UsageError: Final[Any] = typer.BadParameter.__mro__[1]
"""click's usage error, wherever this version of typer has it."""


class LateGroup(Late, TyperGroup):
    """A group whose commands are imported when they are asked for."""

    def __init__(self, group: CommandGroup, name: str) -> None:
        self.group = group
        self.declaration = imported(group.itself) if group.itself else None
        super().__init__(
            name=name,
            help=group.help or self.declaration.__doc__,
            epilog=self.declaration and self.declaration.epilog,
            no_args_is_help=self.declaration is None,
            invoke_without_command=self.declaration is not None,
            context_settings=CONTEXT,
        )

    @property
    def commands(self) -> Any:
        """All commands, imported."""
        return {name: self.get_command(None, name) for name in self.group.members}

    @commands.setter
    def commands(self, _: Any) -> None:
        """Ignore an assignment: the tree has the commands."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 (of click)
        """Names of the commands and groups, without importing any."""
        return list(self.group.members)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """The command or group of a name, which may be an older one."""
        name = self.group.aliases.get(cmd_name, cmd_name)
        member = self.group.members.get(name)
        if isinstance(member, CommandGroup):
            return LateGroup(member, name)
        return member and LateCommand(imported(member), name)

    def invoke(self, ctx: Any) -> Any:
        """Run the named command, or the group itself.

        Raises:
            OfframpError: options of the group itself stand before a command's name, which would not see them.
        """
        if self.declaration is None or not ctx._protected_args:
            return super().invoke(ctx)
        name = ctx._protected_args[0]
        for option in self.params:
            source = ctx.get_parameter_source(option.name or "")
            if source is not None and source.name == "COMMANDLINE":
                raise OfframpError(f"{option.opts[0]}: options go after the system's name: {self.name} {name} …")
        self.declaration = self.callback = None
        return super().invoke(ctx)


class Root(LateGroup):
    """The whole tree; typer adds the options of shell completion."""

    def __init__(self, **attributes: Any) -> None:
        self.group = OFFRAMP
        TyperGroup.__init__(self, **attributes)

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run the words of a command line; errors in them are one line, in place of typer's frame."""
        if not extra.get("standalone_mode", True):
            return super().main(*args, **extra)
        try:
            code = super().main(*args, **(extra | {"standalone_mode": False}))
        except _UsageError as error:
            if type(error).__name__ == "NoArgsIsHelpError":
                error.show()
            else:
                words = error.ctx.command_path if error.ctx else self.name
                sys.stderr.write(f"{words}: {printable(' '.join(error.format_message().split()))}\n")
            sys.exit(error.exit_code)
        except typer.Abort:
            sys.stderr.write("aborted\n")
            sys.exit(1)
        sys.exit(code if isinstance(code, int) else 0)


app = typer.Typer(
    name="offramp",
    cls=Root,
    help=OFFRAMP.help,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings=CONTEXT,
)


@app.callback()
def _options(version: Version = False) -> None: ...
