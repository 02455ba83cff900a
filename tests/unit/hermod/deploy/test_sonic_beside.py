# SPDX-License-Identifier: Apache-2.0
"""A plan beside the maps, schedulers and profiles that SONiC switches have: it fits, and leaves without a trace.

Where packets go is computed from the tables by a few lines of their own here, which know nothing of how plans are
fitted. Blind to what an ASIC makes of the tables.
"""

from __future__ import annotations

import copy
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import fake_sonic
import sonic_configs
import sonic_yang
from offramp.hermod.deploy.limits import LineLimits
from offramp.hermod.deploy.sonic.files import SonicFiles
from offramp.hermod.deploy.sonic.fitting import NoRoomError, fit
from offramp.hermod.deploy.sonic.removal import without
from offramp.hermod.deploy.sonic.rows import cells, where
from offramp.hermod.deploy.sonic.target import SonicTarget
from offramp.hermod.plan_file import load_plan, read_plan
from offramp_base.errors import OfframpError
from sonic_configs import PORTS, Config

CONFIGS = sonic_configs.every()
PLAN = load_plan("mixtral-8x7b")
MARKED = load_plan("mixtral-8x7b", ecn_bytes={queue: 1000 * (queue + 1) for queue in range(8)})
LIMITS = LineLimits(100 * 10**9, police_bps={6: 40 * 10**9})


class Memory:
    """A switch whose configuration is changed by the patches alone."""

    name = "SONiC"

    def __init__(self, config: Config) -> None:
        self.config: Any = copy.deepcopy(config)
        self.fail: int | None = None

    def read(self) -> Config:
        copied: Config = copy.deepcopy(self.config)
        return copied

    def apply(self, operations: list[dict[str, Any]], after: Config) -> None:
        del after
        if self.fail is not None:
            raise OfframpError("told to fail")
        fake_sonic.patch(self.config, copy.deepcopy(operations))


@pytest.mark.skipif(
    "SONIC_YANG_MODELS" not in os.environ or shutil.which("yanglint") is None,
    reason="needs yanglint, and SONiC's models in the folder SONIC_YANG_MODELS",
)
@pytest.mark.parametrize("options", [{}, {"take": True}, {"limits": LIMITS}], ids=str)
@pytest.mark.parametrize("what", ["default", "ranges", "PFC on other queues", "queues upside down", "dual ToR"])
def test_sonics_own_models(what: str, options: dict[str, Any], tmp_path: Path) -> None:
    switch, models = Memory(CONFIGS[what]), Path(os.environ["SONIC_YANG_MODELS"])
    assert sonic_yang.errors(switch.config, models, tmp_path) == ""
    SonicTarget(switch, MARKED, PORTS, **options).apply(replace="take" in options)
    assert sonic_yang.errors(switch.config, models, tmp_path) == ""
    switch.config["SCHEDULER"]["HERMOD_7"] = {"pir": "1"}
    assert "pir" in sonic_yang.errors(switch.config, models, tmp_path)  # it does look


def name_in(reference: str) -> str:
    return reference.rstrip("]").rpartition("|")[2]


def queue_of(config: Config, dscp: int, came: str, leaves: str) -> int:
    """The queue in which a packet waits, by the tables."""
    rows = config.get("PORT_QOS_MAP", {})

    def bound(port: str, field: str) -> str:
        own = [fields[field] for key, fields in rows.items() if port in key.split(",") and field in fields]
        return name_in(own[-1]) if own else ""

    classes = bound(came, "dscp_to_tc_map") or bound("global", "dscp_to_tc_map")
    one = config.get("DSCP_TO_TC_MAP", {}).get(classes, {}).get(str(dscp), "0")
    table = config.get("TC_TO_QUEUE_MAP", {}).get(bound(leaves, "tc_to_queue_map"), {})
    return int(table.get(one, one))


def scheduler_of(config: Config, port: str, queue: int) -> dict[str, str] | None:
    named = [
        name_in(fields["scheduler"])
        for key, fields in config["QUEUE"].items()
        if (where(config) + port, queue) in cells(key) and "scheduler" in fields
    ]
    assert len(named) <= 1
    return config["SCHEDULER"][named[0]] if named else None


def paused(config: Config) -> set[int]:
    rows = config.get("PORT_QOS_MAP", {}).values()
    return {int(queue) for fields in rows for queue in fields.get("pfc_enable", "").split(",") if queue}


@pytest.mark.parametrize("options", [{}, {"take": True}, {"limits": LIMITS}, {"take": True, "limits": LIMITS}], ids=str)
@pytest.mark.parametrize("plan", [PLAN, MARKED], ids=["plain", "marked"])
@pytest.mark.parametrize("what", CONFIGS)
def test_deployed_checked_and_removed_without_a_trace(what: str, plan: Any, options: dict[str, Any]) -> None:
    config, switch = CONFIGS[what], Memory(CONFIGS[what])
    target = SonicTarget(switch, plan, PORTS, **options)
    replace = "take" in options
    assert target.differences()
    assert target.apply(replace=replace)
    assert target.differences() == []
    assert not target.apply(replace=replace)
    after = switch.read()
    assert set(target.deployed()) == set(json.loads(target.rendered())) or not target.fitted.notes
    assert all(after.values())
    assert without(after, "HERMOD") == config
    assert SonicTarget(switch, load_plan("gpt3-13b"), PORTS).undo()  # which plan it was does not matter
    assert switch.config == config


@pytest.mark.parametrize("members", [None, PORTS[:2]])
@pytest.mark.parametrize("what", [what for what in CONFIGS if not any(one in what for one in ("lists", "row", "all"))])
def test_where_packets_go(what: str, members: Any) -> None:
    """The job's by queues of its own, in the plan's order; everybody else's as before, from any port to any."""
    config, switch = CONFIGS[what], Memory(CONFIGS[what])
    target = SonicTarget(switch, PLAN, PORTS, members=members)
    fitted = target.fitted
    target.apply()
    after = switch.read()
    if not fitted.notes:
        return
    rows = {priority.dscp: priority.queue for priority in fitted.plan.priorities}
    ours = set()
    for came in PORTS:
        for leaves in PORTS:
            own = {d: queue_of(after, d, came, leaves) for d in range(64)}
            before = {d: queue_of(config, d, came, leaves) for d in range(64)}
            changed = {d for d in own if own[d] != before[d]}
            if members and came not in members:
                assert not changed
                continue
            assert changed <= set(fitted.plan.queues)
            assert {d for d, queue in rows.items() if queue} <= changed
            order = [own[d] for d in sorted((d for d in rows if rows[d]), key=rows.__getitem__)]
            assert order == sorted(order)
            ours |= {own[d] for d in changed}
            assert not {before[d] for d in before} & {own[d] for d in changed}  # queues that nobody had
    assert ours
    assert not ours & paused(config)
    for port in PORTS:
        for queue in range(8):
            scheduler = scheduler_of(after, port, queue)
            assert scheduler == ({"type": "STRICT"} if queue in ours else scheduler_of(config, port, queue))


def test_the_default() -> None:
    """All but queue 7 is reached; DSCPs that mean something stay; the hosts get the others in a file of plans."""
    config = CONFIGS["default"]
    fitted = fit(config, PLAN, PORTS, "HERMOD")
    assert set(fitted.queues.values()) == {7}
    assert fitted.moved.keys() <= {3, 4, 5, 8, 46, 48}
    assert not set(fitted.moved.values()) & {3, 4, 5, 8, 46, 48}
    assert fitted.tables["PORT_QOS_MAP"][PORTS[0]] == {"dscp_to_tc_map": "HERMOD_ON_AZURE"}
    assert "TC_TO_QUEUE_MAP" not in fitted.tables
    there, fitted_map = config["DSCP_TO_TC_MAP"]["AZURE"], fitted.tables["DSCP_TO_TC_MAP"]["HERMOD_ON_AZURE"]
    assert {d for d in there if fitted_map[d] != there[d]} == {
        str(d) for d, q in fitted.plan.queues.items() if q and d != 48
    }
    assert fitted.tables["QUEUE"] == {f"{port}|7": {"scheduler": "HERMOD"} for port in PORTS}
    again = fit(config, fitted.plan, PORTS, "HERMOD")
    assert (again.tables, again.moved) == (fitted.tables, {})


def test_everything_but_what_pfc_has() -> None:
    fitted = fit(CONFIGS["default"], PLAN, PORTS, "HERMOD", replace=True)
    assert sorted(set(fitted.queues.values())) == [0, 1, 2, 5, 6, 7]
    fitted_map = fitted.tables["DSCP_TO_TC_MAP"]["HERMOD_ON_AZURE"]
    assert (fitted_map["3"], fitted_map["4"], fitted_map["46"], fitted_map["48"]) == ("3", "4", "5", "7")
    assert fitted.tables["QUEUE"]["Ethernet0|0"] == {"scheduler": "HERMOD_ON_scheduler.0"}
    fitted = fit(CONFIGS["default"], PLAN, PORTS, "HERMOD", replace=True, members=PORTS[:1])
    other = fitted.tables["DSCP_TO_TC_MAP"]["HERMOD_OTHER_ON_AZURE"]
    assert {other[str(d)] for d in range(64) if d not in (3, 4)} == {"0"}


def test_limits_and_marks() -> None:
    fitted = fit(CONFIGS["default"], MARKED, PORTS, "HERMOD", limits=LIMITS)
    assert fitted.tables["WRED_PROFILE"]["HERMOD_7"]["green_min_threshold"] == "2000"  # the lowest of those that share
    assert "WRED_PROFILE" not in fit(CONFIGS["default"], PLAN, PORTS, "HERMOD").tables
    rated = fitted.tables["SCHEDULER"]["HERMOD_1_ON_scheduler.0"]
    assert rated == {"type": "DWRR", "weight": "14", "meter_type": "bytes", "cir": "625000000", "cbs": "625000"}
    every = LineLimits(100 * 10**9, police_bps=dict.fromkeys(range(1, 7), 10**9))
    shared = fit(CONFIGS["default"], PLAN, PORTS, "HERMOD", limits=every).tables["SCHEDULER"]["HERMOD_7"]
    assert shared["pir"] == str(6 * 10**9 // 8)
    own = sonic_configs.default()
    own["SCHEDULER"]["scheduler.0"]["cir"] = "1"
    assert "HERMOD_1_ON_scheduler.0" not in fit(own, PLAN, PORTS, "HERMOD", limits=LIMITS).tables["SCHEDULER"]


def test_rows_for_several_queues_are_split_only_if_they_must_be() -> None:
    config = sonic_configs.ranges(sonic_configs.default(), "0-2", "3-4", "5-7")
    fitted = fit(config, PLAN, PORTS, "HERMOD")
    assert list(fitted.split) == [f"{port}|5-7" for port in PORTS]
    assert fitted.tables["QUEUE"]["Ethernet4|7"] == {"scheduler": "HERMOD_ON_scheduler.0_OF_Ethernet4@5-7"}
    assert fitted.tables["QUEUE"]["Ethernet4|6"] == {"scheduler": "scheduler.0"}
    whole = fit(config, PLAN, PORTS, "HERMOD", replace=True)
    assert not whole.split
    assert whole.tables["QUEUE"]["Ethernet4|5-7"] == {"scheduler": "HERMOD_ON_scheduler.0"}
    switch = Memory(config)
    target = SonicTarget(switch, PLAN, PORTS)
    target.apply()
    switch.config["QUEUE"]["Ethernet4|5-7"] = {"scheduler": "scheduler.1"}
    with pytest.raises(
        OfframpError, match=r"^QUEUE Ethernet4\|7 and Ethernet4\|5-7: both say a scheduler of Ethernet4\|7"
    ):
        target.differences()
    del switch.config["QUEUE"]["Ethernet4|5-7"]
    switch.config["QUEUE"]["Ethernet4|6"] = {"scheduler": "scheduler.1"}  # by hand: the row cannot be joined any more
    target.undo()
    assert switch.config["QUEUE"]["Ethernet4|6"] == {"scheduler": "scheduler.1"}
    assert switch.config["QUEUE"]["Ethernet4|7"] == {"scheduler": "scheduler.0"}
    assert switch.config["QUEUE"]["Ethernet8|5-7"] == {"scheduler": "scheduler.0"}


def busy() -> Config:
    config = sonic_configs.default()
    config["DSCP_TO_TC_MAP"]["AZURE"] = {str(d): str(d // 8) for d in range(64)}
    return config


def listed() -> Config:
    return sonic_configs.lists(sonic_configs.default())


def doubled(key: str, ports: Any = PORTS) -> Config:
    config = sonic_configs.default()
    config["QUEUE"] |= {f"{port}|7": {"scheduler": "scheduler.0"} for port in ports}
    config["QUEUE"][key] = {"scheduler": "scheduler.1"}
    return config


def named(name: str) -> Config:
    text = json.dumps(sonic_configs.default(), sort_keys=True)
    return dict(json.loads(text.replace('"AZURE"', json.dumps(name))))


def empty_row() -> Config:
    return sonic_configs.with_rows(sonic_configs.default(), QUEUE={"Ethernet4|7": {}})


@pytest.mark.parametrize(
    ("config", "options", "message"),
    [
        (
            busy(),
            {},
            (
                "no queue is free: DSCP_TO_TC_MAP AZURE and TC_TO_QUEUE_MAP AZURE reach 0, 1, 2, 5, 6, 7, PFC has "
                "3, 4; --replace takes all but those of PFC"
            ),
        ),
        (
            listed(),
            {"ports": PORTS[:2]},
            (
                "PORT_QOS_MAP Ethernet0,Ethernet4,Ethernet8: Ethernet0 would have another dscp_to_tc_map than "
                "Ethernet8; name all of its ports, or split it"
            ),
        ),
        (
            listed(),
            {"members": PORTS[:2]},
            (
                "PORT_QOS_MAP Ethernet0,Ethernet4,Ethernet8: Ethernet0 would have another dscp_to_tc_map than "
                "Ethernet8; name all of its ports, or split it"
            ),
        ),
        (
            doubled("Ethernet0|6-7"),
            {},
            "QUEUE Ethernet0|7 and Ethernet0|6-7: both say a scheduler of Ethernet0|7; remove one",
        ),
        (
            doubled("Ethernet0|6-7", PORTS[1:]),
            {},
            "QUEUE Ethernet0|6-7: would be split, but Ethernet0|6 is there too; join or split them",
        ),
        (
            named("A-MAP-OF-TWENTY-8-LETTERS-XX"),
            {},
            (
                "DSCP_TO_TC_MAP HERMOD_ON_A-MAP-OF-TWENTY-8-LETTERS-XX: 38 characters, expected up to 32; use a --name "
                "that is 6 shorter"
            ),
        ),
        (empty_row(), {}, "QUEUE Ethernet4|7: is empty, and could not be put back; remove it first"),
        (
            CONFIGS["default"],
            {"name": "AZURE"},
            "--name AZURE: DSCP_TO_TC_MAP AZURE is not one of ours; use another",
        ),
        (
            CONFIGS["default"],
            {"name": "X_ON_Y"},
            "--name X_ON_Y: expected one without _ON_ and _OF_ that ends neither in _OTHER nor in _0",
        ),
    ],
)
def test_what_is_in_the_way(config: Config, options: dict[str, Any], message: str) -> None:
    switch = Memory(config)
    with pytest.raises(OfframpError) as caught:
        SonicTarget(switch, PLAN, **{"ports": PORTS, **options}).apply()
    assert str(caught.value) == message
    assert switch.config == config


@pytest.mark.parametrize("config", [CONFIGS["default"], {"PORT": CONFIGS["default"]["PORT"]}], ids=["maps", "none"])
def test_two_plans_refuse_each_other(config: Config) -> None:
    switch = Memory(config)
    SonicTarget(switch, PLAN, PORTS, name="FIRST").apply()
    before = switch.read()
    with pytest.raises(OfframpError, match=r"^plan FIRST is deployed there; undo it first \(--undo --name FIRST\), or"):
        SonicTarget(switch, PLAN, PORTS, name="SECOND", take=True)
    assert switch.config == before


def test_what_is_there_can_be_removed_when_nothing_fits_any_more() -> None:
    switch = Memory(CONFIGS["default"])
    SonicTarget(switch, PLAN, PORTS).apply()
    switch.config["DSCP_TO_TC_MAP"]["AZURE"]["60"] = "7"
    target = SonicTarget(switch, PLAN, PORTS)
    with pytest.raises(NoRoomError, match=r"^no queue is free"):
        target.differences()
    assert target.deployed()
    assert target.undo()
    expected = sonic_configs.default()
    expected["DSCP_TO_TC_MAP"]["AZURE"]["60"] = "7"
    assert switch.config == expected


def test_dscps_are_shared_where_few_are_left() -> None:
    """Most DSCPs mean something here: what is left goes round in order, and the file of the plan is one."""
    config = sonic_configs.default()
    config["DSCP_TO_TC_MAP"]["AZURE"] = {str(d): "1" if d % 4 == 0 else "0234561"[d % 6] for d in range(64)}
    fitted = fit(config, PLAN, PORTS, "HERMOD")
    carried = {priority.dscp: priority.queue for priority in fitted.plan.priorities}
    assert set(carried) <= set(range(0, 64, 4))
    pairs = [(old.queue, new.queue) for old, new in zip(PLAN.priorities, fitted.plan.priorities, strict=True)]
    assert [new for _, new in sorted(pairs)] == sorted(new for _, new in pairs)  # the order is kept
    config["DSCP_TO_TC_MAP"]["AZURE"] = dict.fromkeys(map(str, range(64)), "3")
    with pytest.raises(NoRoomError, match=r"^no DSCP is left for the job: all of them are in use, or"):
        fit(config, PLAN, PORTS, "HERMOD")


@pytest.mark.parametrize("what", ["default", "ranges", "lists in brackets", "dual ToR"])
def test_files_and_the_plan_for_the_hosts(what: str, tmp_path: Path) -> None:
    path, out, config = tmp_path / "config_db.json", tmp_path / "out", CONFIGS[what]
    path.write_text(json.dumps(config))
    carried = out / "hermod.plan.json"
    target = SonicTarget(SonicFiles(out, "HERMOD", path), PLAN, PORTS, carried=carried)
    assert target.apply()
    assert not target.apply()
    assert target.differences() == []
    patch, back = (json.loads((out / f"hermod.{kind}.json").read_text()) for kind in ("patch", "undo-patch"))
    changed: Any = copy.deepcopy(config)
    fake_sonic.patch(changed, patch)
    assert load_plan(str(carried)) == target.fitted.plan
    assert read_plan(carried).job == PLAN.job
    switch = Memory(changed)
    assert SonicTarget(switch, load_plan(str(carried)), PORTS).differences() == []
    fake_sonic.patch(changed, back)
    assert changed == config
    assert SonicTarget(switch, PLAN, PORTS).undo()
    assert switch.config == config
    assert target.undo()
    assert list(out.iterdir()) == []


def test_the_plan_for_the_hosts_is_not_left_by_a_failure(tmp_path: Path) -> None:
    switch, carried = Memory(CONFIGS["default"]), tmp_path / "hermod.plan.json"
    target = SonicTarget(switch, PLAN, PORTS, carried=carried)
    switch.fail = 1
    with pytest.raises(OfframpError, match=r"^told to fail$"):
        target.apply()
    assert not carried.exists()
    carried.write_text("old")
    with pytest.raises(OfframpError, match=r"^told to fail$"):
        target.apply()
    assert carried.read_text() == "old"
    carried.unlink()
    carried.mkdir()
    with pytest.raises(OfframpError, match=r"hermod\.plan\.json: cannot be written: Is a directory$"):
        target.apply()
    assert switch.config == CONFIGS["default"]
