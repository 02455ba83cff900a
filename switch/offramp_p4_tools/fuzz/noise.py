# SPDX-License-Identifier: Apache-2.0
"""Bytes that mean nothing, or nearly something: sources that are not P4, P4Runtime messages."""

from __future__ import annotations

import traceback
from random import Random
from typing import Final

from offramp_base.errors import OfframpError
from offramp_p4.frontend import load_text
from offramp_p4.switch import Switch
from offramp_p4_tools.fuzz.findings import Finding, Tally

_TOKENS: Final = (
    "header", "struct", "parser", "control", "state", "start", "transition", "select", "accept", "table", "key",
    "actions", "apply", "if", "else", "switch", "for", "in", "inout", "out", "bit<8>", "int<4>", "varbit<32>", "bool",
    "error", "enum", "typedef", "type", "extern", "package", "const", "return", "exit", "default", "true", "_", "(",
    ")", "{", "}", "[", "]", "<", ">", ";", ",", ".", ":", "=", "==", "&&&", "..", "++", "|+|", "<<", "@name", "#if",
    "#include <core.p4>", "#include <v1model.p4>", "#define X", "8w255", "0x", "4294967296", "-1", '"text', "main", "x",
    "this", "list<bit<8>>", "tuple<>", "...", "/*", "//", "\\", "'", "\x00", "é",
)  # fmt: skip


def random_source(rng: Random, model: str) -> str:
    """Random bytes, random tokens, or ``model`` with pieces cut, doubled, swapped or replaced."""
    roll = rng.randrange(10)
    if roll == 0:
        return rng.randbytes(rng.randint(0, 300)).decode("latin-1")
    if roll == 1:
        return " ".join(rng.choice(_TOKENS) for _ in range(rng.randint(0, 80)))
    text = model
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text) + 1)
        end = min(len(text), at + rng.choice((1, 1, 3, 20, 200)))
        piece = rng.choice(
            ("", text[at:end] * 2, rng.choice(_TOKENS), rng.choice(_TOKENS), text[-20:], chr(rng.randrange(1, 256)))
        )
        text = text[:at] + piece + text[end:]
    return text


def try_source(text: str) -> str:
    """Load a source and compile it; ``"accepted"`` or ``"refused"``. Anything but an OfframpError gets out."""
    try:
        switch = Switch(load_text(text, "noise.p4"), max_passes=10)
    except OfframpError:
        return "refused"
    switch.process_one(1, bytes(64))
    return "accepted"


def noise(seed: int, model: str, sources: int = 4, messages: int = 20) -> Tally:
    """Sources nearly like ``model``, and messages to a switch that runs it."""
    rng, tally = Random(seed), Tally()
    for _ in range(sources):
        source = random_source(rng, model)
        tally.counts.sources += 1
        try:
            tally.counts.sources_accepted += try_source(source) == "accepted"
        except Exception:
            tally.findings.append(Finding("source", seed, traceback.format_exc(limit=-4), source))
    try:
        _messages(rng, model, messages, tally)
    except OfframpError:
        pass  # a program that does not load, or that P4Info cannot describe; the comparison tells
    except Exception:
        tally.findings.append(Finding("message", seed, traceback.format_exc(limit=-6), model))
    return tally


def _messages(rng: Random, model: str, count: int, tally: Tally) -> None:
    from offramp_p4_tools.fuzz.messages import RandomController

    controller = RandomController(load_text(model, "random.p4"), rng)
    for _ in range(count):
        tally.counts.messages_accepted += controller.step() == "accepted"
        tally.counts.messages += 1
