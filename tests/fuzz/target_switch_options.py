# SPDX-License-Identifier: Apache-2.0
"""The options of ``offramp switch run``, which are bmv2's: any words in any order, up to where ports would open."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import typer

from fuzzing import mutate
from offramp_base.errors import OfframpError

NAME = "options of switch run"
_REFUSAL: Any = typer.BadParameter.__mro__[2]  # of whatever click typer brings
ALLOWED = (_REFUSAL, typer.Exit, typer.Abort)
LINES = 3
_WORDS = (
    "--no-p4", "prog.p4", "prog.json", "-i", "--interface", "1@veth1", "1@unix:/tmp/x", "2@udp:127.0.0.1:0", "@", "1@",
    "9" * 400 + "@a", "--grpc-server-addr", "127.0.0.1:0", "0.0.0.0:1", "unix:x", ":", "[::1]:0", "a:b", "--insecure",
    "--grpc-cert", "--grpc-key", "--grpc-ca", "--translation", "--device-id", "--cpu-port", "-I", "-D", "A=1", "=",
    "--drop-port", "--pcap", "--", "--log-console", "--log-file", "--trace", "-L", "--log-level", "info", "--seed",
    "--engine", "native", "python", "--priority-queues", "--port-rate", "1gbit", "--queue-weight", "0=1",
    "--queue-share", "--buffer",
    "--queue-buffer", "--queue-packets", "--ecn-threshold", "--recirculation-rate", "--max-message", "--transport",
    "--compile-seconds", "--compile-memory", "--register-memory", "--packet-steps", "0", "-1", "1e309", "nan", "4",
    "18446744073709551616", "", " ", "\u0000", "é", "--help", "--nothing", "/dev/null", ".",
)  # fmt: skip
_COMMAND: list[Any] = []


class _Reached(OfframpError):
    """The options are taken; what follows would open ports."""


def prepare() -> None:
    """Put a stop behind the options."""
    from offramp_cli.app import app
    from offramp_p4 import serve

    def stop(settings: Any, _: Any) -> None:
        serve.Settings.from_json(settings.to_json())
        raise _Reached("taken")

    serve.run = stop
    _COMMAND.append(typer.main.get_command(app))
    Path("prog.p4").write_text("x", "utf-8")


def run(rng: random.Random) -> None:
    """One command line."""
    words = [rng.choice(_WORDS) for _ in range(rng.randint(0, 8))]
    if rng.random() < 0.3:
        words = [mutate.text(rng, word) if word and rng.random() < 0.5 else word for word in words]
    if rng.random() < 0.7:
        words.insert(0, "--no-p4")
    _COMMAND[0].main(["switch", "run", *words], standalone_mode=False, prog_name="offramp")
