# SPDX-License-Identifier: Apache-2.0
"""p4runtime-shell, finsy and pygnmi, each in an environment of its own, drive our servers.

Oracle: those clients' own reading of the specification. They are installed from PyPI, which takes some ten seconds:
``pytest -m slow tests/e2e/test_other_controllers.py``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from offramp import p4_root
from offramp_base import OfframpError, PacketBatch, open_io
from offramp_base.tools import ensure
from offramp_cli.switch.shell import REQUIREMENT
from offramp_p4 import EmbeddedSwitch, load
from offramp_p4.runtime import p4info

pytestmark = pytest.mark.slow
TESTS = Path(__file__).parents[1]
CLIENTS = Path(__file__).with_name("clients")
REFLECTOR = p4_root() / "examples/reflector.p4"
PROGRAMS = {p.stem: p for p in (TESTS / "conformance/conformance.p4", TESTS / "p4/runtime/features.p4")}


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """``environment(requirement)``: the interpreter of a virtual environment with it."""

    def make(requirement):
        folder = tmp_path_factory.getbasetemp() / requirement.replace("=", "")
        try:
            return ensure(folder, requirement)
        except OfframpError as error:
            if "No matching distribution" in str(error) or "Could not find a version" in str(error):
                pytest.skip(str(error))  # no package index can be reached
            raise

    return make


@pytest.fixture
def switch(tmp_path):
    with EmbeddedSwitch(None, [1, 2, 3, 4], workdir=tmp_path / "s", cpu_port=510) as running:
        yield running


@pytest.fixture
def pipelines(tmp_path):
    """P4Info and program of each pipeline."""
    out = {}
    for name, program in PROGRAMS.items():
        info = tmp_path / f"{name}.txtpb"
        info.write_text(str(p4info.generate(load(program))))
        out[name] = [str(info), str(program)]
    return out


def drive(command, switch):
    """Run a client that asks for frames to be sent and expected; it must end with ``done``."""
    links = dict(zip(switch.port_numbers, map(open_io, switch.port_specs), strict=True))
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=_clean()
    )
    try:
        last = ""
        for line in process.stdout:
            words = last, *_ = line.split()
            if last not in {"send", "expect"}:
                continue
            _, port, data = words
            answer = _frame(links[int(port)], bytes.fromhex(data), last)
            process.stdin.write(answer + "\n")
            process.stdin.flush()
        errors = process.stderr.read()
        assert (process.wait(20), last) == (0, "done"), errors[-3000:]
    finally:
        process.kill()
        process.communicate()
        for link in links.values():
            link.close()


def _frame(link, frame, what):
    if what == "send":
        link.send(PacketBatch.of([(0, frame)]))
        return "ok"
    got = [f.hex() for f in link.receive(5).frames()]
    return "ok" if got == [frame.hex()] else f"got {got}"


def _clean():
    return {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}


def test_p4runtime_shell(environment, switch, pipelines):
    python = environment(REQUIREMENT)
    arguments = [word for name in ("conformance", "features") for word in pipelines[name]]
    drive([str(python), "-I", str(CLIENTS / "shell_tour.py"), str(CLIENTS), switch.address, *arguments], switch)


def test_finsy(environment, switch, pipelines):
    python = environment("finsy==0.30.0")
    arguments = pipelines["features"]
    drive([str(python), "-I", str(CLIENTS / "finsy_tour.py"), str(CLIENTS), switch.address, *arguments], switch)


def test_pygnmi(environment, tmp_path):
    python = environment("pygnmi==0.8.15")
    address = f"unix:{tmp_path}/gnmi"
    with EmbeddedSwitch(REFLECTOR, [1, 2], workdir=tmp_path / "s", gnmi=address) as switch:
        drive([str(python), "-I", str(CLIENTS / "pygnmi_tour.py"), str(CLIENTS), address], switch)


SHELL = "from offramp_cli.app import app; app()"
COMMANDS = """
entry = table_entry["IngressImpl.mac"](action="forward")
entry.match["hdr.ethernet.dst"] = "02:00:00:00:00:01"
entry.action["port"] = "2"
entry.insert()
print("entries:", len(list(table_entry["IngressImpl.mac"].read())))
"""


def shell(environment, switch, tmp_path, *arguments):
    python = environment(REQUIREMENT)
    return subprocess.run(
        [sys.executable, "-c", SHELL, "switch", "shell", "--address", switch.address,
         "--environment", str(python.parents[1]), *arguments],
        input=COMMANDS, text=True, capture_output=True, timeout=60, check=False,
        env=os.environ | {"IPYTHONDIR": str(tmp_path / "ipython")},
    )  # fmt: skip


def test_the_command_opens_the_shell(environment, switch, pipelines, tmp_path):
    info, program = pipelines["conformance"]
    first = shell(environment, switch, tmp_path, "--p4info", info, "--pipeline", program)
    assert "entries: 1" in first.stdout, first.stderr
    assert first.returncode == 0
    again = shell(environment, switch, tmp_path)  # on the pipeline that runs
    assert "entries: 1" in again.stdout, again.stderr


def test_golden_errors_of_the_command(environment, switch, tmp_path):
    for arguments, message in [
        ([], f"switch {switch.address} device 0 runs no pipeline; push one first"),
        (["--p4info", "x"], "--p4info: goes with --pipeline, and vice versa"),
        (["--election-id", "7"], "--election-id 7: expected HIGH,LOW"),
        (
            ["--address", f"unix:{tmp_path}/none"],
            f"switch unix:{tmp_path}/none does not answer: no such file or directory",
        ),
    ]:
        result = shell(environment, switch, tmp_path, *arguments)
        assert result.returncode
        assert message in result.stderr
