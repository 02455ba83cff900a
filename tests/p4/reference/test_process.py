# SPDX-License-Identifier: Apache-2.0
"""How bmv2's programs are started and believed, with programs in their place that note what they are given."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import pytest

from offramp_base.errors import OfframpError
from offramp_p4.frontend import load_text
from offramp_p4.reference.process import LAUNCHER_MARK, SimpleSwitch, available, missing
from offramp_p4.switch import Switch
from p4_programs import program

pytestmark = pytest.mark.p4
COMPILER = """#!/bin/sh
while [ "$1" != -o ]; do shift; done
echo '{"actions": [], "pipelines": []}' > "$2"
"""
SWITCH = f"""#!{sys.executable} -S
import json, socket, sys, time
json.dump(sys.argv[1:], open("arguments", "w"))
if "--refuse" in sys.argv:
    sys.exit("no such option")
listening = socket.create_server(("127.0.0.1", int(sys.argv[sys.argv.index("--thrift-port") + 1])))
time.sleep(60)
"""
CLI = """#!/bin/sh
cat > "{0}/typed"
cat "{0}/says"
cat "{0}/fault" >&2
exit $(cat "{0}/status")
"""


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is PATH; the command line in it says what ``says`` holds, and exits with ``status``."""
    folder = tmp_path / "tools"
    folder.mkdir()
    texts = {"p4c-bm2-ss": COMPILER, "simple_switch": SWITCH, "simple_switch_CLI": CLI.format(folder)}
    for name, text in texts.items():
        (folder / name).write_text(text, "utf-8")
        (folder / name).chmod(stat.S_IRWXU)
    for name, text in {"says": "", "fault": "", "status": "0"}.items():
        (folder / name).write_text(text, "utf-8")
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


def started(tmp_path: Path, *options: str, target_options: tuple[str, ...] = ()) -> SimpleSwitch:
    source = tmp_path / "prog.p4"
    source.write_text(program("sm.egress_spec = 1;"), "utf-8")
    like = Switch(load_text(source.read_text("utf-8"), "prog.p4"))
    ports = {0: "a0", 3: "a3"}
    return SimpleSwitch(source, like, ports, tmp_path, options, target_options=target_options)


def test_its_arguments(tools: Path, tmp_path: Path) -> None:
    assert available()
    with started(tmp_path) as switch:
        assert switch.running
        first = json.loads((tmp_path / "arguments").read_text())
    assert not switch.running
    port = first[1]
    wanted = ["--thrift-port", port, "-i", "0@a0", "-i", "3@a3", "--device-id", port, "program.json"]
    assert first == wanted
    assert 1024 <= int(port) <= 65535
    with started(tmp_path, "--log-console", target_options=("--priority-queues", "4")):
        second = json.loads((tmp_path / "arguments").read_text())
    assert (second[0], second[-4:]) == ("--log-console", ["program.json", "--", "--priority-queues", "4"])


@pytest.mark.each
@pytest.mark.parametrize(
    ("says", "fault", "status", "message"),
    [
        ("done\n", "", 0, ""),
        ("Error: no such table\n", "", 0, "Error: no such table"),
        ("fine\nInvalid match key\n", "", 1, "Invalid match key"),
        ("fine\n", "it broke\n", 1, "it broke"),
    ],
)
def test_what_its_command_line_says(
    tools: Path, tmp_path: Path, says: str, fault: str, status: int, message: str
) -> None:
    for name, text in {"says": says, "fault": fault, "status": str(status)}.items():
        (tools / name).write_text(text, "utf-8")
    switch = started(tmp_path)
    if message:
        with pytest.raises(OfframpError, match=f"^simple_switch_CLI: {message}$"):
            switch.__enter__()
    else:
        with switch:
            pass
    assert not switch.running


def test_what_does_not_start_or_is_missing(tools: Path, tmp_path: Path) -> None:
    with pytest.raises(OfframpError, match="simple_switch did not start: no such option"):
        started(tmp_path, "--refuse").__enter__()
    (tools / "simple_switch").write_text(f"#!/bin/sh\n{LAUNCHER_MARK}\n", "utf-8")
    assert missing() == ["simple_switch"]
    (tools / "simple_switch_CLI").unlink()
    with pytest.raises(OfframpError, match="bmv2: simple_switch, simple_switch_CLI not on PATH"):
        started(tmp_path)
