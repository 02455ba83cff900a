# SPDX-License-Identifier: Apache-2.0
"""Programs that a controller pushes: what they may read, quote, and take of the machine.

Oracle: files with a word that must come back nowhere; limits that are set low; the switch works on afterwards.
Blind to what a program can learn from how long its compilation takes.
"""

from __future__ import annotations

import re
import time

import pytest

from in_process_switch import LocalConnection
from offramp_base.errors import OfframpError
from offramp_base.native.cache import ObjectCache
from offramp_base.p4rt.schema import config
from offramp_base.p4rt.session import Session
from offramp_base.p4rt.status import Code, RpcError
from offramp_p4.embedded import EmbeddedSwitch
from offramp_p4.frontend import load
from offramp_p4.maker import SwitchMaker
from offramp_p4.native.architecture import PacketMode
from offramp_p4.runtime.bounded import BoundedCompiler, CompileBudget
from offramp_p4.runtime.device import P4Device
from offramp_p4.runtime.service import P4RuntimeService
from offramp_p4.trace.sinks import TraceSink
from p4_programs import program

SECRET = "hunter2"


@pytest.fixture
def session():
    """A controller of a switch that compiles what is pushed in this process."""
    device = P4Device(0, SwitchMaker(engine="python"))
    with Session(LocalConnection(P4RuntimeService(device))) as opened:
        yield opened


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret.p4"
    path.write_text(f"{SECRET}\n")
    return path


def refusal(session, text, **options):
    with pytest.raises(RpcError) as caught:
        session.push(options.pop("info", b""), text.encode(), **options)
    assert caught.value.code is Code.INVALID_ARGUMENT
    return caught.value.message


# --- what it may read


def forms(path):
    name = str(path)
    yield f'#include "{name}"'
    yield f"#include <{name}>"
    yield f'#define FILE "{name}"\n#include FILE'
    yield f"#define FILE <{name[1:]}>\n#include FILE"
    yield f'#include "{"../" * 30}{name[1:]}"'
    yield f"#include <{'../' * 30}{name[1:]}>"
    yield f'#include "./{"../" * 30}{name[1:]}"'
    yield f'# 1 "{path.parent}/x.p4"\n#include "{path.name}"'
    yield f'#line 1 "{path.parent}/x.p4"\n#include "{path.name}"'


@pytest.mark.parametrize("at", range(9))
def test_files_cannot_be_included_and_missing_ones_answer_alike(session, secret, at):
    missing = secret.with_name("nobody.p4")
    answers = [refusal(session, list(forms(path))[at]) for path in (secret, missing)]
    assert SECRET not in answers[0]
    assert answers[0].replace(secret.name, "?") == answers[1].replace(missing.name, "?")
    assert "may include core.p4" in answers[0]


def test_folders_links_and_unreadable_names_answer_alike(session, tmp_path, secret):
    (tmp_path / "link.p4").symlink_to(secret)
    names = [
        str(tmp_path),
        str(tmp_path / "link.p4"),
        "/proc/self/environ",
        "/dev/zero",
        "a" * 5000,
        "a\\0b",
        "core.p4/",
        "",
    ]
    for name in names:
        assert "include refused: a pushed program may include" in refusal(session, f'#include "{name}"')


@pytest.mark.parametrize("marker", ['# 1 "{}"', '#line 1 "{}"'])
def test_messages_quote_nothing_but_what_was_pushed(session, secret, marker):
    text = marker.format(secret) + "\nnonsense here;\n"
    assert SECRET not in refusal(session, text)
    load_error = refusal(session, "nonsense here;")
    assert "nonsense here;" in load_error  # which is the pushed text


def test_the_name_in_the_p4info_names_no_file(session, secret):
    info = config.P4Info()
    info.pkg_info.name = str(secret)
    message = refusal(session, "\nx", info=info)
    assert SECRET not in message
    info.pkg_info.name = "a" * 100_000 + "\x1b[2J"
    assert len(refusal(session, "x", info=info)) < 1000


def test_what_another_program_was_read_from_is_not_quoted(session, tmp_path):
    """The text of a local program is remembered for its own messages only."""
    local = tmp_path / "local.p4"
    local.write_text(program("// " + SECRET))
    load(local)
    assert SECRET not in refusal(session, f'# 1 "{local}"\n' + "\n" * 13 + "nonsense")


def test_our_own_headers_can_be_included(session):
    session.push(b"", b"#include <v1model.p4>\n" + program("hdr.h.a = 1;").encode())


def test_long_lines_are_cut(session):
    message = refusal(session, "x" * 1_000_000)
    assert len(message) < 3000


# --- what it may take: refused in the phases of the compiler, in whatever process

DOUBLING = "\n".join(f"#define M{n} M{n - 1} M{n - 1}" for n in range(1, 40))
STRUCTS = "struct s0 {bit<8> a;}\n" + "\n".join(f"struct s{n} {{s{n - 1} a; s{n - 1} b;}}" for n in range(1, 40))
TUPLES = "typedef tuple<> t0;\n" + "\n".join(f"typedef tuple<t{n - 1}, t{n - 1}> t{n};" for n in range(1, 40))
PAIRS = "struct P<A, B> {bit<8> x;}\ntypedef bit<8> p0;\n" + "\n".join(
    f"typedef P<p{n - 1}, p{n - 1}> p{n};" for n in range(1, 40)
)
CONTROLS = "control c0() { apply {} }\n" + "\n".join(
    f"control c{n}() {{ c{n - 1}() x; c{n - 1}() y; apply {{ x.apply(); y.apply(); }} }}" for n in range(1, 40)
)
FUNCTIONS = "bit<8> f0(in bit<8> a) { return a + 1; }\n" + "\n".join(
    f"bit<8> f{n}(in bit<8> a) {{ return f{n - 1}(a) + f{n - 1}(a); }}" for n in range(1, 40)
)
SQUARES = "const int q0 = 3;\n" + "\n".join(f"const int q{n} = q{n - 1} * q{n - 1};" for n in range(1, 60))
STRINGS = 'const string z0 = "ab";\n' + "\n".join(f"const string z{n} = z{n - 1} ++ z{n - 1};" for n in range(1, 60))
WIDE = "const bit<1000> w0 = 1;\n" + "\n".join(
    f"const bit<{1000 << n}> w{n} = w{n - 1} ++ w{n - 1};" for n in range(1, 22)
)
NEST = 100_000

CONTROLS += "\ncontrol d() { c39() x; apply { x.apply(); } }"

BOMBS = {
    "macros that double": (DOUBLING + "\n#define M0 x\nM39", "includes and macros make more than"),
    "macros in macros": ("\n".join(f"#define N{n} N{n + 1}" for n in range(1000)) + "\nN0", "macros are nested deeper"),
    "an include of itself": ("#include <core.p4>\n" * 50_000, "make more than"),
    "nested conditions": ("#if " + "(" * NEST + "1" + ")" * NEST + "\n#endif", "nested too deeply"),
    "nested parentheses": (program(f"hdr.h.a = {'(' * NEST}1{')' * NEST};"), "nested too deeply"),
    "nested blocks": (program("{" * NEST + "}" * NEST), "nested too deeply"),
    "nested calls of macros": ("#define F(x) x\n" + "F(" * NEST + ")" * NEST, "nested too deeply|make more than"),
    "a huge shift": (program("", top="const int x = 1 << 1000000000;"), "shift by more than"),
    "a huge shift of a shift": (program("", top="const int x = (1 << 8000) << 8000;"), "bits at compile time"),
    "squares of squares": (program("", top=SQUARES), "bits at compile time"),
    "strings that double": (program("", top=STRINGS), "a string of more than"),
    "numbers that double": (program("", top=WIDE), "width of bit<>|bits; at most"),
    "a huge literal": (program("", top="const int x = 0x" + "f" * 1_000_000 + ";"), "a number of more than"),
    "a huge decimal": (program("", top="const int x = " + "9" * 1_000_000 + ";"), "not an integer literal"),
    "a huge width": (program("", top="typedef bit<1000000000> t;"), "width of bit<>"),
    "a huge literal's width": (program("", top="const bit<8> x = 99999999999999999999w1;"), "a number of more than"),
    "structs that double": (program("", top=STRUCTS), "a type of more than"),
    "tuples that double": (program("", top=TUPLES), "a type of more than"),
    "names that double": (program("", top=PAIRS), "type arguments whose names"),
    "stacks of stacks": (program("", top="typedef bit<8>[65536] a; typedef a[65536] b;"), "a type of more than"),
    "controls that double": (program("k.apply();", top=CONTROLS, local="d() k;"), "parsers and controls"),
    "functions that double": (program("hdr.h.a = f39(1);", top=FUNCTIONS), "a packet may run"),
    "a huge register": (program("", local="register<bit<64>>(4294967295) r;"), "the arrays of the program"),
    "many registers": (program("", local="".join(f"register<bit<64>>(100000000) r{n};" for n in range(9))),
                       "the arrays of the program"),
    "a huge counter": (program("c.count(0);", local="counter(4294967295, CounterType.packets) c;"), "the arrays of"),
    "a huge meter": (program("bit<8> m; c.execute_meter(0, m);", local="meter(4294967295, MeterType.bytes) c;"),
                     "the arrays of"),
    "a line number without end": ("# " + "9" * 10_000 + ' "f"\nx', "."),
    "a line number that is none": ("# 8w300\nx", "."),
    "a file name without end": (f'# 1 "{"f" * 1_000_000}"\nx', "."),
}  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_refused_with_a_line(session, name):
    text, message = BOMBS[name]
    start = time.process_time()
    answer = refusal(session, text)
    assert re.search(message, answer), answer[:300]
    assert len(answer) < 3000
    assert time.process_time() - start < 60
    session.push(b"", program("hdr.h.a = 1;").encode())  # all is as before


# --- what it may take of the process that compiles it

MANY = program(
    "".join(f"if (hdr.h.a == {n % 256} && hdr.h.c == {n}) {{ hdr.h.b = hdr.h.b + {n % 200}; }}" for n in range(4000))
)


def compiler(**budget):
    return BoundedCompiler(SwitchMaker(), CompileBudget(**budget))


@pytest.mark.full
def test_compilation_ends_when_its_time_is_over():
    with pytest.raises(OfframpError, match=r"the program takes more than 1 s to compile"):  # noqa: SIM117
        with compiler(seconds=1.0).trying(MANY + f"// {time.time_ns()}", "many.p4"):
            raise AssertionError("the program has been compiled")


@pytest.mark.full
def test_compilation_ends_when_its_memory_is_used_up():
    text, budget = program("r.write(0, 1);", local="register<bit<64>>(100000000) r;"), CompileBudget(memory=512 << 20)
    with pytest.raises(OfframpError, match=r"the program takes more than 512 MB of memory to compile"):  # noqa: SIM117
        with BoundedCompiler(SwitchMaker(engine="python"), budget).trying(text, "wide.p4"):
            raise AssertionError("the program has been compiled")


@pytest.mark.full
def test_a_program_is_tried_once(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    text, make = program("hdr.h.a = 77;"), SwitchMaker()
    built = []
    for _ in range(2):
        with BoundedCompiler(make).trying(text, "prog.p4") as cache:
            built.append(type(cache) is ObjectCache)
            from offramp_p4.frontend import load_pushed

            switch = make(load_pushed(text, "prog.p4"), cache)
    assert built == [False, True]
    assert switch.code(PacketMode.BATCH).cached


@pytest.mark.full
def test_the_parent_compiles_nothing(monkeypatch, tmp_path):
    """Machine code comes from the other process, also where the cache cannot keep it."""
    from offramp_base.native import compiler as native
    from offramp_p4.frontend import load_pushed

    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))

    def never(*_):
        raise AssertionError("compiled here")

    text, make = program("hdr.h.a = 78; sm.egress_spec = 3;"), SwitchMaker(engine="native")
    with BoundedCompiler(make).trying(text, "prog.p4") as cache:
        monkeypatch.setattr(native, "_compile", never)
        switch = make(load_pushed(text, "prog.p4"), cache)
    assert switch.process_one(0, bytes(8)) == [(3, b"\x4e" + bytes(7))]


@pytest.mark.full
def test_a_switch_refuses_what_breaks_its_budgets_and_works_on(tmp_path):
    limits = {"compile_seconds": 3.0, "register_memory": 1 << 20}
    with (
        EmbeddedSwitch(None, [1], workdir=tmp_path / "s", **limits) as switch,
        Session(switch.address, timeout_s=60) as session,
    ):
        assert "takes more than 3 s" in refusal(session, MANY + f"// {time.time_ns()}")
        big = program("r.write(0, 1);", local="register<bit<64>>(1000000) r;")
        assert "take 8000000 bytes; at most 1048576" in refusal(session, big)
        assert "include refused" in refusal(session, '#include "/etc/shadow"')
        assert "main" in refusal(session, "#include <v1model.p4>")
    assert "Traceback" not in switch.log.read_text()


def test_a_pushed_program_writes_its_log_in_machine_code(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    make = SwitchMaker(trace=TraceSink(str(tmp_path / "log"), None, like_bmv2=True))
    device = P4Device(0, make, compiler=BoundedCompiler(make))
    with Session(LocalConnection(P4RuntimeService(device))) as opened:
        opened.push(b"", program("sm.egress_spec = 3;").encode())
    assert device.pipeline.switch.engine == "native"
    assert device.pipeline.switch.process_one(1, bytes(8)) == [(3, bytes(8))]
    assert "Processing packet received on port 1, 8 bytes" in (tmp_path / "log").read_text()
