# SPDX-License-Identifier: Apache-2.0
"""P4 programs with tokens deleted, doubled, swapped or replaced: on both engines they load or are refused in a line.

The programs are this repository's own, and those below the folder that ``OFFRAMP_P4_PROGRAMS`` names: a checkout of
anything public.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

from offramp_base.errors import OfframpError
from offramp_p4.frontend import load, load_text
from offramp_p4.frontend.syntax.lexer import tokenize
from offramp_p4.native.architecture import architecture, build
from offramp_p4.runtime import p4info
from offramp_p4.switch import Switch

NAME = "P4 programs"
LINES = 3  # the message, the line, the caret
LIMIT_S = 20.0
MEMORY_MIB = 2048
_ROOT = Path(__file__).parents[2]
_OWN = ("p4", "tests/p4/stf", "tests/p4/tna", "tests/p4/runtime")
_LONGEST = 1 << 17  # characters of a program whose mutants take no longer than is useful
_MODELS: list[str] = []
_TOKENS = (
    *(
        "int",
        "bit<0>",
        "bit<2049>",
        "_",
        "...",
        "{#}",
        "varbit<8>",
        "header",
        "struct",
        "this",
        "list<bit<8>>",
        "tuple<>",
    ),
    *(
        "error",
        "true",
        "default",
        "exit",
        "return",
        "inout",
        "const",
        "{",
        "}",
        "(",
        ")",
        "<",
        ">",
        ";",
        ".",
        "[0]",
        "[x]",
    ),
    *(
        '@name("x")',
        "@optional",
        "apply",
        "#if 1",
        "type",
        "extern",
        "abstract",
        "switch",
        "for",
        "in",
        "&&&",
        "..",
        "++",
    ),
)
_NUMBERS = ("0", "1", "255", "65536", "0xFFFFFFFFFFFFFFFFFFFF", "8w0", "-1", "4294967296", "1s1", "0w0", "2048", "16s7")


def prepare() -> None:
    """Read the programs: those that load are models."""
    folders = [_ROOT / name for name in _OWN]
    given = os.environ.get("OFFRAMP_P4_PROGRAMS")
    for folder in [*folders, *([Path(given)] if given else [])]:
        for path in sorted(folder.rglob("*.p4")):
            try:
                text = load(path, include=[path.parent, *path.parents[:3]]).source
            except OfframpError:
                continue
            if len(text) <= _LONGEST:
                _MODELS.append(text)


def run(rng: random.Random) -> None:
    """One mutant: refused with a short message, or loaded, described, translated and run for a few packets."""
    program = load_text(_mutant(rng, rng.choice(_MODELS)), "mutant.p4")
    p4info.generate(program)
    switch = Switch(program, max_passes=10, max_steps=1 << 14, max_state=1 << 22)
    if program.main.type_name == "V1Switch":
        build(program, architecture(program).objects(program))
    for frame in (b"", bytes(64), rng.randbytes(200)):
        switch.process_one(rng.randrange(4), frame)


def _mutant(rng: random.Random, text: str) -> str:
    words = ["\n" if t.kind == "nl" else t.text for t in tokenize(text, "model.p4")[:-1]]
    for _ in range(rng.randint(1, 3)):
        at, kind = rng.randrange(len(words)), rng.randrange(6)
        if kind == 0:
            del words[at : at + rng.choice((1, 1, 1, 3, 10))]
        elif kind == 1:
            words[at:at] = words[at : at + rng.choice((1, 1, 3, 20, 60))]
        elif kind == 2:
            other = rng.randrange(len(words))
            words[at], words[other] = words[other], words[at]
        elif kind == 3:
            numbers = [i for i, word in enumerate(words) if word[0].isdigit()] or [at]
            words[rng.choice(numbers)] = rng.choice(_NUMBERS)
        else:
            words[at] = rng.choice(words) if kind == 4 else rng.choice(_TOKENS)
        words = words or [";"]
    return " ".join(words)
