# SPDX-License-Identifier: Apache-2.0
"""``simple_switch_CLI``: the commands of bmv2's run-time command line, with the output that scripts read."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, Final

from offramp_base.errors import OfframpError
from offramp_p4_tools.dropin.thrift.catalogue import InputError, read_catalogue
from offramp_p4_tools.dropin.thrift.client import ThriftClient
from offramp_p4_tools.dropin.thrift.commands import COMMANDS, LACKING, CommandSession
from offramp_p4_tools.dropin.thrift.services import RequestRefused, RequestUnsupported
from offramp_p4_tools.dropin.words import read_words

PROMPT: Final = "RuntimeCmd: "
_SWAP: Final = {1: "CONFIG_SWAP_DISABLED", 2: "ONGOING_SWAP", 3: "NO_ONGOING_SWAP"}
_ERRORS: Final = {
    "mt": ("table", {
        1: "TABLE_FULL", 2: "INVALID_HANDLE", 3: "EXPIRED_HANDLE", 4: "COUNTERS_DISABLED", 5: "METERS_DISABLED",
        6: "AGEING_DISABLED", 7: "INVALID_TABLE_NAME", 8: "INVALID_ACTION_NAME", 9: "WRONG_TABLE_TYPE",
        10: "INVALID_MBR_HANDLE", 11: "MBR_STILL_USED", 12: "MBR_ALREADY_IN_GRP", 13: "MBR_NOT_IN_GRP",
        14: "INVALID_GRP_HANDLE", 15: "GRP_STILL_USED", 16: "EMPTY_GRP", 17: "DUPLICATE_ENTRY", 18: "BAD_MATCH_KEY",
        19: "INVALID_METER_OPERATION", 20: "DEFAULT_ACTION_IS_CONST", 21: "DEFAULT_ENTRY_IS_CONST",
        22: "NO_DEFAULT_ENTRY", 23: "INVALID_ACTION_PROFILE_NAME", 24: "NO_ACTION_PROFILE_SELECTION",
        25: "IMMUTABLE_TABLE_ENTRIES", 26: "BAD_ACTION_DATA", 27: "NO_TABLE_KEY", 100: "ERROR",
    }),
    "counter": ("counter", {1: "INVALID_COUNTER_NAME", 2: "INVALID_INDEX", 3: "ERROR"}),
    "register": ("register", {1: "INVALID_REGISTER_NAME", 2: "INVALID_INDEX", 3: "ERROR"}),
    "meter": ("meter", {1: "INVALID_METER_NAME", 2: "INVALID_INDEX", 3: "BAD_RATES_LIST"}),
    "mc": ("PRE", {1: "TABLE_FULL", 2: "INVALID_MGID", 3: "INVALID_MGRP_HANDLE", 4: "INVALID_L1_HANDLE", 5: "ERROR"}),
    "mirroring": ("mirroring", {1: "SESSION_NOT_FOUND"}),
    "load": ("swap", _SWAP),
    "swap": ("swap", _SWAP),
    "dev": ("device manager", {1: "ERROR"}),
    "set": ("crc", {1: "INVALID_CALCULATION_NAME", 2: "WRONG_TYPE_CALCULATION", 3: "INVALID_CONFIG"}),
    "parse": ("parser value set", {1: "INVALID_PARSE_VSET_NAME", 2: "ERROR"}),
}  # fmt: skip
"""Names of refusals and their codes, by the word behind ``bm_`` in the method's name."""


def main(words: Sequence[str] | None = None, program: str = "simple_switch_CLI") -> int:
    """Read commands from standard input; returns the exit status."""
    known: dict[str, Any] = {"--thrift-port": "value", "--thrift-ip": "value", "--json": "value", "--help": "nothing"}
    try:
        line = read_words(sys.argv[1:] if words is None else words, known, {"--pre": "value"}, {"-h": "--help"})
        line.unknown = [name for name in line.unknown if name != "--pre"]
        line.name_unknown(program)
        if "--help" in line.options:
            sys.stdout.write(f"usage: {program} [--thrift-port PORT] [--thrift-ip IP] [--json FILE] < COMMANDS\n")
            return 0
        port = line.number("--thrift-port")
        with ThriftClient(line.last("--thrift-ip") or "127.0.0.1", 9090 if port is None else port) as client:
            run(client, sys.stdin, sys.stdout, json=line.last("--json"))
    except OfframpError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except (BrokenPipeError, KeyboardInterrupt):
        return 1
    return 0


def run(client: ThriftClient, commands: IO[str], out: IO[str], *, json: str | None = None) -> None:
    """Carry out commands, one for each line, until they end.

    Raises:
        OfframpError: the connection is lost.
    """
    out.write("Obtaining JSON from switch...\n")
    text = Path(json).read_text() if json is not None else client.call("standard", "bm_get_config")
    session = CommandSession(client, read_catalogue(text), out)
    out.write("Done\nControl utility for runtime P4 table manipulation\n")
    out.write(PROMPT)
    out.flush()
    for line in commands:
        word, _, rest = line.strip().partition(" ")
        if word in {"EOF", "exit", "quit"}:
            break
        if word and not word.startswith("#"):
            _command(session, word, rest.split(), out)
        out.write(PROMPT)
        out.flush()
    out.write("\n")


def _command(session: CommandSession, word: str, args: list[str], out: IO[str]) -> None:
    if word in {"help", "?"}:
        out.write("\n".join(sorted(COMMANDS)) + "\n")
        return
    command: Callable[..., None] | None = COMMANDS.get(word)
    if word in LACKING:
        out.write(f"Error: {word}: this command line lacks it: {LACKING[word]}\n")
        return
    if command is None:
        out.write(f"*** Unknown syntax: {' '.join([word, *args])}\n")
        return
    try:
        command(session, args)
    except (InputError, RequestUnsupported) as error:
        out.write(f"Error: {error}\n")
    except RequestRefused as refusal:
        kind, names = _refusal(str(refusal))
        out.write(f"Invalid {kind} operation ({names.get(refusal.code, refusal.code)})\n")


def _refusal(message: str) -> tuple[str, dict[int, str]]:
    method = message.partition(":")[0].removeprefix("bm_")
    if method == "set_toeplitz_hash_key":
        return "Toeplitz hash", _ERRORS["set"][1]
    return _ERRORS.get(method.partition("_")[0], ("operation", {}))


if __name__ == "__main__":
    sys.exit(main())
