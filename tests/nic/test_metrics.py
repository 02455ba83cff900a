# SPDX-License-Identifier: Apache-2.0
"""Metrics and the port doctor against a running agent; the bench of several queues. Blind to Prometheus itself."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from offramp.nic.connection import AgentConnection
from offramp.nic.metrics import metrics
from offramp.nic.port_doctor import port_checks
from offramp.nic.process import AgentProcess
from offramp_cli.app import app
from offramp_sim.nic.scaling import ScalingCase, measure_queues

pytestmark = pytest.mark.nic
LINE = re.compile(r'([a-z_]+)(?:\{((?:[a-z]+="(?:[^"\\\n]|\\.)*",?)+)\})? ([0-9]+)')


def test_metrics_are_the_statistics(programs: Path, tmp_path: Path) -> None:
    """Each line is of the text format, each family is declared once before its samples, and counts are the agent's."""
    name = f"memif:{tmp_path}/a.sock"
    program = programs / "offramp-nic-agent"
    with AgentProcess([name, "loop"], program=program, compression="none", arguments=["--queues", "2"]) as agent:
        with closing(AgentConnection(agent.path)) as connection:
            stats = connection.stats()
        out = tmp_path / "agent.prom"
        done = CliRunner().invoke(app, ["nic", "metrics", "--socket", str(agent.path), "--out", str(out)])
        assert done.exit_code == 0, done.output
        shown = CliRunner().invoke(app, ["nic", "metrics", "--socket", str(agent.path)])
    declared: set[str] = set()
    samples: dict[str, int] = {}
    for line in out.read_text("utf-8").splitlines():
        if line.startswith("# TYPE "):
            family = line.split()[2]
            assert family not in declared
            declared.add(family)
        elif not line.startswith("# HELP "):
            match = LINE.fullmatch(line)
            assert match is not None, line
            assert match[1] in declared
            samples[line.rpartition(" ")[0]] = int(match[3])
    assert samples["offramp_nic_clients"] == stats["clients"]
    assert samples["offramp_nic_accepted_total"] == stats["accepted"] + 1
    assert samples[f'offramp_nic_port_unmatched_total{{port="{name}"}}'] == 0
    assert 'offramp_nic_queue_frames_total{port="loop",queue="1",direction="sent"}' in samples
    assert shown.stdout.count("# TYPE") == len(declared)
    assert not list(tmp_path.glob(".*"))


def test_labels_are_escaped() -> None:
    port = {"name": 'a"b\\c', "steering": "software", "queues": [], "classes": []}
    port |= dict.fromkeys(("missed", "unmatched", "corrupt", "handed"), 0)
    names = ("clients", "queues", "cores", "accepted", "cut_off", "requests")
    text = metrics({**dict.fromkeys(names, 0), "ports": [port]})
    assert 'port="a\\"b\\\\c"' in text


def test_no_agent() -> None:
    done = CliRunner().invoke(app, ["nic", "metrics", "--socket", "/nothing/there"])
    assert done.exit_code != 0


@pytest.mark.parametrize("queues", [4, 400])
def test_what_a_port_lacks(programs: Path, tmp_path: Path, queues: int) -> None:
    port = f"vhost:{tmp_path}/v.sock"
    by_name = {check.name: check for check in port_checks(port, queues, programs / "offramp-nic-agent")}
    if queues > 64:
        check = by_name[f"{port}: driver"]
        assert check.needed
        assert not check.ok
        return
    assert by_name[f"{port}: driver"].found == "net_vhost"
    assert by_name[f"{port}: queues"].ok
    assert not by_name[f"{port}: rte_flow"].ok
    assert by_name[f"{port}: VLAN in"].ok


def test_a_card_that_is_not_there() -> None:
    (check,) = port_checks("ffff:1f:1f.7", 1)
    assert (check.ok, check.needed, check.found) == (False, True, "no such PCI device")


def test_telemetry_is_off_unless_asked_for(programs: Path) -> None:
    """Its socket is in a folder of DPDK's that only this user may enter."""
    program = programs / "offramp-nic-agent"
    with AgentProcess(program=program, compression="none") as agent:
        assert not sockets_of(agent.pid)
    with AgentProcess(program=program, compression="none", arguments=["--telemetry"]) as agent:
        (path,) = sockets_of(agent.pid)
        assert path.name == "dpdk_telemetry.v2"
        assert path.parent.stat().st_mode & 0o077 == 0


def sockets_of(pid: int) -> list[Path]:
    """DPDK's telemetry sockets that are named after an agent."""
    lines = Path("/proc/net/unix").read_text("ascii", errors="replace").splitlines()
    paths = {line.split()[-1] for line in lines if "dpdk_telemetry" in line}
    return sorted(Path(path) for path in paths if f"offramp-nic-{pid}" in path and path.startswith("/"))


@pytest.mark.parametrize("link", ["memif", "vhost", "loop"])
def test_several_queues_carry_frames(programs: Path, link: str) -> None:
    """Sums are checked by the workers; how fast is a question for a quiet machine."""
    program = programs / "offramp-nic-agent"
    assert measure_queues(link, ScalingCase(3, 1), 0.0, vertices=100, program=program) > 0


def test_an_agent_without_privileges(programs: Path, tmp_path: Path) -> None:
    """As systemd's unit has it: no user's rights, and three capabilities."""
    if shutil.which("setpriv") is None or os.geteuid() != 0:
        pytest.skip("needs root and setpriv")
    with tempfile.TemporaryDirectory() as folder:
        program = shutil.copy(programs / "offramp-nic-agent", folder)
        Path(folder).chmod(0o777)
        rights = [
            f"--{kind}=-all,+net_raw,+net_admin,+ipc_lock" for kind in ("bounding-set", "inh-caps", "ambient-caps")
        ]
        words = [
            "setpriv",
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "--no-new-privs",
            *rights,
        ]
        environment = {"PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": folder}
        check = [program, "--check", "--compression", "none", "--port", "lo"]
        done = subprocess.run([*words, *check], capture_output=True, text=True, check=False, env=environment)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("1 ports, compression none")
