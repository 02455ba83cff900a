# SPDX-License-Identifier: Apache-2.0
"""The launchers with the names of bmv2's and p4c's programs."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import offramp_base
import offramp_p4
from offramp_base.errors import OfframpError
from offramp_base.p4rt import p4info
from offramp_cli.app import app
from offramp_p4.reference import missing
from offramp_p4_tools.dropin import p4c, simple_switch
from offramp_p4_tools.dropin.shims import PROGRAMS, write_shims
from offramp_p4_tools.dropin.words import read_words

FOLDER = Path(__file__).parents[1] / "stf"
REFLECTOR = Path(__file__).parents[3] / "p4" / "examples" / "reflector.p4"

pytestmark = pytest.mark.p4


@pytest.fixture
def shims(tmp_path: Path) -> Path:
    search = {str(Path(str(package.__file__)).parents[1]) for package in (offramp_base, offramp_p4)}
    write_shims(tmp_path / "bin", sorted(search))
    return tmp_path / "bin"


def settings(*words: str, program: str = "simple_switch_grpc"):  # type: ignore[no-untyped-def]
    line = read_words(words, simple_switch._KNOWN, simple_switch._IGNORED, simple_switch._ALIASES)
    return simple_switch.settings(line, program), line


@pytest.mark.full
def test_p4c_writes_what_bmv2_and_controllers_take(shims: Path, tmp_path: Path) -> None:
    command = [
        shims / "p4c-bm2-ss",
        "--std",
        "p4-16",
        "--Wdisable",
        "-o",
        "t.json",
        "--p4runtime-files",
        "t.txtpb,t.bin",
    ]
    done = subprocess.run([*command, FOLDER / "tables.p4"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert done.stderr == "p4c-bm2-ss: accepted without effect: --Wdisable\n"
    assert json.loads((tmp_path / "t.json").read_text())["__meta__"]["version"] == [2, 24]
    text, binary = (p4info.parse((tmp_path / name).read_bytes()) for name in ("t.txtpb", "t.bin"))
    assert text == binary
    assert len(text.tables) == 4


def test_the_driver_writes_into_a_folder(tmp_path: Path) -> None:
    words = ["--target", "bmv2", "--arch", "v1model", "-o", str(tmp_path / "build"), str(FOLDER / "tables.p4")]
    assert p4c.main(words, program="p4c") == 0
    assert (tmp_path / "build" / "tables.json").is_file()


def test_each_architecture_has_its_compiler(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    psa, card = (Path(__file__).with_name(name) for name in ("portable_switch.p4", "card.p4"))
    for program, source, parsers in (("p4c-bm2-psa", psa, 2), ("p4c-bm2-pna", card, 1)):
        out = tmp_path / f"{program}.json"
        assert p4c.main(["-o", str(out), "--p4runtime-files", str(tmp_path / "p.txtpb"), str(source)], program) == 0
        assert len(json.loads(out.read_text())["parsers"]) == parsers
    assert p4c.main(["--target", "bmv2", "--arch", "psa", "-o", str(tmp_path), str(psa)], "p4c") == 0
    assert p4c.main(["-o", str(tmp_path / "x.json"), str(card)], "p4c-bm2-psa") == 2
    assert "card.p4 is for pna, not for psa" in capsys.readouterr().err


def test_nothing_is_written_of_a_program_that_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["-o", str(tmp_path / "a.json"), "--p4runtime-files", str(tmp_path / "a.txt"), str(FOLDER / "arrays.p4")]
    assert p4c.main(words) == 2
    assert "an index out of range" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_compile_takes_p4c_s_options(tmp_path: Path) -> None:
    out = tmp_path / "t.json"
    words = ["switch", "compile", "--target", "bmv2", "--Wdisable=unused", str(FOLDER / "tables.p4"), "-o", str(out)]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert "pipelines" in json.loads(out.read_text())


def test_the_switch_takes_bmv2_s_options() -> None:
    parsed, line = settings(
        "-i", "1@unix:/tmp/a", "--interface", "2@unix:/tmp/b", "--device-id", "3", "--packet-in", "ipc:///x",
        "--log-console", "prog.json", "--", "--grpc-server-addr", "127.0.0.1:7000", "--cpu-port=255", "--fancy",
    )  # fmt: skip
    assert parsed.ports == {1: "unix:/tmp/a", 2: "unix:/tmp/b"}
    assert (parsed.program, parsed.device_id, parsed.cpu_port, parsed.log) == ("prog.json", 3, 255, "-")
    assert parsed.address == "127.0.0.1:7000"
    assert line.unknown == ["--packet-in", "--fancy"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), ("-", "DT")),
        (("-L", "trace"), ("-", "DT")),
        (("--log-level=debug",), ("-", "D")),
        (("-L", "info"), (None, "")),
        (("-L", "off"), (None, "")),
    ],
)
def test_levels_of_the_log(words: tuple[str, ...], expected: tuple[str | None, str]) -> None:
    parsed, _ = settings("--log-console", *words, "prog.json")
    assert (parsed.log, parsed.log_levels) == expected


def test_ports_on_files() -> None:
    parsed, _ = settings("-i", "1@p1", "--use-files", "3", "prog.json")
    assert parsed.ports == {1: "files:p1,wait=3"}


def test_an_address_for_everybody_becomes_loopback(capsys: pytest.CaptureFixture[str]) -> None:
    parsed, _ = settings("--no-p4", "--grpc-server-addr", "0.0.0.0:50051")
    assert parsed.address == "127.0.0.1:50051"
    assert "this machine only" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-i", "x"], "-i x: expected NUMBER@LINK"),
        (["-i", "1@unix:/a", "-i", "1@unix:/b", "p.json"], "port 1 is there twice"),
        ([], "expected either a program or --no-p4"),
        (["--no-p4", "p.json"], "expected either a program or --no-p4"),
        (["--no-p4", "--device-id", "x"], "--device-id x: expected a number"),
        (["--device-id"], "--device-id: expected a value"),
    ],
)
def test_golden_errors(words: list[str], message: str) -> None:
    with pytest.raises(OfframpError, match=message):
        settings(*words)


def test_files_of_others_are_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "p4c").write_text("#!/bin/sh\n")
    with pytest.raises(OfframpError, match="not one of ours"):
        write_shims(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["p4c"]


@pytest.mark.slow
def test_compile_start_and_ask(shims: Path, tmp_path: Path) -> None:
    env = os.environ | {"PATH": f"{shims}:{os.environ['PATH']}"}
    subprocess.run(["p4c-bm2-ss", "-o", "r.json", str(REFLECTOR)], cwd=tmp_path, check=True, env=env)
    command = ["simple_switch", "--thrift-port", "0", "-i", "0@unix:p0", "r.json"]
    with subprocess.Popen(command, cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True) as switch:
        try:
            assert switch.stdout is not None
            line = next(text for text in switch.stdout if text.startswith("Thrift server was started on port "))
            port = line.split()[-1]
            words = ["simple_switch_CLI", "--thrift-port", port]
            done = subprocess.run(words, input="show_ports\n", check=True, capture_output=True, text=True, env=env)
            assert "unix:p0" in done.stdout
        finally:
            switch.send_signal(signal.SIGINT)
        assert switch.wait(20) == 0


def test_every_launcher_has_a_main() -> None:
    import importlib

    for module in PROGRAMS.values():
        assert callable(importlib.import_module(f"offramp_p4_tools.dropin.{module}").main)


def test_queues_are_bmv2_s() -> None:
    parsed, line = settings("--no-p4", "--priority-queues", "8")
    assert parsed.tm is not None
    assert [queue.limit_packets for queue in parsed.tm.default.queues] == [64] * 8
    assert "--priority-queues" not in line.unknown
    plain, _ = settings("--no-p4")
    assert plain.tm is not None
    assert len(plain.tm.default.queues) == 1
    with pytest.raises(OfframpError, match="--priority-queues 0: expected 1 to"):
        settings("--no-p4", "--priority-queues", "0")


def test_the_launchers_are_not_taken_for_bmv2(shims: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(shims))
    assert missing() == ["simple_switch"]


def processor_s(command: list[str | Path], until: str, folder: Path) -> float:
    """Processor time of a process from its start to a word that it prints, and then to its end."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        assert any(until in line for line in process.stdout)
        process.send_signal(signal.SIGKILL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.full
def test_a_cached_program_runs_for_little_more_than_what_its_libraries_take(shims: Path, tmp_path: Path) -> None:
    """Beside another process in the same run, whose time a busy machine stretches just as much."""
    assert p4c.main(["-o", str(tmp_path / "r.json"), str(REFLECTOR)]) == 0
    start: list[str | Path] = [shims / "simple_switch", "--thrift-port", "0", "r.json"]
    libraries = "import grpc, numpy, llvmlite.binding, google.protobuf.text_format; print('imported', flush=True)"
    processor_s(start, "Thrift server", tmp_path)  # into the cache
    ratios = []
    for _ in range(3):
        imports = processor_s([sys.executable, "-c", libraries], "imported", tmp_path)
        ratios.append(processor_s(start, "Thrift server", tmp_path) / imports)
    assert min(ratios) < 6
