# SPDX-License-Identifier: Apache-2.0
"""Text to tokens (P4-16 specification, section 6.1). Comments vanish; ends of lines stay for the preprocessor."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from offramp_p4.source import P4Error, Pos

MAX_BITS: Final = 1 << 13
"""Bits of the longest number, four times p4c's default; Python still prints it."""

_SHOWN: Final = 80
Kind = Literal["id", "int", "str", "op", "bad", "nl", "eof"]


@dataclass(frozen=True, slots=True)
class Lexeme:
    """A lexeme, its kind, its position and, when ``hidden``, the macros that must not expand it again."""

    kind: Kind
    text: str
    pos: Pos
    hidden: frozenset[str] = frozenset()

    def __str__(self) -> str:
        """The token as messages quote it: its first line, cut to a fixed length."""
        first = self.text.split("\n", 1)[0][:_SHOWN]
        shown = first if first == self.text else f"{first}…"
        stray = f"'{shown}', which is not a number" if len(self.text) > 1 else f"stray character {self.text!r}"
        return {"eof": "end of file", "nl": "end of line", "bad": stray}.get(self.kind, f"'{shown}'")


# ">>" is not a token: "bit<bit<8>>" must close two brackets; the expression parser joins adjacent ">".
OPERATORS = (
    "|+|=", "|-|=", "&&&", "...", "<<=", "|+|", "|-|", "{#}",
    "..", "<<", "++", "&&", "||", "==", "!=", "<=", ">=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "+:", "##",
    *"{}()[]<>,;:.=+-*/%&|^~!?@#",
)  # fmt: skip

_TOKEN = re.compile(
    r"""
      (?P<space>[ \t\r\f\v]+|\\[ \t]*\r?\n)
    | (?P<nl>\n)
    | (?P<comment>//[^\n]*|/\*.*?\*/)
    | (?P<open>/\*)
    | (?P<bad>[0-9][0-9_]*[ws](?:0[bB][01_]*[2-9]|0[oO][0-7_]*[89])[0-9_]*|[0-9][0-9_]*[ws](?![0-9])[A-Za-z_]*)
    | (?P<int>(?:[0-9][0-9_]*[ws])?(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|0[dD][0-9_]+|[0-9][0-9_]*))
    | (?P<id>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<str>"(?:\\.|[^"\\])*")
    | (?P<op>"""
    + "|".join(re.escape(op) for op in OPERATORS)
    + r""")
    """,
    re.VERBOSE | re.DOTALL,
)

# p4c calls cpp as for assembler: it passes on what is not a directive, and p4c's lexer skips lines that begin with "#".
_REMARK = re.compile(
    r"""\#(?![ \t]*(?:$|\d|(?:include|define|undef|if|ifdef|ifndef|elif|else|endif|error|pragma|line)\b))
        [^\n]*""",
    re.VERBOSE | re.MULTILINE,
)


def tokenize(text: str, file: str) -> list[Lexeme]:
    """All tokens of ``text`` with a final ``eof``.

    Raises:
        P4Error: an unfinished comment or string.
    """
    out: list[Lexeme] = []
    at, line, line_start, end = 0, 1, 0, len(text)
    while at < end:
        m = _TOKEN.match(text, at)
        pos = Pos(file, line, at - line_start + 1)
        if m is None:
            if text[at] == '"':
                raise P4Error(pos, "this string has no closing quote")
            out.append(Lexeme("bad", text[at], pos))  # legal inside free-form annotations only
            at += 1
            continue
        kind, lexeme = m.lastgroup, m.group()
        if lexeme[0] == "#" and (not out or out[-1].kind == "nl"):
            remark = _REMARK.match(text, at)
            if remark is not None:
                at = remark.end()
                continue
        if kind == "open":
            raise P4Error(pos, "this comment is never closed with '*/'")
        if kind == "nl":
            out.append(Lexeme("nl", "\n", pos))
        elif kind in ("int", "id", "str", "op", "bad"):
            out.append(Lexeme(kind, lexeme, pos))  # type: ignore[arg-type]
        newlines = lexeme.count("\n")
        if newlines:
            line += newlines
            line_start = at + lexeme.rindex("\n") + 1
            if kind == "comment":  # a directive ends at its line's end even when a comment spans it
                out.append(Lexeme("nl", "\n", pos))
        at = m.end()
    pos = Pos(file, line, at - line_start + 1)
    out.append(Lexeme("nl", "\n", pos))
    out.append(Lexeme("eof", "", pos))
    return out


def parse_int(token: Lexeme) -> tuple[int, int | None, bool]:
    """Value, width (None: arbitrary precision) and signedness of an integer literal.

    Raises:
        P4Error: the literal has no digits, a width of zero that is signed, or more than :data:`MAX_BITS`.
    """
    text, width, signed = token.text, None, False
    m = re.match(r"([0-9][0-9_]*)([ws])", text)
    try:
        if m:
            width, signed = int(m.group(1).replace("_", "")), m.group(2) == "s"
            text = text[m.end() :]
        text = text.replace("_", "")
        value = int(text[2:], base_of(token)) if text[1:2].isalpha() else int(text, 10)
    except ValueError:
        raise P4Error(token.pos, f"'{token.text[:_SHOWN]}' is not an integer literal") from None
    if value.bit_length() > MAX_BITS or (width or 0) > MAX_BITS:
        raise P4Error(token.pos, f"a number of more than {MAX_BITS} bits")
    return value, width, signed


def base_of(token: Lexeme) -> int:
    """Base in which an integer literal is written."""
    digits = re.sub(r"^[0-9][0-9_]*[ws]", "", token.text)
    return {"x": 16, "b": 2, "o": 8}.get(digits[1:2].lower(), 10)


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}


def parse_string(token: Lexeme) -> str:
    """Contents of a string literal, escapes resolved."""
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m.group(1), m.group(1)), token.text[1:-1], flags=re.DOTALL)
