# SPDX-License-Identifier: Apache-2.0
"""The C preprocessor as P4 programs use it: includes, macros and conditionals, on tokens, positions kept."""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from offramp_p4.frontend.syntax.includes import FolderIncludes, Includes
from offramp_p4.frontend.syntax.lexer import OPERATORS, Lexeme, parse_int, parse_string, tokenize
from offramp_p4.frontend.syntax.predefined import predefined
from offramp_p4.source import P4Error, Pos, remember_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

_MAX_DEPTH: Final = 64
MAX_TOKENS: Final = 1 << 20
"""Tokens that a program may have, and that its includes and macros may make of it."""
_MAX_NESTED_MACROS: Final = 256
_MAX_LINE: Final = 1 << 31
_MAX_FILE_NAME: Final = 256


@dataclass(frozen=True, slots=True)
class Macro:
    """An object-like (``params`` None) or function-like macro."""

    params: tuple[str, ...] | None
    body: tuple[Lexeme, ...]
    variadic: bool = False


@dataclass(slots=True)
class _Conditional:
    pos: Pos
    active: bool  # this branch is being read
    taken: bool  # some branch of this #if has been read
    enclosing: bool  # the code around it is being read


@lru_cache(maxsize=64)
def _tokens_of_header(text: str, file: str) -> tuple[Lexeme, ...]:
    """Tokens of one of our headers, which nearly every program includes, read once in a process."""
    return tuple(tokenize(text, file))


class Preprocessor:
    """Expands one program; ``run`` gives its tokens without ``nl``, ending in ``eof``."""

    def __init__(self, includes: Includes | None = None, defines: Mapping[str, str] | None = None) -> None:
        self._includes = FolderIncludes() if includes is None else includes
        self._defines = dict(defines or {})
        self.macros: dict[str, Macro] = {}
        self._once: set[str] = set()
        self._reading: list[str] = []  # the file being read, and those that include it
        self._left = MAX_TOKENS
        self._out: list[Lexeme] = []

    def run(self, text: str, file: str, folder: Path | None) -> list[Lexeme]:
        """Preprocess ``text``; quoted includes are looked up in ``folder`` first.

        Raises:
            P4Error: a directive is wrong, an include is not found or refused, or the program becomes too long.
        """
        remember_text(file, text)
        for name, value in predefined(text, self._defines).items():
            self._command_line(name, value, "<built-in>")
        for name, value in self._defines.items():
            self._command_line(name, value, "<command line>")
        self._file(tokenize(text, file), folder, file)
        end = self._out[-1].pos if self._out else Pos(file, 1, 1)
        self._out.append(Lexeme("eof", "", end))
        return self._out

    def _command_line(self, name: str, value: str, source: str) -> None:
        """Define a macro that no file defines."""
        if not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise P4Error(Pos(source, 1, 1), f"'{name}' cannot be defined: it is not an identifier")
        body = [t for t in tokenize(str(value), source) if t.kind not in ("nl", "eof")]
        self.macros[name] = Macro(None, tuple(body))

    # --- files and lines -----------------------------------------------------------------------------------

    def _file(self, tokens: Sequence[Lexeme], folder: Path | None, identity: str) -> None:
        self._reading.append(identity)
        self._spend(len(tokens), tokens[0].pos)
        conditionals: list[_Conditional] = []
        at = 0
        pending: list[Lexeme] = []
        relocate: tuple[str, int] | None = None  # from a line marker: file and line difference
        while tokens[at].kind != "eof":
            end = at
            while tokens[end].kind != "nl":
                end += 1
            line = list(tokens[at:end])
            at = end + 1
            if relocate:
                new_file, shift = relocate
                line = [_moved(t, new_file, shift) for t in line]
            if line and line[0].text == "#" and line[0].kind == "op":
                self._expand_into(pending)
                pending = []
                marker = _line_marker(line)
                if marker:
                    relocate = (marker[1] or line[0].pos.file, marker[0] - (tokens[end].pos.line + 1))
                else:
                    self._directive(line, conditionals, folder)
            elif not conditionals or conditionals[-1].active:
                pending += line  # macro arguments may span lines, so lines are expanded together
        self._expand_into(pending)
        if conditionals:
            raise P4Error(conditionals[-1].pos, "this conditional has no #endif")
        self._reading.pop()

    def _spend(self, tokens: int, pos: Pos) -> None:
        self._left -= tokens
        if self._left < 0:
            raise P4Error(pos, f"includes and macros make more than {MAX_TOKENS} tokens of this program")

    def _expand_into(self, tokens: list[Lexeme]) -> None:
        if tokens:
            self._out += self._expand(tokens)

    def _directive(self, line: list[Lexeme], stack: list[_Conditional], folder: Path | None) -> None:
        if len(line) == 1:
            return
        name, rest, pos = line[1].text, line[2:], line[0].pos
        live = not stack or stack[-1].active
        if name in ("if", "ifdef", "ifndef"):
            truth = False
            if live:
                truth = self._truth(rest, pos) if name == "if" else (self._defined(rest, pos) == (name == "ifdef"))
            stack.append(_Conditional(pos, live and truth, truth, live))
        elif name in ("elif", "else", "endif"):
            if not stack:
                raise P4Error(pos, f"#{name} without #if")
            top = stack[-1]
            if name == "endif":
                stack.pop()
            elif name == "else":
                top.active, top.taken = top.enclosing and not top.taken, True
            else:
                top.active = top.enclosing and not top.taken and self._truth(rest, pos)
                top.taken = top.taken or top.active
        elif not live or name in ("pragma", "line"):
            if live and name == "pragma" and rest and rest[0].text == "once":
                self._once.add(self._reading[-1])
        elif name == "include":
            self._include(rest, pos, folder)
        elif name == "define":
            self._define(rest, pos)
        elif name == "undef":
            self.macros.pop(_identifier(rest, pos, "#undef"), None)
        elif name == "error":
            raise P4Error(pos, "#error " + " ".join(t.text for t in rest))

    def _include(self, rest: list[Lexeme], pos: Pos, folder: Path | None) -> None:
        if rest and rest[0].kind == "id":
            rest = self._expand(rest)
        if rest and rest[0].kind == "str":
            name, quoted = parse_string(rest[0]), True
        elif rest and rest[0].text == "<" and rest[-1].text == ">":
            name, quoted = "".join(t.text for t in rest[1:-1]), False
        else:
            raise P4Error(pos, 'expected #include <file> or #include "file"')
        if len(self._reading) > _MAX_DEPTH:
            raise P4Error(pos, f"includes are nested deeper than {_MAX_DEPTH}: does '{name}' include itself?")
        header = self._includes.find(name, folder if quoted else None, pos)
        if header.identity not in self._once:
            lexer = _tokens_of_header if header.built_in else tokenize
            self._file(lexer(header.text, header.name), header.folder, header.identity)

    def _define(self, rest: list[Lexeme], pos: Pos) -> None:
        name = _identifier(rest, pos, "#define")
        body, params, variadic = rest[1:], None, False
        head = rest[0]
        # A parenthesis right behind the name, with no space, makes the macro function-like.
        if body and body[0].text == "(" and body[0].pos.column == head.pos.column + len(head.text):
            close = next((i for i, t in enumerate(body) if t.text == ")"), None)
            if close is None:
                raise P4Error(body[0].pos, f"the parameter list of macro '{name}' is not closed")
            names = [t.text for t in body[1:close] if t.text != ","]
            variadic = bool(names) and names[-1] == "..."
            params = tuple([*names[:-1], "__VA_ARGS__"] if variadic else names)
            body = body[close + 1 :]
        self.macros[name] = Macro(params, tuple(body), variadic)

    # --- conditions ----------------------------------------------------------------------------------------

    def _defined(self, rest: list[Lexeme], pos: Pos) -> bool:
        return _identifier(rest, pos, "#ifdef") in self.macros

    def _truth(self, rest: list[Lexeme], pos: Pos) -> bool:
        resolved: list[Lexeme] = []
        at = 0
        while at < len(rest):
            if rest[at].text == "defined":
                inner = rest[at + 1 : at + 4]
                bracketed = bool(inner) and inner[0].text == "("
                name = _identifier(inner[1:] if bracketed else inner, pos, "defined")
                resolved.append(Lexeme("int", str(int(name in self.macros)), rest[at].pos))
                at += 4 if bracketed else 2
            else:
                resolved.append(rest[at])
                at += 1
        return bool(_Condition(self._expand(resolved), pos).value())

    # --- macro expansion -----------------------------------------------------------------------------------

    def _expand(self, tokens: Iterable[Lexeme]) -> list[Lexeme]:
        out: list[Lexeme] = []
        work = list(tokens)[::-1]  # a stack: the next token is last
        while work:
            token = work.pop()
            macro = self.macros.get(token.text) if token.kind == "id" and token.text not in token.hidden else None
            if macro is None:
                if token.text == "__LINE__":
                    token = Lexeme("int", str(token.pos.line), token.pos)
                elif token.text == "__FILE__":
                    token = Lexeme("str", f'"{token.pos.file}"', token.pos)
                out.append(token)
                continue
            body: list[Lexeme] = list(macro.body)
            if len(token.hidden) >= _MAX_NESTED_MACROS:
                raise P4Error(token.pos, f"macros are nested deeper than {_MAX_NESTED_MACROS}")
            if macro.params is not None:
                if not work or work[-1].text != "(":
                    out.append(token)  # a function-like macro's name without arguments is an ordinary name
                    continue
                body = self._substitute(macro, self._arguments(macro, token, work), token)
            self._spend(len(body) + 1, token.pos)
            hidden = token.hidden | {token.text}
            work += [Lexeme(t.kind, t.text, token.pos, t.hidden | hidden) for t in _paste(body)][::-1]
        return out

    def _arguments(self, macro: Macro, token: Lexeme, work: list[Lexeme]) -> list[list[Lexeme]]:
        assert macro.params is not None
        work.pop()
        args: list[list[Lexeme]] = [[]]
        depth = 1
        while work:
            t = work.pop()
            depth += (t.text in ("(", "[", "{")) - (t.text in (")", "]", "}"))
            if depth == 0:
                break
            if t.text == "," and depth == 1 and not (macro.variadic and len(args) == len(macro.params)):
                args.append([])
            else:
                args[-1].append(t)
        else:
            raise P4Error(token.pos, f"the arguments of macro '{token.text}' are not closed")
        self._spend(sum(len(arg) for arg in args), token.pos)
        if macro.params == () and args == [[]]:
            args = []
        if macro.variadic and len(args) == len(macro.params) - 1:
            args.append([])
        if len(args) != len(macro.params):
            raise P4Error(token.pos, f"macro '{token.text}' takes {len(macro.params)} arguments, {len(args)} given")
        return args

    def _substitute(self, macro: Macro, args: list[list[Lexeme]], token: Lexeme) -> list[Lexeme]:
        assert macro.params is not None
        table = dict(zip(macro.params, args, strict=True))
        expanded = {name: self._expand(arg) for name, arg in table.items()}
        out: list[Lexeme] = []
        body = macro.body
        at = 0
        while at < len(body):
            t = body[at]
            if t.text == "#" and at + 1 < len(body) and body[at + 1].text in table:
                text = " ".join(x.text for x in table[body[at + 1].text])
                escaped = text.replace("\\", "\\\\").replace('"', '\\"')
                out.append(Lexeme("str", f'"{escaped}"', token.pos))
                at += 1
            elif t.kind == "id" and t.text in table:
                pasted = (at > 0 and body[at - 1].text == "##") or (at + 1 < len(body) and body[at + 1].text == "##")
                out += (table[t.text] or [Lexeme("id", "", t.pos)]) if pasted else expanded[t.text]
            else:
                out.append(t)
            at += 1
        return out


def _paste(body: list[Lexeme]) -> list[Lexeme]:
    """Join the tokens around each ``##``; a token without text stands for an empty argument, and goes."""
    out: list[Lexeme] = []
    at = 0
    while at < len(body):
        if body[at].text == "##" and out and at + 1 < len(body):
            if out[-1].text == "," and not body[at + 1].text:  # cpp: ", ## __VA_ARGS__" of no arguments is nothing
                out.pop()
                at += 2
                continue
            joined = [t for t in tokenize(out[-1].text + body[at + 1].text, "<pasted>") if t.kind not in ("nl", "eof")]
            out[-1:] = [Lexeme(t.kind, t.text, out[-1].pos, out[-1].hidden) for t in joined]
            at += 2
        else:
            out.append(body[at])
            at += 1
    return [t for t in out if t.text]


def _identifier(tokens: Sequence[Lexeme], pos: Pos, after: str) -> str:
    if not tokens or tokens[0].kind != "id":
        raise P4Error(tokens[0].pos if tokens else pos, f"expected a macro name after {after}")
    return tokens[0].text


def _moved(t: Lexeme, file: str, shift: int) -> Lexeme:
    return Lexeme(t.kind, t.text, Pos(file, t.pos.line + shift, t.pos.column), t.hidden)


def _line_marker(line: list[Lexeme]) -> tuple[int, str | None] | None:
    """``# 12 "file"`` or ``#line 12 "file"``: the number of the next line and its file."""
    rest = line[2:] if len(line) > 1 and line[1].text == "line" else line[1:]
    if not rest or rest[0].kind != "int":
        return None
    file = parse_string(rest[1])[:_MAX_FILE_NAME] if len(rest) > 1 and rest[1].kind == "str" else None
    if file is not None and not file.isprintable():
        file = None  # messages name the file in their first line
    return min(parse_int(rest[0])[0], _MAX_LINE), file


_LEVELS: list[list[str]] = [
    ["||"], ["&&"], ["|"], ["^"], ["&"], ["==", "!="], ["<", ">", "<=", ">="], ["<<"], ["+", "-"], ["*", "/", "%"],
]  # fmt: skip


_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "|": operator.or_, "^": operator.xor, "&": operator.and_, "==": operator.eq, "!=": operator.ne, "<": operator.lt,
    ">": operator.gt, "<=": operator.le, ">=": operator.ge, "<<": operator.lshift, "+": operator.add,
    "-": operator.sub, "*": operator.mul,
}  # fmt: skip


class _Condition:
    """Evaluates the integer expression of an ``#if``; names that are not macros count as 0."""

    def __init__(self, tokens: list[Lexeme], pos: Pos) -> None:
        self._tokens, self._at, self._pos = tokens, 0, pos

    def value(self) -> int:
        v = self._binary(0)
        if self._peek() == "?":
            self._at += 1
            then = self.value()
            if self._peek() != ":":
                raise P4Error(self._here(), "expected ':'")
            self._at += 1
            other = self.value()
            return then if v else other
        if self._at < len(self._tokens) and self._peek() not in (")", ":"):
            raise P4Error(self._here(), f"unexpected {self._tokens[self._at]} in #if")
        return v

    def _peek(self) -> str:
        return self._tokens[self._at].text if self._at < len(self._tokens) else ""

    def _here(self) -> Pos:
        return self._tokens[self._at].pos if self._at < len(self._tokens) else self._pos

    def _binary(self, level: int) -> int:
        if level == len(_LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        while self._peek() in _LEVELS[level]:
            op = self._peek()
            where = self._here()
            self._at += 1
            left = _apply(op, left, self._binary(level + 1), where)
        return left

    def _unary(self) -> int:
        text = self._peek()
        if text in ("!", "-", "+", "~"):
            self._at += 1
            v = self._unary()
            return {"!": int(not v), "-": -v, "+": v, "~": ~v}[text]
        if text == "(":
            self._at += 1
            v = self.value()
            if self._peek() != ")":
                raise P4Error(self._here(), "expected ')' in #if")
            self._at += 1
            return v
        if self._at >= len(self._tokens):
            raise P4Error(self._pos, "the condition of this #if is incomplete")
        token = self._tokens[self._at]
        self._at += 1
        if token.kind == "int":
            return parse_int(token)[0]
        if token.kind == "id":
            return 0
        raise P4Error(token.pos, f"unexpected {token} in #if")


def _apply(op: str, a: int, b: int, pos: Pos) -> int:
    if op in ("/", "%"):
        if b == 0:
            raise P4Error(pos, "division by zero in #if")
        return a // b if op == "/" else a % b
    if op == "<<" and not 0 <= b < 1024:
        raise P4Error(pos, f"shift by {b} in #if")
    if op in ("&&", "||"):
        return int(bool(a and b) if op == "&&" else bool(a or b))
    return int(_ARITHMETIC[op](a, b))


def flatten(tokens: Sequence[Lexeme]) -> str:
    """Text that holds the same tokens without includes and macros, with line markers that keep positions."""
    out: list[str] = []
    file, line, column = "", 0, 1
    before: Lexeme | None = None
    for t in tokens:
        if t.kind == "eof":
            break
        if t.pos.file != file or not 0 <= t.pos.line - line <= 8:
            file, line, column = t.pos.file, t.pos.line, 1
            out.append(f'\n# {line} "{file}"\n')
        while line < t.pos.line:
            out.append("\n")
            line, column = line + 1, 1
        gap = max(t.pos.column - column, 0 if column == 1 or (before and _separate(before, t)) else 1)
        out.append(" " * gap + t.text)
        column += gap + len(t.text)
        line += t.text.count("\n")  # a string may hold line ends
        before = t
    return "".join(out) + "\n"


def touches(left: Lexeme, right: Lexeme) -> bool:
    """Whether two operators stand side by side in the source (or come from one macro), so that ``> >`` is a shift."""
    if left.kind != "op" or right.kind != "op" or left.pos.file != right.pos.file or left.pos.line != right.pos.line:
        return False
    return right.pos.column in (left.pos.column + len(left.text), left.pos.column)


def _separate(left: Lexeme, right: Lexeme) -> bool:
    """Whether two tokens written without a space are still two."""
    words = ("id", "int", "str")
    if left.kind in words and right.kind in words:
        return False
    return left.text + right.text not in OPERATORS
