# SPDX-License-Identifier: Apache-2.0
"""Mutations of valid input: bytes, lines of text, and trees of dictionaries and lists."""

from __future__ import annotations

import marshal
import random
from collections.abc import Callable, Sequence
from typing import Any

NUMBERS: tuple[Any, ...] = (
    *(0, 1, -1, 2, 7, 63, 64, 127, 128, 255, 256, 65535, 65536, 2**31 - 1, 2**31, -(2**31), 2**32, 2**53 + 1),
    *(2**62, 2**63 - 1, 2**63, -(2**63), 2**64, 10**12, 10**30, 10**400, 0.0, -0.0, 0.5, 1e-320, 1e16, 1e308, -1e308),
    *(float("nan"), float("inf"), float("-inf")),
)
WORDS: tuple[str, ...] = (
    *("", " ", "\t", "\n", "a", "0", "-1", "1e999", "nan", "inf", "0x10", "1_000", "\u0661\u0662", "\u00b2", "true"),
    *("null", "~", "..", "/", "../../etc/passwd", "/dev/zero", "a\x00b", "\x1b[31mred", "\u202eright", "\ud800"),
    *("x" * 300, "9" * 5000, "[" * 40, "{" * 40, "%s%n", "${HOME}", "a b", "a,b", "a:b", "a=b", "=", ":", ",", "#"),
    *("!!python/object/apply:os.system [true]", "&a [*a]", "*a", "<<", "1970-01-01", "1:30", "0o17", ".inf", ".nan"),
)
_SELDOM, _LONG = 0.005, 1 << 17
"""How often a word is repeated, and how many times: what takes the square of that is found."""
_TOKENS: tuple[bytes, ...] = (
    *(b"\x00", b"\xff", b"\xff" * 4, b"\xff" * 8, b"\x7f\xff\xff\xff", b"\x80" + bytes(7), b"\n", b'"', b"'", b"[" * 9),
    *(b"{", b"}", b"]", b":", b"-", b"&a", b"*a", b"nan", b"1e999", b"99999999999999999999", b"\xed\xa0\x80", b"\xef"),
)


def value(rng: random.Random, depth: int = 3) -> Any:
    """Some value that YAML, TOML or JSON can hold, often one of those that break arithmetic or parsers."""
    kind = rng.randrange(8)
    if kind < 3:
        return rng.choice(NUMBERS)
    if kind < 5:
        return rng.choice(WORDS)
    if kind == 5:
        return rng.choice((None, True, False))
    if not depth:
        return []
    if kind == 6:
        return [value(rng, depth - 1) for _ in range(rng.randrange(4))]
    return {str(value(rng, 0)): value(rng, depth - 1) for _ in range(rng.randrange(4))}


def copied(tree: Any) -> Any:
    """A deep copy of what files can hold, in a third of the time of :func:`copy.deepcopy`."""
    return marshal.loads(marshal.dumps(tree))


def tree(rng: random.Random, root: Any) -> Any:
    """A copy of a tree of dictionaries and lists in which one to four things are otherwise."""
    changed = copied(root)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
        holders = [holder for holder in _holders(changed) if holder]
        if not holders or rng.random() < 0.02:
            return value(rng)
        _change(rng, rng.choice(holders), holders)
    return changed


def _holders(node: Any) -> list[Any]:
    values: list[Any] = []
    pending = [node]
    while pending:
        item = pending.pop()
        if isinstance(item, dict | list):
            values.append(item)
            pending.extend(item.values() if isinstance(item, dict) else item)
    return values


def _change(rng: random.Random, holder: Any, holders: Sequence[Any]) -> None:
    key = rng.choice(list(holder)) if isinstance(holder, dict) else rng.randrange(len(holder))
    kind = rng.randrange(10)
    if kind < 5:
        holder[key] = _near(rng, holder[key]) if kind < 2 else value(rng)
    elif kind == 5:
        del holder[key]
    elif kind == 6:
        other = rng.choice(holders)
        holder[key] = copied(rng.choice(list(other.values()) if isinstance(other, dict) else other))
    elif kind == 7:
        holder[key] = [copied(holder[key])] * rng.choice((1, 2, 50))
    elif isinstance(holder, dict):
        if kind == 8:
            holder[rng.choice(WORDS)] = value(rng)
        else:
            holder[rng.choice(WORDS)] = holder.pop(key)
    else:
        holder.insert(key, value(rng) if kind == 8 else copied(rng.choice(holder)))


def _near(rng: random.Random, held: Any) -> Any:
    """A value of the same type."""
    if isinstance(held, bool):
        return not held
    if isinstance(held, int):
        return rng.choice((held + 1, held - 1, -held, held * 2, held * 10**6, rng.choice(NUMBERS[:26])))
    if isinstance(held, float):
        return rng.choice((-held, held * 1e300, float("nan"), float("inf"), 0.0))
    if isinstance(held, str):
        return text(rng, held)
    return value(rng)


def text(rng: random.Random, whole: str) -> str:
    """A copy of a text with small changes, by characters, by words or by lines."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        separator = rng.choice(("", " ", "\n", ",", ":"))
        parts = list(whole) if not separator else whole.split(separator)
        at = rng.randrange(len(parts) + 1)
        kind = rng.randrange(5)
        if kind == 0 or not parts:
            parts.insert(at, rng.choice(WORDS) if rng.random() < 0.6 else str(rng.choice(NUMBERS[:17])))
        elif kind == 1:
            del parts[at : at + rng.choice((1, 1, 2, 8))]
        elif kind == 2:
            parts[at : at + 1] = [str(rng.choice((*NUMBERS[:17], *NUMBERS[18:25], *NUMBERS[26:])))]
        elif kind == 3:
            parts.insert(at, rng.choice(parts))
        elif rng.random() < _SELDOM:
            parts[at : at + 1] = [(rng.choice(WORDS)[:2] or "\\\n") * _LONG]
        else:
            parts[at : at + 1] = [rng.choice(WORDS)]
        whole = separator.join(parts)
    return whole


def raw(rng: random.Random, whole: bytes) -> bytes:
    """A copy of bytes with small changes: bits, spans, lengths, cuts."""
    changed = bytearray(whole)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        at = rng.randrange(len(changed) + 1)
        kind = rng.randrange(7)
        if kind == 0 and at < len(changed):
            changed[at] ^= 1 << rng.randrange(8)
        elif kind == 1 and at < len(changed):
            changed[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        elif kind == 2:
            changed[at:at] = rng.choice(_TOKENS)
        elif kind == 3:
            token = rng.choice(_TOKENS)
            changed[at : at + len(token)] = token
        elif kind == 4:
            del changed[at : at + rng.choice((1, 2, 4, 8, 64))]
        elif kind == 5:
            start = rng.randrange(len(changed) + 1)
            changed[at:at] = changed[start : start + rng.choice((1, 4, 16, 256))]
        elif rng.random() < 0.3:
            del changed[at:]
    return bytes(changed)


def noise(rng: random.Random, most: int = 200) -> bytes:
    """Random bytes."""
    return rng.randbytes(rng.randrange(most))


def mostly(rng: random.Random, *makers: Callable[[], Any]) -> Any:
    """The output of one of the makers; each is twice as likely as the next."""
    for maker in makers[:-1]:
        if rng.random() < 0.5:
            return maker()
    return makers[-1]()
