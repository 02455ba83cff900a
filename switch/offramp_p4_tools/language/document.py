# SPDX-License-Identifier: Apache-2.0
"""One program as an editor sees it: its symbols, what is wrong with it, what could be written at a place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from offramp_p4.frontend.check.program import Elaborator
from offramp_p4.frontend.syntax import ast
from offramp_p4.frontend.syntax.cursor import KEYWORDS
from offramp_p4.frontend.syntax.declarations import Parser
from offramp_p4.frontend.syntax.includes import FolderIncludes, Included
from offramp_p4.frontend.syntax.lexer import Lexeme, tokenize
from offramp_p4.frontend.syntax.preprocess import Preprocessor, flatten
from offramp_p4.lint import lint
from offramp_p4.source import P4Error, Pos
from offramp_p4_tools.language.places import TokenPlaces
from offramp_p4_tools.language.resolve import Resolver
from offramp_p4_tools.language.symbols import Symbol

MARK: Final = "offramp_completes_here"
_CLOSES: Final = {"(": ")", "[": "]", "{": "}"}
_LEFT_OUT: Final = 3
"""Lines with faults that a completion may leave out of a program."""
_ENDINGS: Final = (";", "", "()", "();", " x;", ": exact;", ";}", ") {}")
"""Text that may be missing behind the cursor; the first that makes a program is taken."""


@dataclass(frozen=True)
class Sources:
    """The sources of a program.

    Attributes:
        include: folders for ``#include``.
        defines: macros.
        opened: texts that an editor holds, by resolved path; they count before what is on disk.
    """

    include: Sequence[Path] = ()
    defines: Mapping[str, str] = field(default_factory=dict)
    opened: Mapping[str, str] = field(default_factory=dict)

    def tokens(self, path: Path, text: str) -> list[Lexeme]:
        """The tokens of a program.

        Raises:
            P4Error: it cannot be read as tokens.
        """
        includes = _EditorIncludes(self.include, self.opened)
        return Preprocessor(includes, dict(self.defines)).run(text, str(path), path.parent)


class _EditorIncludes(FolderIncludes):
    """Included files as the editor has them."""

    def __init__(self, folders: Sequence[Path], opened: Mapping[str, str]) -> None:
        super().__init__(folders)
        self._opened = opened

    def find(self, name: str, folder: Path | None, pos: Pos) -> Included:
        """Like :class:`FolderIncludes`, with the editor's text of a file that is open there."""
        included = super().find(name, folder, pos)
        text = self._opened.get(included.identity)
        return included if text is None else replace(included, text=text)


@dataclass(frozen=True)
class EditorProblem:
    """Something that an editor underlines; ``severity`` is ``error`` or ``warning``."""

    pos: Pos
    message: str
    severity: str
    rule: str = ""


@dataclass(frozen=True)
class Analysis:
    """The result of analysing a program.

    Attributes:
        resolver: its names; None where it could not be parsed.
        problems: the first fault, or warnings where there is none.
        whole: whether it instantiates ``main``.
    """

    resolver: Resolver | None
    problems: Sequence[EditorProblem]
    whole: bool

    def symbol(self, file: str, line: int, column: int) -> tuple[Symbol, Pos] | None:
        """The symbol whose name is around a place, and the start of that name; lines and columns count from 1."""
        if self.resolver is None:
            return None
        for begin in range(column, 0, -1):
            pos = Pos(file, line, begin)
            known = self.resolver.at.get(pos)
            if known is not None:
                return (known, pos) if column <= begin + len(known.name) else None
        return None


def analyse(path: Path, text: str, sources: Sources) -> Analysis:
    """Read, resolve and check a program."""
    try:
        tokens = sources.tokens(path, text)
        declarations = Parser(tokens).program()
    except P4Error as error:
        return Analysis(None, [_fault(error)], False)
    except RecursionError:
        return Analysis(None, [EditorProblem(Pos(str(path), 1, 1), "the program is nested too deeply", "error")], False)
    resolver = Resolver(TokenPlaces(tokens))
    resolver.program(declarations)
    whole = any(isinstance(decl, ast.Instantiation) and decl.name == "main" for decl in declarations)
    return Analysis(resolver, _problems(declarations, tokens, path, whole), whole)


def _problems(declarations: list[ast.Decl], tokens: list[Lexeme], path: Path, whole: bool) -> list[EditorProblem]:
    try:
        program = Elaborator().run(declarations, str(path), flatten(tokens))
    except P4Error as error:
        return [_fault(error)] if whole or error.pos.line else []
    except RecursionError:
        return [EditorProblem(Pos(str(path), 1, 1), "the program is nested too deeply", "error")]
    return [EditorProblem(warning.pos, warning.message, "warning", warning.rule) for warning in lint(program)]


def _fault(error: P4Error) -> EditorProblem:
    return EditorProblem(error.pos, error.message, "error")


# --- completion --------------------------------------------------------------------------------------------


def completions(path: Path, text: str, line: int, column: int, sources: Sources) -> dict[str, Symbol | None]:
    """Names that may stand at a place, by name; None for keywords. Lines and columns count from 1."""
    lines = text.split("\n")
    before = "\n".join([*lines[: line - 1], lines[line - 1][: column - 1]])
    after = text[len(before) :]
    typed = re.search(r"\w*$", before)
    before = before[: typed.start()] if typed else before
    after = after[len(re.match(r"\w*", after)[0]) :]  # type: ignore[index]
    for candidate in _candidates(before, after):
        resolver = _resolved(path, candidate, sources)
        if resolver is not None and resolver.wanted is not None:
            behind_dot = before.rstrip().endswith(".")
            keywords: dict[str, Symbol | None] = {} if behind_dot else dict.fromkeys(sorted(KEYWORDS))
            return {**keywords, **resolver.wanted}
    return {} if before.rstrip().endswith(".") else dict.fromkeys(sorted(KEYWORDS))


def _resolved(path: Path, text: str, sources: Sources) -> Resolver | None:
    """The names of a program with the mark in it; lines with faults elsewhere are left out."""
    for _ in range(_LEFT_OUT + 1):
        try:
            tokens = sources.tokens(path, text)
            declarations = Parser(tokens).program()
        except P4Error as error:
            lines = text.split("\n")
            if (
                error.pos.file != str(path)
                or not 1 <= error.pos.line <= len(lines)
                or MARK in lines[error.pos.line - 1]
            ):
                return None
            lines[error.pos.line - 1] = _balanced(lines[error.pos.line - 1])
            text = "\n".join(lines)
            continue
        except RecursionError:
            return None
        resolver = Resolver(TokenPlaces(tokens))
        resolver.marked = MARK
        resolver.program(declarations)
        return resolver
    return None


def _balanced(line: str) -> str:
    """The brackets of a line that it opens or closes for others."""
    kept: list[str] = []
    for each in line:
        if kept and _CLOSES.get(kept[-1]) == each:
            kept.pop()
        elif each in "(){}[]":
            kept.append(each)
    return "".join(kept)


def _candidates(before: str, after: str) -> Iterator[str]:
    """Programs with the mark at the place: whole ones, then those that end there with every bracket closed."""
    for ending in ("", *_ENDINGS):
        yield f"{before}{MARK}{ending}{after}"
    try:
        opened = [token.text for token in tokenize(before, "") if token.kind == "op"]
    except P4Error:
        return
    closing: list[str] = []
    for each in opened:
        if each in _CLOSES:
            closing.append(_CLOSES[each])
        elif closing and each == closing[-1]:
            closing.pop()
    inner = [*closing]
    while inner and inner[-1] == ")":
        inner.pop()
    calls = ")" * (len(closing) - len(inner))
    rests = [" ".join(reversed(inner)), " ".join([*reversed(inner[1:]), "apply {}", *inner[:1]])]
    for rest in rests:  # a control that ends before its apply
        for ending in (*_ENDINGS, "{}"):
            yield f"{before}{MARK}{ending}{calls}{rest}"
            yield f"{before}{MARK}{calls}{ending}{rest}"
