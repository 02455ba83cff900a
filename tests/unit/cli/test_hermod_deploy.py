# SPDX-License-Identifier: Apache-2.0
"""``offramp hermod deploy`` as users type it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import fake_sonic
import namespaces
import sonic_configs
from offramp.p4src import p4_source
from offramp_base.errors import OfframpError
from offramp_cli.app import app
from offramp_p4.embedded import EmbeddedSwitch


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["hermod", "deploy", *arguments], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result.output


@pytest.mark.full
@pytest.mark.p4
def test_p4(tmp_path: Path) -> None:
    plan, out = tmp_path / "plan.json", tmp_path / "out.json"
    CliRunner().invoke(app, ["hermod", "plan", "gpt3-13b", "--json", str(plan)], catch_exceptions=False)
    with EmbeddedSwitch(p4_source("hermod/v1model.p4"), 3, workdir=tmp_path, engine="python") as switch:
        there = [str(plan), "--target", "p4", "--switch", switch.address, "--ports", "0-2", "--ecn", "3=150KB"]
        there += ["--host", "02:00:00:00:00:01=1"]
        assert "DSCP 63 -> enqueue(queue 6, profile 6)\n" in run(*there, "--dry-run")
        assert "DSCP 63: missing, planned enqueue(queue 6, profile 6)\n" in run(*there, "--check", code=1)
        assert run(*there) == f"switch {switch.address}: deployed and read back\n"
        assert run(*there, "--json", str(out)) == f"switch {switch.address}: already as planned\n"
        assert json.loads(out.read_text()) == {
            "schema": "offramp.hermod.deploy/1",
            "target": "p4",
            "name": f"switch {switch.address}",
            "action": "apply",
            "changed": False,
        }
        assert run(*there, "--check") == f"switch {switch.address}: as planned\n"
        assert "HermodEgress.congestion.profiles(profile 3): mark(threshold 100)\n" in run(*there, "--read-back")
        assert run(*there, "--ecn", "0=150KB", "--check", "--json", str(out), code=1).count("\n") == 1
        assert json.loads(out.read_text())["differences"] == [
            {"what": "HermodEgress.congestion.profiles(profile 0)", "planned": "mark(threshold 100)", "found": None}
        ]
        assert run(*there, "--undo") == f"switch {switch.address}: removed\n"
        assert run(*there, "--undo") == f"switch {switch.address}: nothing was deployed\n"
        assert run(*there, "--read-back") == "nothing is deployed\n"


def test_p4_of_the_jobs_ports_and_rates() -> None:
    text = run(
        *("gpt3-13b", "--target", "p4", "--dry-run", "--ports", "1-3", "--job-ports", "1,2", "--rate", "10gbit"),
        *("--police", "6=1gbit"),
    )
    assert "members(default) -> best_effort()" in text
    assert "members(port 2) -> trust()" in text
    assert "members(port 3)" not in text
    assert f"by_source(index {2 << 3 | 6}) -> rate(bytes_per_s 125000000, burst 125000)" in text
    assert "upper(index 3) -> rate(bytes_per_s 1187500000, burst 1187500)" in text


def test_p4_without_a_switch() -> None:
    text = run("gpt3-13b", "--target", "p4", "--dry-run", "--queues", "2", "--ecn", "3KB")
    assert text.splitlines()[0] == "other DSCPs -> enqueue(queue 0, profile 0)"
    assert "HermodEgress.congestion.profiles(profile 1) -> mark(threshold 2)" in text
    assert "macs" not in text
    with pytest.raises(OfframpError, match=r"127\.0\.0\.1:1 does not answer"):
        run("gpt3-13b", "--target", "p4", "--switch", "127.0.0.1:1")


def test_sonic_files(tmp_path: Path) -> None:
    config = tmp_path / "config_db.json"
    config.write_text(json.dumps({"PORT": {"Ethernet0": {}, "Ethernet4": {}}}))
    there = ["gpt3-13b", "--target", "sonic", "--config-db", str(config), "--out", str(tmp_path), "--name", "TRAINING"]
    assert json.loads(run(*there, "--dry-run"))["SCHEDULER"] == {"TRAINING": {"type": "STRICT"}}
    assert run(*there) == f"files {tmp_path}/training*.json: deployed and read back\n"
    assert sorted(path.name for path in tmp_path.glob("training*")) == [
        "training.json",
        "training.patch.json",
        "training.undo-patch.json",
    ]
    assert json.loads(run(*there, "--read-back")) == json.loads((tmp_path / "training.json").read_text())
    assert run(*there, "--check").endswith("as planned\n")
    run(*there, "--undo")
    assert "SCHEDULER TRAINING: type: missing, planned STRICT\n" in run(*there, "--check", code=1)


def test_sonic_of_the_jobs_ports_and_rates(tmp_path: Path) -> None:
    config = tmp_path / "config_db.json"
    config.write_text(json.dumps({"PORT": {"Ethernet0": {}, "Ethernet4": {}}}))
    tables = json.loads(
        run(
            *("gpt3-13b", "--target", "sonic", "--config-db", str(config), "--dry-run", "--job-ports", "Ethernet4"),
            *("--rate", "100gbit", "--control-share", "0.1", "--lowest-share", "0.2", "--police", "6=40gbit"),
        )
    )
    assert tables["PORT_QOS_MAP"]["Ethernet0"]["dscp_to_tc_map"] == "HERMOD_OTHER"
    assert tables["PORT_QOS_MAP"]["Ethernet4"]["dscp_to_tc_map"] == "HERMOD"
    rates = {name: fields.get("pir", fields.get("cir")) for name, fields in tables["SCHEDULER"].items()}
    assert rates == {"HERMOD": None, "HERMOD_0": "2500000000", "HERMOD_6": "5000000000", "HERMOD_7": "1250000000"}


def test_sonic_beside_what_is_there(tmp_path: Path) -> None:
    config, out = tmp_path / "config_db.json", tmp_path / "out.json"
    config.write_text(json.dumps(sonic_configs.default()))
    there = ["--target", "sonic", "--config-db", str(config), "--out", str(tmp_path)]
    assert run("mixtral-8x7b", *there, "--json", str(out)) == (
        "queues of the plan on the switch: 1 and 2 and 3 and 4 and 5 and 6 in 7; 0 where it is\n"
        "control DSCPs that keep the queues that they have: 48\n"
        "DSCPs that somebody else uses: packets carry 9 for 3, 10 for 4, 11 for 5, 49 for 46\n"
        f"plan for the hosts: {tmp_path}/hermod.plan.json\n"
        f"files {tmp_path}/hermod*.json: deployed and read back\n"
    )
    beside = json.loads(out.read_text())["beside"]
    assert beside["dscps"] == {"3": 9, "4": 10, "5": 11, "46": 49}
    assert beside["queues"] == dict.fromkeys("123456", 7)
    carried = tmp_path / "hermod.plan.json"
    assert beside["plan"] == json.loads(carried.read_text())
    assert "packets carry" not in run(
        str(carried), *there, "--check"
    )  # the same, said with the DSCPs that packets carry
    assert "already as planned" in run(str(carried), *there)
    assert carried.exists()  # it was given, so it stays
    assert "SCHEDULER HERMOD_ON_scheduler.0: type: missing" in run(
        "mixtral-8x7b", *there, "--replace", "--check", code=1
    )
    assert run("mixtral-8x7b", *there, "--undo").endswith(": removed\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config_db.json", "out.json"]


@pytest.mark.full
def test_sonic_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = f"#!{sys.executable} -IS\n" + Path(fake_sonic.__file__).read_text()
    for name in ("sonic-cfggen", "config"):
        (tmp_path / name).write_text(script)
        (tmp_path / name).chmod(0o755)
    state = {"config": {"PORT": {"Ethernet0": {}}}, "checkpoints": {}, "run": 0}
    (tmp_path / "state.json").write_text(json.dumps(state))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run("gpt3-13b", "--target", "sonic", "-i", "Ethernet0") == "SONiC: deployed and read back\n"
    assert "Ethernet0|7" in json.loads((tmp_path / "state.json").read_text())["config"]["QUEUE"]


@pytest.mark.full
@pytest.mark.netns
def test_linux() -> None:
    namespaces.require()

    def work() -> None:
        there = ["gpt3-13b", "--target", "linux", "--interface", "left", "--rate", "10gbit", "--qdisc", "htb"]
        text = run(*there, "--dry-run")
        assert "tc qdisc add dev left root handle 4845: htb default 0x10\n" in text
        assert "sysctl -w net.ipv4.tcp_reflect_tos=1\n" in text
        assert run(*there) == "interface left: deployed and read back\n"
        assert run(*there, "--check") == "interface left: as planned\n"
        assert "rate: 10000000000 bit/s\n" in run(*there, "--read-back")
        assert run(*there[:-3], "9gbit", *there[-2:], "--check", code=1) == (
            "rate: 10000000000 bit/s, planned 9000000000 bit/s\n"
            "rate of the lowest queue: 500000000 bit/s, planned 450000000 bit/s\n"
            "most of queue 7: 500000000 bit/s, planned 450000000 bit/s\n"
        )
        others = ("--control-share", "0.1", "--lowest-share", "0.25", "--police", "5=2gbit")
        assert run(*there, *others, "--check", code=1) == (
            "rate of the lowest queue: 500000000 bit/s, planned 2500000000 bit/s\n"
            "most of queue 5: missing, planned 2000000000 bit/s\n"
            "most of queue 7: 500000000 bit/s, planned 1000000000 bit/s\n"
        )
        assert run(*there, *others, "--replace") == "interface left: deployed and read back\n"
        assert run(*there, *others, "--check") == "interface left: as planned\n"
        assert run(*there, "--undo") == "interface left: removed\n"

    with namespaces.Namespace() as namespace:
        namespace.veth("left", "right")
        namespace.call(work)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "cisco"], "--target cisco: expected one of p4, sonic, linux"),
        (["--target", "p4", "--check", "--undo"], "--check: expected without --undo"),
        (["--target", "p4", "--ports", "1-"], "--ports 1-: expected distinct numbers up to 510, such as 1-4,7"),
        (["--target", "p4", "--ports", "3,2-4"], "--ports 3,2-4: expected distinct numbers up to 510, such as 1-4,7"),
        (["--target", "p4", "--host", "02=1"], "--host 02=1: expected MAC=PORT, such as 02:00:00:00:00:01=1"),
        (["--target", "p4", "--host", "02:00:00:00:00:01=1"], "host 020000000001: port 1 is not one of the switch's"),
        (["--target", "p4", "--job-ports", "x"], "--job-ports x: expected distinct numbers up to 510, such as 1-4,7"),
        (["--target", "p4", "--ports", "1-2", "--job-ports", "3"], "--job-ports 3: port 3 is not one of --ports"),
        (["--target", "p4", "--police", "7=1gbit"], "--police: expected --rate of the line too"),
        (["--target", "sonic", "--police", "7=1gbit"], "--police: expected --rate of the line too"),
        (["--target", "p4", "--rate", "1gbit", "--police", "7"], "--police 7: expected QUEUE=RATE, such as 6=10gbit"),
        (["--target", "p4", "--rate", "1gbit"], "rates of queues: for no port; expected the job's"),
        (
            ["--target", "p4", "--rate", "1gbit", "--control-share", "0"],
            "--control-share 0: expected more than 0 and at most 1",
        ),
        (
            ["--target", "p4", "--rate", "1gbit", "--lowest-share", "1"],
            "--lowest-share 1: expected at least 0 and below 1",
        ),
        (
            ["--target", "linux", "-i", "lo", "--lowest-share", "-1"],
            "--lowest-share -1: expected at least 0 and below 1",
        ),
        (
            ["--target", "linux", "-i", "lo", "--control-share", "0"],
            "--control-share 0: expected more than 0 and at most 1",
        ),
        (["--target", "linux", "-i", "lo", "--police", "x"], "--police x: expected QUEUE=RATE, such as 6=10gbit"),
        (["--target", "linux", "-i", "lo", "--police", "9=1gbit", "--rate", "1gbit"], "interface lo: rate of queue 9"),
        (["--target", "p4", "--mtu", "0"], "--mtu 0: expected at least 1"),
        (["--target", "linux"], "--interface none: expected one or more, each once"),
        (["--target", "linux", "-i", "lo", "-i", "lo"], "--interface lo, lo: expected one or more, each once"),
        (["--target", "linux", "--interface", "nosuch0"], "interface nosuch0: no such interface"),
        (["--target", "linux", "--interface", "lo", "--rate", "x"], "--rate x: expected a rate such as 10mbit"),
        (["--target", "p4", "--ecn", "x=1"], "--ecn x=1: expected SIZE or QUEUE=SIZE, such as 3=150KB"),
        (["--target", "p4", "--ecn", "many"], "--ecn many: expected a size such as"),
        (["--target", "p4", "--ecn", "8=1KB"], "ECN of queue 8: expected 0 to 7"),
        (["--target", "p4", "--queues", "3", "--classes", "3"], "classes 3: the switch has 3 queues, one of them for"),
        (["--target", "p4", "--control", "a"], "--control a: expected DSCPs separated by commas"),
    ],
)
def test_bad_input(arguments: list[str], message: str) -> None:
    with pytest.raises(OfframpError) as caught:
        run("gpt3-13b", *arguments)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
