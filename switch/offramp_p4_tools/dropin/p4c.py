# SPDX-License-Identifier: Apache-2.0
"""``p4c`` and its back ends for bmv2 with our front end: the same options, the same files.

p4c's driver takes ``-o`` as a folder, its back end as a file; the name of the program says which one this is.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from offramp_base.errors import OfframpError
from offramp_p4_tools.dropin.words import CommandWords, Takes, read_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from offramp_p4 import ir

DRIVER: Final = "p4c"
_ARCHITECTURES: Final = {"p4c-bm2-psa": "psa", "p4c-bm2-pna": "pna"}
"""The architectures of the back ends' programs."""
_KNOWN: Final[dict[str, Takes]] = {
    "-o": "value",
    "-I": "value",
    "-D": "value",
    "--p4runtime-files": "value",
    "--p4runtime-file": "value",
    "--p4runtime-format": "value",
    "--target": "value",
    "--arch": "value",
    "--std": "value",
    "--p4v": "value",
    "--version": "nothing",
    "--help": "nothing",
}
_IGNORED: Final[dict[str, Takes]] = dict.fromkeys(
    (
        "-U",
        "-W",
        "-T",
        "--toJSON",
        "--pp",
        "--dump",
        "--top4",
        "--metrics",
        "--maxErrorCount",
        "--excludeFrontendPasses",
        "--excludeMidendPasses",
        "--p4runtime-entries-file",
        "--p4runtime-entries-files",
        "--disable-annotations",
        "-MF",
        "-MT",
        "-MQ",
    ),
    "value",
)
_ALIASES: Final = {"-b": "--target", "-a": "--arch", "-x": "--std", "-h": "--help", "-v": "-v"}


def main(words: Sequence[str] | None = None, program: str = "p4c-bm2-ss") -> int:
    """Compile; returns the exit status."""
    try:
        line = read_words(sys.argv[1:] if words is None else words, _KNOWN, _IGNORED, _ALIASES)
        line.name_unknown(program)
        _run(line, program)
    except OfframpError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


def take_foreign(words: Sequence[str], program: str) -> list[str]:
    """``words`` without the options of p4c that have no effect, which standard error names once."""
    own: dict[str, Takes] = {name: _KNOWN[name] for name in ("-o", "-I", "-D", "--p4runtime-files", "--help")}
    own |= {"--out": "value", "--output": "value", "--include": "value", "--define": "value", "--settings": "value"}
    silent: dict[str, Takes] = {name: takes for name, takes in _KNOWN.items() if name not in own}
    line = read_words(words, own, {**_IGNORED, **silent}, {name: to for name, to in _ALIASES.items() if name != "-v"})
    line.unknown = [name for name in line.unknown if name not in silent]
    line.name_unknown(program)
    kept = [
        part
        for name, values in line.options.items()
        for v in values
        for part in ((name, v) if own[name] == "value" else (name,))
    ]
    return [*kept, *line.positions]


def _run(line: CommandWords, program: str) -> None:
    if "--version" in line.options:
        from offramp_base import __version__

        sys.stdout.write(f"{program} (offramp) {__version__}\n")
        return
    if "--help" in line.options:
        sys.stdout.write(
            f"usage: {program} [-o OUT] [--p4runtime-files FILE[,FILE]] [-I FOLDER] [-D NAME=VALUE] PROGRAM.p4\n"
        )
        return
    if len(line.positions) != 1:
        raise OfframpError(f"{program}: expected one P4 program, got {len(line.positions)}")
    if (line.last("--std") or "").lower() in {"p4-14", "p4_14"} or line.last("--p4v") in {"14", "1.0"}:
        raise OfframpError(f"{program}: P4-14 is not supported")
    if (line.last("--target") or "bmv2") != "bmv2":
        raise OfframpError(f"{program}: --target {line.last('--target')}: bmv2 is the only target")
    source = Path(line.positions[0])
    loaded = _load(source, line)
    _check_architecture(loaded, line.last("--arch") or _ARCHITECTURES.get(program), program)
    write_outputs(loaded, *_outputs(line, source, program), form=line.last("--p4runtime-format") or "text")


def _check_architecture(loaded: ir.Program, wanted: str | None, program: str) -> None:
    from offramp_p4.architecture import architecture_of

    if wanted is not None and architecture_of(loaded).name != wanted:
        raise OfframpError(f"{program}: {loaded.file} is for {architecture_of(loaded).name}, not for {wanted}")


def _load(source: Path, line: CommandWords) -> ir.Program:
    from offramp_p4.frontend import load

    defines: dict[str, str] = {}
    for text in line.options.get("-D", ()):
        name, equals, value = text.partition("=")
        defines[name] = value if equals else "1"
    return load(source, include=[Path(folder) for folder in line.options.get("-I", ())], defines=defines)


def _outputs(line: CommandWords, source: Path, program: str) -> tuple[Path | None, list[Path]]:
    """Paths of the JSON, and of the P4Info."""
    infos = [
        Path(n)
        for option in ("--p4runtime-files", "--p4runtime-file")
        for v in line.options.get(option, ())
        for n in v.split(",")
    ]
    out = line.last("-o")
    if program == DRIVER and not (out or "").endswith(".json"):
        folder = Path(out or ".")
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{source.stem}.json", infos
    return (Path(out) if out else None), infos


def write_outputs(
    program: ir.Program,
    document: Path | None,
    infos: Sequence[Path],
    *,
    form: str = "text",
    bfrt: Path | None = None,
) -> None:
    """Write bmv2's JSON, P4Info and ``bf-rt.json``; nothing is written if anything is refused.

    Raises:
        OfframpError: the program is refused, or a file cannot be written.
    """
    from offramp_p4.runtime.p4info import generate
    from offramp_p4.runtime.p4info_files import p4info_bytes, p4info_form
    from offramp_p4_tools.bmv2.write import bmv2_text

    outputs: list[tuple[Path, bytes]] = []
    if document is not None or not (infos or bfrt):
        text = bmv2_text(program).encode()
        outputs += [] if document is None else [(document, text)]
    if infos:
        info = generate(program)
        outputs += [(path, p4info_bytes(info, p4info_form(path, form))) for path in infos]
    if bfrt is not None:
        from offramp_p4_tools.bfrt.describe import describe

        outputs.append((bfrt, describe(program).json().encode()))
    for path, data in outputs:
        try:
            path.write_bytes(data)
        except OSError as error:
            raise OfframpError(f"{path}: cannot be written: {error.strerror}") from None


if __name__ == "__main__":
    sys.exit(main())
