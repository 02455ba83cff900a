# SPDX-License-Identifier: Apache-2.0
"""P4 source as a controller pushes it: nearly right programs, tokens, bytes, and what grows by powers of two."""

from __future__ import annotations

import random
from pathlib import Path

from fuzzing import mutate
from offramp_base.errors import OfframpError
from offramp_p4.frontend import load, load_pushed
from offramp_p4.runtime import p4info
from offramp_p4.source import quoting_only_given
from offramp_p4.switch import Switch
from offramp_p4_tools.fuzz.noise import random_source
from offramp_p4_tools.fuzz.programs import random_program

NAME = "P4 source"
LINES = 3  # the message, the line, the caret
LIMIT_S = 20.0
MEMORY_MIB = 2048
_ROOT = Path(__file__).parents[2]
_SOURCES = ("p4/examples/reflector.p4", "switch/offramp_p4/bench/router.p4", "tests/p4/runtime/features.p4")
_MODELS: list[str] = []
_SECRET = "the line that nobody may read"
_LONGEST = 4000


def prepare() -> None:
    """Read the programs that cases are made of; a file with a secret stands beside."""
    _MODELS.extend(load(_ROOT / path).source for path in _SOURCES)
    Path("secret.p4").write_text(_SECRET, "utf-8")


def run(rng: random.Random) -> None:
    """One program: refused within its budgets with a short message, or loaded, described and run for a packet."""
    text = mutate.mostly(rng, lambda: _near(rng), lambda: _growing(rng), lambda: _reading(rng), lambda: _noise(rng))
    try:
        with quoting_only_given():
            program = load_pushed(text, "pushed.p4")
            switch = Switch(program, max_passes=10, max_steps=1 << 14, max_state=1 << 22)
            p4info.generate(program)
            for frame in (b"", bytes(64), rng.randbytes(200)):
                switch.process_one(rng.randrange(4), frame)
    except OfframpError as error:
        if _SECRET in str(error) or len(str(error)) > _LONGEST:
            raise AssertionError("the message tells or says too much") from error
        raise


def _model(rng: random.Random) -> str:
    return rng.choice(_MODELS) if rng.random() < 0.5 else random_program(rng.randrange(1 << 30)).text


def _near(rng: random.Random) -> str:
    model = _model(rng)
    return mutate.text(rng, model) if rng.random() < 0.3 else random_source(rng, model)


def _noise(rng: random.Random) -> str:
    return mutate.raw(rng, _model(rng).encode()[:2000]).decode("utf-8", "replace")


def _reading(rng: random.Random) -> str:
    name = rng.choice(("secret.p4", str(Path("secret.p4").resolve()), "/proc/self/environ", ".", "/dev/stdin"))
    marker = rng.choice(('#include "{}"', "#include <{}>", '# 1 "{}"', '#line 1 "{}"', '#define X "{}"\n#include X'))
    lines = _model(rng).splitlines()
    lines.insert(rng.randrange(len(lines) + 1), marker.format(name))
    return "\n".join(lines)


def _growing(rng: random.Random) -> str:
    """A step repeated so often that what it makes is beyond every budget."""
    first, step = rng.choice(
        (
            ("#define N0 x", "#define N{n} N{m} N{m}"),
            ("#define N0(x) x", "#define N{n}(x) N{m}(N{m}(x))"),
            ("struct N0 {{ bit<8> a; }}", "struct N{n} {{ N{m} a; N{m} b; }}"),
            ("header N0 {{ bit<8> a; }}", "typedef N{m}[16] N{n};"),
            ("typedef bit<8> N0;", "typedef tuple<N{m}, N{m}> N{n};"),
            ("const int N0 = 7;", "const int N{n} = N{m} * N{m};"),
            ("const bit<8> N0 = 7;", "const bit<{w}> N{n} = N{m} ++ N{m};"),
            ("control N0() {{ apply {{}} }}", "control N{n}() {{ N{m}() a; N{m}() b; apply {{ a.apply(); }} }}"),
            (
                "bit<8> N0(in bit<8> x) {{ return x; }}",
                "bit<8> N{n}(in bit<8> x) {{ return N{m}(x) + N{m}(x); }}",
            ),
        )
    )
    count = rng.choice((3, 12, 40))
    lines = [first.format()]
    lines += [step.format(n=n, m=n - 1, w=8 << n) for n in range(1, count)]
    if "define" in first:
        lines.append(f"N{count - 1}(y)")
    model = _model(rng)
    at = model.find("header ")
    return model[:at] + "\n".join(lines) + "\n" + model[at:]
