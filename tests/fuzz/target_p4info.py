# SPDX-License-Identifier: Apache-2.0
"""P4Info from a file, as text and as binary protobuf."""

from __future__ import annotations

import random
from pathlib import Path

from fuzzing import mutate, render
from offramp.p4src import p4_source
from offramp_base.p4rt import p4info

NAME = "P4Info files"
_TEXT: list[str] = []
_BINARY: list[bytes] = []


def prepare() -> None:
    """SwitchGNN's."""
    from google.protobuf import text_format

    from offramp_p4.frontend import load
    from offramp_p4.runtime.p4info import generate

    info = generate(load(p4_source("switchgnn/v1model.p4")))
    _TEXT.append(text_format.MessageToString(info))
    _BINARY.append(info.SerializeToString())


def run(rng: random.Random) -> None:
    """One file."""
    if rng.random() < 0.5:
        path = render.write(Path("p4info.bin"), mutate.raw(rng, _BINARY[0]))
    else:
        depth = rng.choice((1, 1, 1, 10_000))
        text = mutate.text(rng, _TEXT[0]) if depth == 1 else "tables {" * depth
        path = render.write(Path("p4info.txt"), text.encode("utf-8", "surrogatepass"))
    p4info.load(path)
