# SPDX-License-Identifier: Apache-2.0
"""SONiC's tables, what stands in their way, and all or nothing on a switch whose commands are a script of ours.

Blind to what a SONiC device makes of the tables: none was at hand.
"""

from __future__ import annotations

import copy
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fake_sonic
import sonic_configs
from offramp.hermod.deploy.limits import LineLimits
from offramp.hermod.deploy.sonic.device import SonicDevice, is_sonic
from offramp.hermod.deploy.sonic.files import SonicFiles
from offramp.hermod.deploy.sonic.patch import diff
from offramp.hermod.deploy.sonic.removal import without
from offramp.hermod.deploy.sonic.tables import Config, merged, tables_for
from offramp.hermod.deploy.sonic.target import SonicTarget
from offramp.hermod.deploy.sonic.yang import validate
from offramp.hermod.plan_file import load_plan
from offramp_base.errors import OfframpError

LIMITS = LineLimits(100 * 10**9, control=0.1, lowest=0.2, police_bps={6: 40 * 10**9})
OLD, NEW = load_plan("mixtral-8x7b", 3, ecn_bytes={1: 50_000}), load_plan("mixtral-8x7b", ecn_bytes={0: 150_000})
PORTS = ("Ethernet0", "Ethernet4")
CONFIG: Config = {
    "PORT": {port: {"lanes": "1,2,3,4", "speed": "100000"} for port in (*PORTS, "Ethernet8")},
    "DSCP_TO_TC_MAP": {"AZURE": {str(d): "3" if d == 3 else "1" for d in range(64)}},
    "SCHEDULER": {"scheduler.0": {"type": "DWRR", "weight": "14"}},
    "PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3,4"}},
}


class Switch:
    """A machine with the commands of SONiC."""

    def __init__(self, folder: Path) -> None:
        script = f"#!{sys.executable} -IS\n" + Path(fake_sonic.__file__).read_text()
        for name in ("sonic-cfggen", "config"):
            (folder / name).write_text(script)
            (folder / name).chmod(0o755)
        self._file = folder / "state.json"
        self.set(config=CONFIG)

    def set(self, **state: Any) -> None:
        kept = json.loads(self._file.read_text()) if self._file.exists() else {"checkpoints": {}}
        self._file.write_text(json.dumps({**kept, "run": 0, "fail": None, **state}))

    @property
    def state(self) -> dict[str, Any]:
        config: dict[str, Any] = json.loads(self._file.read_text())
        return config


@pytest.fixture
def switch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Switch:
    monkeypatch.setenv("PATH", str(tmp_path))
    return Switch(tmp_path)


def test_the_tables_of_a_plan() -> None:
    tables = tables_for(NEW, ["Ethernet0"], "HERMOD")
    assert tables["DSCP_TO_TC_MAP"]["HERMOD"] == {str(d): str(NEW.queues.get(d, 0)) for d in range(64)}
    assert tables["TC_TO_QUEUE_MAP"] == {"HERMOD": {str(q): str(q) for q in range(8)}}
    assert tables["SCHEDULER"] == {"HERMOD": {"type": "STRICT"}}
    assert tables["QUEUE"]["Ethernet0|0"] == {"scheduler": "HERMOD", "wred_profile": "HERMOD_0"}
    assert [tables["QUEUE"][f"Ethernet0|{q}"] for q in range(1, 8)] == [{"scheduler": "HERMOD"}] * 7
    assert tables["PORT_QOS_MAP"] == {"Ethernet0": {"dscp_to_tc_map": "HERMOD", "tc_to_queue_map": "HERMOD"}}
    profile = tables["WRED_PROFILE"]["HERMOD_0"]
    assert (profile["ecn"], profile["green_min_threshold"], profile["green_max_threshold"]) == (
        "ecn_all",
        "150000",
        "150000",
    )
    assert "WRED_PROFILE" not in tables_for(load_plan("mixtral-8x7b"), ["Ethernet0"], "HERMOD")


@pytest.mark.parametrize(
    ("table", "key", "field", "value", "message"),
    [
        ("DSCP_TO_TC_MAP", "HERMOD", "64", "1", r"DSCP_TO_TC_MAP HERMOD: 64 1: expected a field of the model"),
        ("DSCP_TO_TC_MAP", "HERMOD", "63", "16", r"63 16: expected \\d\|1\[0-5\]"),
        ("DSCP_TO_TC_MAP", "a b", "1", "1", r"DSCP_TO_TC_MAP a b: expected a name of 1 to 32 letters"),
        ("TC_TO_QUEUE_MAP", "HERMOD", "1", "10", "TC_TO_QUEUE_MAP HERMOD: 1 10: expected"),
        ("SCHEDULER", "HERMOD", "type", "SP", r"SCHEDULER HERMOD: type SP: expected DWRR\|WRR\|STRICT"),
        ("SCHEDULER", "HERMOD_0", "meter_type", "bits", r"meter_type bits: expected packets\|bytes"),
        ("SCHEDULER", "HERMOD_0", "cir", "-1", r"SCHEDULER HERMOD_0: cir -1: expected \\d"),
        ("SCHEDULER", "HERMOD_0", "cir", "0", "SCHEDULER HERMOD_0: cbs without cir: expected both"),
        ("SCHEDULER", "HERMOD_0", "pir", "1", "SCHEDULER HERMOD_0: pir 1: expected at least cir, 2500000000"),
        ("SCHEDULER", "HERMOD_7", "cir", "0", "SCHEDULER HERMOD_7: pir without cir: expected both"),
        ("SCHEDULER", "HERMOD", "pbs", "1", "SCHEDULER HERMOD: pbs without pir: expected both"),
        ("WRED_PROFILE", "HERMOD_0", "ecn", "on", "WRED_PROFILE HERMOD_0: ecn on: expected ecn_"),
        ("WRED_PROFILE", "HERMOD_0", "red_drop_probability", "101", "red_drop_probability 101: expected"),
        ("WRED_PROFILE", "HERMOD_0", "red_min_threshold", "160000", "red_max_threshold 150000: expected at least"),
        ("QUEUE", "Ethernet0|0", "scheduler", "OTHER", "QUEUE Ethernet0.0: scheduler OTHER: expected a row of SCHED"),
        ("QUEUE", "Ethernet0|x", "scheduler", "HERMOD", "QUEUE Ethernet0.x: expected"),
        ("QUEUE", "Ethernet5|1", "scheduler", "HERMOD", "QUEUE Ethernet5.1: expected a port of the switch"),
        ("PORT_QOS_MAP", "Ethernet0", "dscp_to_tc_map", "X", "dscp_to_tc_map X: expected a row of DSCP_TO_TC_MAP"),
        ("PORT_QOS_MAP", "Ethernet0", "tc_map", "X", "PORT_QOS_MAP Ethernet0: tc_map X: expected a field of the model"),
        ("PORT_QOS_MAP", "Ethernet5", "dscp_to_tc_map", "HERMOD", "PORT_QOS_MAP Ethernet5: expected a port of the"),
    ],
)
def test_what_the_models_refuse(table: str, key: str, field: str, value: str, message: str) -> None:
    tables = tables_for(NEW, PORTS, "HERMOD", limits=LIMITS)
    validate(tables, merged(CONFIG, tables))
    tables[table].setdefault(key, {})[field] = value
    with pytest.raises(OfframpError, match=message):
        validate(tables, merged(CONFIG, tables))


def test_the_dscps_of_the_jobs_ports_count_and_no_others() -> None:
    tables = tables_for(NEW, PORTS, "HERMOD", members=["Ethernet4"])
    bound = {port: fields["dscp_to_tc_map"] for port, fields in tables["PORT_QOS_MAP"].items()}
    classes = {port: tables["DSCP_TO_TC_MAP"][name] for port, name in bound.items()}
    assert classes["Ethernet4"] == {str(d): str(NEW.queues.get(d, 0)) for d in range(64)}
    assert classes["Ethernet0"] == dict.fromkeys(map(str, range(64)), "0")
    assert tables["QUEUE"]["Ethernet0|7"] == tables["QUEUE"]["Ethernet4|7"]  # what leaves by a port is the job's too
    assert len(tables_for(NEW, PORTS, "HERMOD", members=PORTS)["DSCP_TO_TC_MAP"]) == 1


def test_rates_of_queues() -> None:
    """In bytes per second; the lowest is guaranteed its share, the highest and those that are named have a peak."""
    tables = tables_for(NEW, ["Ethernet0"], "HERMOD", limits=LIMITS)
    assert tables["SCHEDULER"] == {
        "HERMOD": {"type": "STRICT"},
        "HERMOD_0": {"type": "STRICT", "meter_type": "bytes", "cir": "2500000000", "cbs": "2500000"},
        "HERMOD_6": {"type": "STRICT", "meter_type": "bytes", "cir": "1", "pir": "5000000000", "pbs": "5000000"},
        "HERMOD_7": {"type": "STRICT", "meter_type": "bytes", "cir": "1", "pir": "1250000000", "pbs": "1250000"},
    }
    used = {key: fields["scheduler"] for key, fields in tables["QUEUE"].items()}
    assert [used[f"Ethernet0|{q}"].removeprefix("HERMOD") for q in range(8)] == ["_0", *[""] * 5, "_6", "_7"]
    none_kept = tables_for(NEW, PORTS, "HERMOD", limits=LineLimits(10**9, 1, 0))["SCHEDULER"]
    assert all(fields.get("cir", "1") == "1" for fields in none_kept.values())
    slow = tables_for(NEW, PORTS, "HERMOD", limits=LineLimits(10**9, 1, 0.5, {0: 10**6}))
    validate(slow, merged(CONFIG, slow))  # no more is guaranteed than the peak allows
    assert slow["SCHEDULER"]["HERMOD_0"]["cir"] == slow["SCHEDULER"]["HERMOD_0"]["pir"] == "125000"
    with pytest.raises(OfframpError, match="rate of queue 8: expected 0 to 7"):
        tables_for(NEW, PORTS, "HERMOD", limits=LineLimits(10**9, police_bps={8: 1}))


@pytest.mark.full
def test_limits_are_deployed_read_back_replaced_and_removed(switch: Switch) -> None:
    limits: dict[str, Any] = {"members": ["Ethernet4"], "limits": LIMITS}
    target = SonicTarget(SonicDevice(), NEW, PORTS, **limits)
    assert target.apply()
    assert target.differences() == []
    assert "Ethernet8" not in switch.state["config"]["PORT_QOS_MAP"]  # a port that was not named
    assert set(switch.state["config"]["DSCP_TO_TC_MAP"]) == {"AZURE", "HERMOD", "HERMOD_OTHER"}
    trusting = SonicTarget(SonicDevice(), NEW, PORTS)
    differences = list(map(str, trusting.differences()))
    assert "PORT_QOS_MAP Ethernet0: dscp_to_tc_map: HERMOD_OTHER, planned HERMOD" in differences
    assert "SCHEDULER HERMOD_7: pir: 1250000000, not planned" in differences
    assert "QUEUE Ethernet0|0: scheduler: HERMOD_0, planned HERMOD" in differences
    with pytest.raises(OfframpError):
        trusting.apply()
    assert trusting.apply(replace=True)
    assert target.apply(replace=True)
    by_hand = merged(switch.state["config"], {"SCHEDULER": {"HERMOD_0": {"cir": "1"}}})
    switch.set(config=by_hand)
    assert list(map(str, target.differences())) == ["SCHEDULER HERMOD_0: cir: 1, planned 2500000000"]
    assert target.undo()
    assert switch.state["config"] == CONFIG


def config_with(**rows: dict[str, dict[str, str]]) -> Config:
    return merged(CONFIG, rows)


def test_a_name_that_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "config_db.json"
    path.write_text(json.dumps(config_with(SCHEDULER={"HERMOD": {"type": "WRR"}})))
    target = SonicTarget(SonicFiles(tmp_path / "out", "HERMOD", path), NEW, PORTS)
    with pytest.raises(
        OfframpError,
        match=r"^SCHEDULER HERMOD: there already with other contents; undo it first, replace it, or use another name$",
    ):
        target.apply()
    assert not (tmp_path / "out").exists()


def small_configs() -> st.SearchStrategy[Config]:
    names = st.sampled_from(["a", "b~/", "c|1"])
    return st.dictionaries(
        names, st.dictionaries(names, st.dictionaries(names, names, min_size=1), min_size=1), max_size=3
    )


@pytest.mark.full
@given(small_configs(), small_configs())
def test_a_patch_leads_from_one_configuration_to_the_other(before: Config, after: Config) -> None:
    """Applied by the script that stands for the switch, which knows nothing of how patches are made."""
    changed: Any = copy.deepcopy(before)
    fake_sonic.patch(changed, copy.deepcopy(diff(before, after)))
    assert changed == after


@pytest.mark.parametrize("limits", [None, LIMITS])
@pytest.mark.parametrize("plan", [OLD, NEW])
def test_without_takes_away_what_merged_added(plan: Any, limits: LineLimits | None) -> None:
    limits = limits and replace(limits, police_bps={1: 10**9})
    tables = tables_for(plan, PORTS, "HERMOD", members=PORTS[:1], limits=limits)
    assert without(merged(CONFIG, tables), "HERMOD") == CONFIG


@pytest.mark.full
def test_deployed_read_back_replaced_and_removed(switch: Switch) -> None:
    assert is_sonic()
    target = SonicTarget(SonicDevice(), NEW, PORTS)
    assert len(target.differences()) > 80
    assert target.apply()
    assert target.differences() == []
    assert not target.apply()
    assert switch.state["config"]["PORT_QOS_MAP"]["Ethernet0"] == {
        "pfc_enable": "3,4",
        "dscp_to_tc_map": "HERMOD",
        "tc_to_queue_map": "HERMOD",
    }
    other = SonicTarget(SonicDevice(), OLD, PORTS)
    assert "QUEUE Ethernet0|7: scheduler: HERMOD, not planned" in map(str, other.differences())
    with pytest.raises(OfframpError, match="DSCP_TO_TC_MAP HERMOD: there already with other contents"):
        other.apply()
    assert other.apply(replace=True)
    assert other.differences() == []
    assert set(other.deployed()) == set(json.loads(other.rendered()))
    assert other.undo()
    assert not other.undo()
    assert switch.state["config"] == CONFIG
    assert switch.state["checkpoints"] == {}


def changed_by_hand(config: Config) -> Config:
    return merged(config, {"DSCP_TO_TC_MAP": {"HERMOD": {"46": "0"}}})


@pytest.mark.full
def test_what_was_changed_by_hand_is_found(switch: Switch) -> None:
    target = SonicTarget(SonicDevice(), NEW, PORTS)
    target.apply()
    switch.set(config=changed_by_hand(switch.state["config"]))
    assert list(map(str, target.differences())) == ["DSCP_TO_TC_MAP HERMOD: 46: 0, planned 5"]


@pytest.mark.full
@pytest.mark.parametrize("there", [CONFIG, sonic_configs.every()["ranges"]], ids=["no maps", "ranges"])
def test_a_failure_at_every_step(there: Config, switch: Switch) -> None:
    switch.set(config=there)
    SonicTarget(SonicDevice(), OLD, PORTS).apply()
    before = switch.state["config"]
    target = SonicTarget(SonicDevice(), NEW, PORTS, members=PORTS[:1], limits=LIMITS)
    switch.set()
    fail = 0
    while True:
        fail += 1
        switch.set(config=before, fail=fail)
        try:
            target.apply(replace=True)
        except OfframpError as error:
            assert str(error).endswith(": told to fail")  # noqa: PT017
            assert "\n" not in str(error)  # noqa: PT017
            assert switch.state["config"] == before
        else:
            if switch.state["run"] < fail:
                break
    # read, checkpoint, apply-patch, read, delete-checkpoint (whose failure is none), read for the comparison twice
    assert fail > 6
    assert switch.state["config"] != before
    switch.set()
    assert target.undo()
    assert switch.state["config"] == there


@pytest.mark.parametrize("done", range(10))
def test_a_patch_that_breaks_off_is_rolled_back(switch: Switch, done: int) -> None:
    target = SonicTarget(SonicDevice(), NEW, PORTS, members=PORTS[:1], limits=LIMITS)
    switch.set(operations=done)
    with pytest.raises(OfframpError, match=r"^config apply-patch: the patch broke off$"):
        target.apply()
    assert (switch.state["config"], switch.state["checkpoints"]) == (CONFIG, {})


def test_a_switch_that_does_not_do_what_it_says(switch: Switch) -> None:
    target = SonicTarget(SonicDevice(), NEW, PORTS)
    switch.set(forget="QUEUE")
    with pytest.raises(OfframpError, match="SONiC: table QUEUE does not read back as it was written"):
        target.apply()
    assert switch.state["config"] == CONFIG


def test_a_rollback_that_fails_is_said(switch: Switch) -> None:
    target = SonicTarget(SonicDevice(), NEW, PORTS)
    switch.set(operations=1, fail=4)  # read, checkpoint, apply-patch, rollback
    with pytest.raises(
        OfframpError,
        match=r"broke off; and what was there before could not be restored: config rollback: told",
    ):
        target.apply()


def test_files_for_a_switch_elsewhere(tmp_path: Path) -> None:
    path, out = tmp_path / "config_db.json", tmp_path / "out"
    path.write_text(json.dumps(CONFIG))
    target = SonicTarget(SonicFiles(out, "HERMOD", path), NEW)
    assert target.apply()
    assert target.differences() == []
    assert not target.apply()
    tables, patch, back = (json.loads((out / f"hermod{k}.json").read_text()) for k in ("", ".patch", ".undo-patch"))
    assert set(tables["PORT_QOS_MAP"]) == {"Ethernet0", "Ethernet4", "Ethernet8"}  # all that there are
    config: Any = copy.deepcopy(CONFIG)
    fake_sonic.patch(config, patch)
    assert config == merged(CONFIG, tables)
    fake_sonic.patch(config, back)
    assert config == CONFIG
    assert target.undo()
    assert list(out.iterdir()) == []


@pytest.mark.parametrize("which", [0, 1, 2])
def test_files_are_written_together(tmp_path: Path, which: int) -> None:
    names = ("hermod.json", "hermod.patch.json", "hermod.undo-patch.json")
    target = SonicTarget(SonicFiles(tmp_path, "HERMOD", None), NEW, PORTS)
    (tmp_path / names[which]).mkdir()  # in its place nothing can be written
    if which == 1:
        with pytest.raises(OfframpError, match="cannot be read"):
            target.apply()
    else:
        with pytest.raises(OfframpError, match="cannot be written: Is a directory"):
            target.apply()
    assert [path.name for path in tmp_path.iterdir()] == [names[which]]


def test_bad_input(tmp_path: Path, switch: Switch) -> None:
    path = tmp_path / "config_db.json"
    with pytest.raises(OfframpError, match=r"config_db\.json: cannot be read: No such file"):
        SonicFiles(tmp_path, "HERMOD", path)
    path.write_text("[]")
    with pytest.raises(OfframpError, match=r"config_db\.json: expected the tables of CONFIG_DB"):
        SonicFiles(tmp_path, "HERMOD", path)
    path.write_text("{")
    with pytest.raises(OfframpError, match=r"config_db\.json: expected JSON"):
        SonicFiles(tmp_path, "HERMOD", path)
    with pytest.raises(OfframpError, match="knows no ports; expected interfaces, or a config_db with a table PORT"):
        SonicTarget(SonicFiles(tmp_path, "HERMOD", None), NEW)
    with pytest.raises(OfframpError, match=r"Ethernet5.0: expected a port of the switch"):
        SonicTarget(SonicDevice(), NEW, ["Ethernet5"])
    with pytest.raises(OfframpError, match=r"^SONiC: port Ethernet8 of the job is not one of Ethernet0, Ethernet4$"):
        SonicTarget(SonicDevice(), NEW, PORTS, members=["Ethernet8"])
    with pytest.raises(OfframpError, match="expected a name of 1 to 32 letters"):
        SonicTarget(SonicDevice(), NEW, PORTS, name="HERMOD/1")


def test_no_permission(switch: Switch) -> None:
    target = SonicTarget(SonicDevice(), NEW, PORTS)
    (Path(switch._file).parent / "config").write_text("#!/bin/sh\necho 'Root privileges are required' >&2\nexit 1\n")
    with pytest.raises(OfframpError, match=r"^config checkpoint: no permission: Root privileges are required$"):
        target.apply()
    assert switch.state["config"] == CONFIG
