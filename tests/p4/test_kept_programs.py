# SPDX-License-Identifier: Apache-2.0
"""Programs kept between processes: only as long as every file, macro and module is what it was."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import offramp_p4.frontend
from offramp_base.wire.batch import PacketBatch
from offramp_p4 import kept_programs
from offramp_p4.engines import make_switch
from offramp_p4.frontend import load
from offramp_p4.kept_programs import HERE, KEPT, code_files, contents_of
from offramp_p4.native import architecture
from offramp_p4.programs import load_program
from offramp_p4.runtime.p4info import generate
from offramp_p4_tools.bmv2.write import bmv2_text
from psa_orders import order as psa_order
from tna_programs import tna

HERE_TOO = Path(__file__).parent

PROGRAM = """
#include <core.p4>
#include <v1model.p4>
#include "size.p4"
header h_t { bit<SIZE> a; }
struct headers { h_t h; }
struct meta { }
parser P(packet_in b, out headers h, inout meta m, inout standard_metadata_t s) {
    state start { b.extract(h.h); transition accept; }
}
control V(inout headers h, inout meta m) { apply { } }
control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    action to(bit<9> port) { s.egress_spec = port; }
    table routes { key = { h.h.a : exact; } actions = { to; NoAction; } const entries = { 1 : to(3); } }
    apply { s.egress_spec = 2; routes.apply(); digest<bit<SIZE>>(1, h.h.a); h.h.a = h.h.a + 1; }
}
control E(inout headers h, inout meta m, inout standard_metadata_t s) { apply { } }
control D(packet_out b, in headers h) { apply { b.emit(h.h); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
"""

pytestmark = pytest.mark.p4


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir(mode=0o700)
    (tmp_path / "late").mkdir()
    (tmp_path / "size.p4").write_text("#define SIZE 16\n")
    path = tmp_path / "program.p4"
    path.write_text(PROGRAM)
    return path


def forbid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing be read by the front end from now on."""

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("the front end was called")

    monkeypatch.setattr(offramp_p4.frontend, "load", fail)


def width(path: Path, *include: Path, **defines: str) -> int:
    (table,) = load_program(path, include, defines).tables
    return int(table.keys[0].expr.type.width)  # type: ignore[attr-defined]


def test_a_kept_program_is_the_program(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load_program(program)
    forbid(monkeypatch)
    second = load_program(program)
    assert second is not first
    assert contents_of(second) == contents_of(first) is not None
    assert generate(second) == generate(first) == generate(load(program))
    outputs = []
    for each in (first, second):
        out = make_switch(each, "python").process(PacketBatch.of([(1, b"\0\1xyz"), (1, b"\0\2xyz")]))
        outputs.append(list(out))
    assert outputs == [[(3, b"\0\2xyz"), (2, b"\0\3xyz")]] * 2


def test_every_change_counts(program: Path, tmp_path: Path) -> None:
    assert width(program) == 16
    (tmp_path / "size.p4").write_text("#define SIZE 24\n")
    assert width(program) == 24
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "size.p4").write_text("#define SIZE 8\n")
    assert width(program, tmp_path / "late", tmp_path / "far") == 24, "the program's own folder comes first"
    (tmp_path / "size.p4").unlink()
    assert width(program, tmp_path / "late", tmp_path / "far") == 8
    (tmp_path / "late" / "size.p4").write_text("#define SIZE 32\n")
    assert width(program, tmp_path / "late", tmp_path / "far") == 32, "a file that was not there before comes earlier"
    program.write_text(PROGRAM.replace('#include "size.p4"', ""))
    assert width(program, SIZE="7") == 7
    assert width(program, SIZE="9") == 9


def test_another_installation_keeps_its_own(program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Positions name an installation's headers, by which lint knows what is not the user's."""
    width(program)
    monkeypatch.setattr(kept_programs, "HERE", tmp_path / "elsewhere")
    forbid(monkeypatch)
    with pytest.raises(AssertionError, match="the front end was called"):
        width(program)


def test_documents_of_other_compilers_are_kept_too(program: Path, tmp_path: Path) -> None:
    document = tmp_path / "program.json"
    for size in (16, 24):
        (tmp_path / "size.p4").write_text(f"#define SIZE {size}\n")
        document.write_text(bmv2_text(load(program)))
        first, second = load_program(document), load_program(document)
        assert contents_of(first) == contents_of(second) is not None
        assert generate(second) == generate(first)
        assert int(first.tables[0].keys[0].expr.type.width) == size  # type: ignore[attr-defined]
        switch = make_switch(second, "python")
        frame = bytes(size // 8 - 1) + b"\1xyz"
        assert switch.process_one(1, frame) == [(3, bytes(size // 8 - 1) + b"\2xyz")]


def test_what_is_damaged_or_empty_is_made_anew(program: Path, tmp_path: Path) -> None:
    assert width(program) == 16
    (kept,) = (tmp_path / "cache/offramp/p4-programs").iterdir()
    kept.write_bytes(kept.read_bytes()[:-1] + b"!")
    assert width(program) == 16


def test_declarations_of_installed_externs_are_not_kept(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("offramp_p4.frontend.syntax.includes.find_declaration", lambda _: "#define SIZE 16\n")
    program.write_text(PROGRAM.replace('"size.p4"', "<sizes.p4>"))
    assert width(program) == 16
    assert not (tmp_path / "cache/offramp/p4-programs").exists()
    assert contents_of(load_program(program)) is None


def test_machine_code_of_a_kept_program_needs_no_translation(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frames = PacketBatch.of([(1, b"\0\1xyz"), (4, b"\0\7xyz")])
    digests: list[list[object]] = []

    def run() -> list[tuple[int, bytes]]:
        switch = make_switch(load_program(program), "native")
        digests.append([])
        switch.on_digest = digests[-1].append
        return list(switch.process(frames))

    before = run()
    fail = lambda *_: pytest.fail("translated")  # noqa: E731
    monkeypatch.setattr(architecture, "translated", fail)
    assert run() == before
    assert digests[0] == digests[1]
    assert len(digests[0]) == 2


OTHERS = {
    "TNA": (
        tna(
            "hdr.h.c = h.get({hdr.h.w}); log.execute_log(); tm.ucast_egress_port = 1; tm.bypass_egress = 1;",
            local="""Hash<bit<16>>(HashAlgorithm_t.CRC16) h; Register<bit<8>, bit<8>>(3) reg;
            RegisterAction<bit<8>, bit<8>, bit<8>>(reg) log = {
                void apply(inout bit<8> value) { value = hdr.h.a; }
            };""",
        ),
        [bytes([a, 0, 0, 0, 7, 6, 5, a]) for a in range(5)],
    ),
    "PSA": ((HERE_TOO / "portable/psa.p4").read_text("utf-8"), [psa_order(port=3), psa_order(port=4)]),
    "PNA": (
        (HERE_TOO / "portable/pna.p4").read_text("utf-8"),
        [bytes([1, 7, 0, 0, 0, 0, 0, 4]), bytes([0, 7, *[0] * 6])],
    ),
}
"""Programs of other architectures whose translation adds to the plan, and frames that they send on."""


@pytest.mark.full
@pytest.mark.each
@pytest.mark.parametrize("name", OTHERS)
def test_modules_of_all_architectures_are_kept(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, frames = OTHERS[name]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = tmp_path / "program.p4"
    path.write_text(text)

    def run(engine: str) -> tuple[object, ...]:
        switch = make_switch(load_program(path), engine, seed=1)
        left = [switch.process_one(0, frame) for frame in frames]
        registers = {name: list(register.values) for name, register in switch.registers.items()}
        return left, registers, [[e.action for e in table.entries] for table in switch.tables.values()]

    first = run("native")
    monkeypatch.setattr(architecture, "translated", lambda *_: pytest.fail("translated"))
    assert run("native") == first == run("python")
    assert any(first[0])  # type: ignore[arg-type]


def test_the_key_holds_all_modules_of_the_front_end() -> None:
    modules = "(m.__file__ for n, m in sys.modules.items() if n[:10] == 'offramp_p4')"
    words = f"import sys, offramp_p4.frontend; print(*{modules}, sep='\\0', end='')"  # folders may have spaces
    files = subprocess.run([sys.executable, "-c", words], capture_output=True, check=True).stdout.split(b"\0")
    assert len(files) > 30
    assert {Path(os.fsdecode(f)) for f in files} - {HERE / "engine/__init__.py"} <= set(code_files())


def test_the_folder_is_the_user_s(program: Path, tmp_path: Path) -> None:
    assert width(program) == 16
    folder = tmp_path / "cache/offramp/p4-programs"
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o777)
    assert KEPT.get("any") is None
    assert width(program) == 16
