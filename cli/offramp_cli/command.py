# SPDX-License-Identifier: Apache-2.0
"""Commands whose options are the fields of dataclasses (:mod:`offramp_base.settings`).

This module alone knows both those fields and typer. A command names the classes it takes, and gets an object of each::

    @command("offramp.train.settings:TrainSettings", Result, example="train --graph karate")
    def train(settings: TrainSettings, result: Result) -> None:
        "Train a graph neural network."

Classes that take long to import are named by text, and imported when the options are first asked for.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, redirect_stdout
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from offramp_base import OfframpError, SettingsError, __version__
from offramp_base.commit import commit
from offramp_base.extras import forget_fallbacks
from offramp_base.settings import Declared
from offramp_base.settings.check import check_field, from_text, from_texts
from offramp_base.settings.error import shown
from offramp_base.settings.field import REQUIRED, declared
from offramp_cli.coercion import spared
from offramp_cli.result import Result, expect_writable

if TYPE_CHECKING:
    from offramp_base.settings.document import Given

CONTEXT = {"help_option_names": ["-h", "--help"]}
"""Settings of every command's and group's context."""


def _version(wanted: bool) -> None:
    if wanted:
        known = commit()
        typer.echo(f"offramp {__version__}" + (f" ({known})" if known else ""))
        raise typer.Exit


Version = Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")]
_FILE = "settings_file"
_FILE_FLAG = "--settings"
_HELP_ALL = "help_all"
_AS_PUBLISHED = "as_published"


class Command:
    """A command for :meth:`typer.Typer.command`; :class:`LateCommand` spares imports until its options are needed.

    Attributes:
        systems: systems whose published values (:mod:`offramp.published`) the command can take as defaults.
        rewrite: changes the words of the command line before they are parsed.
    """

    def __init__(
        self,
        body: Callable[..., None],
        classes: tuple[type | str, ...],
        example: str,
        systems: tuple[str, ...] = (),
        **context: Any,
    ) -> None:
        self.__name__, self.__doc__, self.__module__ = body.__name__, body.__doc__, body.__module__
        self.__annotations__: dict[str, Any] = {}
        self.body, self.epilog, self._classes = body, f"Example: offramp {example}", classes
        self.systems, self.context = systems, context
        self.rewrite: Callable[[list[str]], list[str]] = list

    @cached_property
    def classes(self) -> tuple[type, ...]:
        """The dataclasses; the body gets an object of each."""
        return tuple(imported(one) if isinstance(one, str) else one for one in self._classes)

    @cached_property
    def fields(self) -> dict[str, Declared]:
        """Every field, by attribute."""
        all_fields = [each for one in self.classes for each in declared(one)]
        fields = {each.attribute: each for each in all_fields}
        assert len(fields) == len(all_fields), f"{self.__name__}: two fields of one name"
        return fields

    @cached_property
    def __signature__(self) -> inspect.Signature:
        by_position = sorted(self.fields.values(), key=lambda each: not each.field.position)
        parameters = [_parameter("context", typer.Context)]
        parameters += [parameter for each in by_position for parameter in _parameters(each)]
        note = typer.Option(_FILE_FLAG, help="Read fields from this YAML or TOML file; options override it.")
        parameters.append(_parameter(_FILE, Annotated[Path | None, note], None))
        if self.systems:
            parameters.append(_as_published(self.systems))
        if rare := [each for each in self.fields.values() if each.field.rare]:
            words = f"Show this message with the {len(rare)} options that are rarely needed, and exit."
            note = typer.Option("--help-all", help=words, is_eager=True, callback=_show_everything)
            parameters.append(_parameter(_HELP_ALL, Annotated[bool, note], False))
        return inspect.Signature(parameters)

    def __call__(self, context: typer.Context | None = None, **values: Any) -> None:
        """Run the command with what typer parsed; without ``context``, with values by attribute or key.

        Raises:
            OfframpError: a value is refused; named by its flag, or by file and line.
        """
        keys = {each.key: each.attribute for each in self.fields.values()}
        given = {keys.get(n, n): v for n, v in values.items() if context is None or not _is_default(context, n)}
        for each in self.fields.values():
            for alias in each.field.aliases:
                if _attribute_of(alias) in given:
                    given[each.attribute] = given.pop(_attribute_of(alias))
        file = given.pop(_FILE, None)
        read = {} if file is None else self._read(file)
        defaults = self._published(given.pop(_AS_PUBLISHED, None))
        try:
            self._run(given, read, defaults)
        except SettingsError as error:
            place = f"{read[error.field].place}: " if error.field in read and error.field not in given else ""
            raise OfframpError(place + error.line(partial(self._name, read.keys() - given.keys()))) from None

    def _read(self, file: Path) -> dict[str, Given]:
        from offramp_base.settings import read_settings

        return read_settings(Path(file), self.classes)

    def _published(self, system: str | bool | None) -> dict[str, Any]:
        """The published values that take the place of defaults; none unless they are asked for."""
        if not system:
            return {}
        if system is True:
            (system,) = self.systems
        if system not in self.systems:
            raise OfframpError(f"{_flag(_AS_PUBLISHED)} {system}: expected one of {', '.join(self.systems)}")
        from offramp.published import published

        return published(system)

    def _run(self, given: dict[str, Any], read: dict[str, Given], defaults: dict[str, Any]) -> None:
        chosen = defaults | {name: field.value for name, field in read.items()}
        chosen |= {name: _value(self.fields[name], value) for name, value in given.items()}
        for each in self.fields.values():
            if each.default is REQUIRED and each.attribute not in chosen:
                raise SettingsError(each.attribute, "expected a value")
        for name, value in chosen.items():
            check_field(self.fields[name], value)
        arguments = [
            one(**{each.attribute: chosen[each.attribute] for each in declared(one) if each.attribute in chosen})
            for one in self.classes
        ]
        forget_fallbacks()
        with ExitStack() as stack:
            for one in arguments:
                for each in declared(type(one)):
                    if each.field.written or each.field.filled:
                        name, url = getattr(one, each.attribute), each.field.url
                        expect_writable(each.attribute, name, folder=each.field.filled, url=url)
                if isinstance(one, Result) and one.on_stdout:
                    stack.enter_context(redirect_stdout(sys.stderr))
            self.body(*arguments)

    def _name(self, from_file: set[str], field: str, value: object) -> str:
        """A field as the user knows it: a flag, a key of the file, or the name of an argument."""
        each = self.fields.get(field) or next((f for f in self.fields.values() if f.key == field), None)
        suffix = "" if value is None else f" {shown(value)}"
        if each is None or each.field.position or each.attribute in from_file:
            return (field if each is None else each.key) + suffix
        if each.kind is bool and isinstance(value, bool):
            return _flag(each.key if value else f"no_{each.key}")
        return _flag(each.key) + suffix


def command(
    *classes: type | str, example: str, systems: tuple[str, ...] = (), **context: Any
) -> Callable[[Callable[..., None]], Command]:
    """Make a command of a function that takes an object of each class.

    Args:
        classes: dataclasses of fields; ``module:Class`` for one that is imported late.
        example: arguments, for the end of the help.
        systems: systems whose published values ``--as-published`` takes; its argument names one of several.
        context: settings of click's context, such as ``ignore_unknown_options``.
    """
    return lambda body: Command(body, classes, example, systems, **context)


class Late:
    """Makes the options of a command or group when they are first asked for: ``offramp --help`` needs none."""

    declaration: Command | None = None

    @cached_property
    def _command(self) -> Any:
        alone = typer.Typer(add_completion=False)
        alone.command()(self.declaration)  # type: ignore[type-var]
        return typer.main.get_command(alone)

    @property
    def params(self) -> Any:
        """Options of the command, made when they are first asked for."""
        return self._command.params if self.declaration else self.__dict__["params"]

    @params.setter
    def params(self, value: Any) -> None:
        self.__dict__["params"] = value

    def get_params(self, ctx: Any) -> list[Any]:
        """All parameters, that of ``--help`` among them."""
        return spared(super().get_params(ctx))  # type: ignore[misc]

    @property
    def callback(self) -> Any:
        """The function that runs with the options."""
        return self._command.callback if self.declaration else self.__dict__["callback"]

    @callback.setter
    def callback(self, value: Any) -> None:
        self.__dict__["callback"] = value


class LateCommand(Late, TyperCommand):
    """A command with late options."""

    def __init__(self, declaration: Command, name: str) -> None:
        self.declaration = declaration
        super().__init__(
            name,
            help=inspect.getdoc(declaration),
            epilog=declaration.epilog,
            context_settings={**CONTEXT, **declaration.context},
        )

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words, after the declaration has rewritten them."""
        assert self.declaration is not None
        return super().parse_args(ctx, self.declaration.rewrite(args))


def imported(name: str) -> Any:
    """The object that ``module:attribute`` names."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)


def _is_default(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is None or source.name in {"DEFAULT", "DEFAULT_MAP"}


def _parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _as_published(systems: tuple[str, ...]) -> inspect.Parameter:
    """The option that takes a paper's values for defaults: of the one system, or of the one that it names."""
    if len(systems) == 1:
        words = "The paper's values in place of ours; other options override it."
        note = typer.Option(_flag(_AS_PUBLISHED), help=words)
        return _parameter(_AS_PUBLISHED, Annotated[bool, note], False)
    names = " | ".join(systems)
    words = f"The values of a system's paper in place of ours; other options override it: {names}."
    note = typer.Option(_flag(_AS_PUBLISHED), metavar="SYSTEM", help=words)
    return _parameter(_AS_PUBLISHED, Annotated[str | None, note], None)


def _show_everything(context: typer.Context, wanted: bool) -> None:
    """Print the help with the rare options, and end."""
    if not wanted:
        return
    fields = context.command.declaration.fields  # type: ignore[attr-defined]
    for option in context.command.params:
        if (each := fields.get(option.name)) is not None and each.field.rare:
            option.hidden = False  # type: ignore[attr-defined]
    typer.echo(context.get_help())
    raise typer.Exit


def _parameters(each: Declared) -> Iterator[inspect.Parameter]:
    """The option or argument of a field, and hidden options for its older names."""
    field = each.field
    kind: Any = str if field.unit or field.parse or field.item else each.kind
    kind = list[kind] if each.many and not field.parse else kind
    default = inspect.Parameter.empty if each.default is REQUIRED else _shown_default(each)
    kind = kind | None if default is None else kind
    show: Any = True if field.shown_default is None else field.shown_default or False
    common = {
        "help": help_of(each),
        "metavar": field.metavar,
        "show_default": show,
        "autocompletion": _completion(each),
    }
    if field.position:
        note: Any = typer.Argument(**common)
    else:
        note = typer.Option(*_flags(each), rich_help_panel=each.group, hidden=field.hidden or field.rare, **common)
    yield _parameter(each.attribute, Annotated[kind, note], default)
    for alias in field.aliases:
        yield _parameter(_attribute_of(alias), Annotated[kind | None, typer.Option(_flag(alias), hidden=True)], None)


def _shown_default(each: Declared) -> Any:
    if each.default is None or (each.many and not each.default):
        return None
    if each.field.unit:
        return each.field.unit.shown(each.default)
    return shown(each.default) if each.field.parse else each.default


def _flags(each: Declared) -> list[str]:
    flag = _flag(each.key)
    flags = [f"{flag}/--no-{flag[2:]}" if each.kind is bool and not flag.startswith("--no-") else flag]
    return [each.field.short, *flags] if each.field.short else flags


def _flag(key: str) -> str:
    return "--" + key.replace("_", "-")


def _attribute_of(alias: str) -> str:
    return f"alias_{alias}"


def help_of(each: Declared) -> str:
    """The field's help with its choices and range."""
    field, text = each.field, each.field.help.rstrip(".")
    if options := field.options():
        text += ": " + " | ".join(name + (f" ({meaning})" if meaning else "") for name, meaning in options.items())
    elif field.range() and not field.unit:
        text += f" ({field.range()})"
    return text + "."


def _completion(each: Declared) -> Callable[[str], list[tuple[str, str]]] | None:
    if each.field.choices is None:
        return None

    def complete(incomplete: str) -> list[tuple[str, str]]:
        return [(name, meaning) for name, meaning in each.field.options().items() if name.startswith(incomplete)]

    return complete


def _value(each: Declared, value: Any) -> Any:
    """A value that typer parsed, converted to the field's type."""
    if isinstance(value, str):
        return each.kind(from_text(each, value)) if each.kind is Path else from_text(each, value)
    if isinstance(value, Path) and each.kind is str:
        return str(value)
    return from_texts(each, value) if each.many and isinstance(value, list) else value
