# SPDX-License-Identifier: Apache-2.0
"""Digests of all machine code that the compiled Python emits, to compare two states of the sources.

``python tests/support/native_digest.py record FILE`` compiles every public marked function of the packages by itself,
and some P4 programs, with the options of the product; ``… compare OLD NEW`` names what differs and exits with 1 if
anything does. ``--only TEXT`` records the modules and programs that have TEXT in their names.

A digest is of the object file without its file name; ``ir`` is of the LLVM assembly before optimisation with the
values' names and numbers left out. A digest holds for one version of LLVM on one kind of processor.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from offramp_base.native.compiler import compile_here
from offramp_base.native.expressions import kind_of, llvm_type
from offramp_base.native.llvm import AliasTags, ll
from offramp_base.native.lowering import RuntimeLibrary

_ROOT: Final = Path(__file__).parents[2]
_PACKAGES: Final = ("base", "switch", "host", "sim")
_MARKS: Final = re.compile(r"^@(native|inlined)$", re.MULTILINE)
_PROGRAMS: Final = (
    "p4/switchgnn/v1model.p4",
    "p4/switchgnn/replicated_v1model.p4",
    "p4/hermod/v1model.p4",
    "tests/p4/runtime/features.p4",
    "tests/p4/stf/tables.p4",
    "tests/p4/stf/copies.p4",
    "tests/p4/stf/replication.p4",
    "tests/p4/stf/registers.p4",
    "tests/conformance/digest.p4",
    "p4/switchgnn/tna.p4",
    "p4/kvcache/tna.p4",
    "p4/hermod/tna.p4",
    "tests/p4/tna/programs/aggregate.p4",
    "tests/p4/portable/psa.p4",
    "tests/p4/portable/pna.p4",
)


class _Fields(Mapping[str, "tuple[int, int]"]):
    """A place for every field of a packet's memory, by its name alone."""

    def __getitem__(self, name: str) -> tuple[int, int]:
        return 8 * (int(hashlib.sha256(name.encode()).hexdigest(), 16) % 4096), 8

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


class _Library(RuntimeLibrary):
    """Functions that the compiled program would supply are declared only."""

    def function(self, python: Callable[..., Any], *, exported: bool = False) -> Any:
        if python.__dict__.get("native") != "supplied":
            return super().function(python, exported=exported)
        if python.__name__ not in self.supplied:
            notes = {name: kind_of(str(note), python.__globals__) for name, note in python.__annotations__.items()}
            result = llvm_type(notes.pop("return"))
            kind = ll.FunctionType(result, [llvm_type(note) for note in notes.values()])
            self.supplied[python.__name__] = ll.Function(self.module, kind, python.__name__)  # type: ignore[index]
        return self.supplied[python.__name__]


def _functions(only: str) -> Iterator[tuple[str, str]]:
    """Name and LLVM assembly of each public marked function."""
    for package in _PACKAGES:
        for path in sorted((_ROOT / package).rglob("*.py")):
            name = ".".join(path.relative_to(_ROOT / package).with_suffix("").parts)
            if only in name and _MARKS.search(path.read_text()):
                yield from _of_module(name, importlib.import_module(name))


def _of_module(name: str, imported: Any) -> Iterator[tuple[str, str]]:
    for member, python in vars(imported).items():
        if member.startswith("_") or getattr(python, "__module__", "") != name:
            continue
        if getattr(python, "__dict__", {}).get("native") in {"native", "inlined"}:
            module = ll.Module("digest")
            _Library(module, AliasTags(module), _Fields(), {}).function(python, exported=True)
            yield f"{name}.{member}", str(module)


def _programs(only: str) -> Iterator[tuple[str, str]]:
    """Name and LLVM assembly of P4 programs, without queues and with them."""
    from offramp_p4.frontend import load
    from offramp_p4.native.architecture import PacketMode, architecture, build

    for path in _PROGRAMS:
        if only not in path:
            continue
        program = load(_ROOT / path)
        objects = architecture(program).objects(program)
        for way in (PacketMode.BATCH, PacketMode.QUEUED):
            text = build(program, objects, way).text
            yield path + (" queued" if way is PacketMode.QUEUED else ""), text.replace(str(_ROOT), "")


def _normal(text: str) -> str:
    """Without what the values and blocks are called."""
    return re.sub(r'%"[^"]*"|%\.\d+|^[^ ]*:$', "%", text, flags=re.MULTILINE)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def record(only: str) -> dict[str, dict[str, str]]:
    """Digests by name of what was compiled."""
    digests = {}
    for source in (_functions, _programs):
        for name, text in source(only):
            digests[name] = {"ir": _digest(_normal(text).encode()), "code": _digest(compile_here(text))}
    return digests


def compare(old: dict[str, dict[str, str]], new: dict[str, dict[str, str]]) -> int:
    """Print what differs; returns 1 if the machine code of anything does, or if something is missing."""
    gone, added = sorted(old.keys() - new.keys()), sorted(new.keys() - old.keys())
    common = sorted(old.keys() & new.keys())
    code = [name for name in common if old[name]["code"] != new[name]["code"]]
    ir = [name for name in common if old[name]["ir"] != new[name]["ir"]]
    for what, names in (("gone", gone), ("added", added), ("machine code differs", code)):
        for name in names:
            sys.stdout.write(f"{what}: {name}\n")
    counts = f"machine code of {len(code)} differs, assembly before optimisation of {len(ir)}"
    sys.stdout.write(f"{len(common)} compared: {counts}\n")
    return int(bool(code or gone))


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record")
    recording.add_argument("file", type=Path)
    recording.add_argument("--only", default="")
    comparing = commands.add_parser("compare")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    args = parser.parse_args()
    if args.command == "record":
        args.file.write_text(json.dumps(record(args.only), indent=1) + "\n")
        return 0
    return compare(json.loads(args.old.read_text()), json.loads(args.new.read_text()))


if __name__ == "__main__":
    sys.exit(main())
