# SPDX-License-Identifier: Apache-2.0
"""A short run of the fuzzer, and that it finds what is there to find.

Blind spot: both engines share the front end, so a fault there shows only as a refusal or a crash.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import pytest

from offramp_base.errors import OfframpError
from offramp_p4 import ir, reference
from offramp_p4.frontend import load_text
from offramp_p4_tools.fuzz import Campaign, random_program
from offramp_p4_tools.fuzz.campaign import PACKETS
from offramp_p4_tools.fuzz.card import random_pna_program
from offramp_p4_tools.fuzz.compare import FuzzInput, FuzzVerdict, compare, python_engine, traced_engine
from offramp_p4_tools.fuzz.isolate import in_parallel, isolated
from offramp_p4_tools.fuzz.minimise import minimise
from offramp_p4_tools.fuzz.packets import random_packets
from offramp_p4_tools.fuzz.portable import random_psa_program
from offramp_p4_tools.fuzz.programs import RandomProgram
from offramp_p4_tools.fuzz.reference import against_bmv2
from offramp_p4_tools.fuzz.tofino import random_tofino_program

pytestmark = [pytest.mark.p4, pytest.mark.full]


def native(program: ir.Program) -> Any:
    pytest.importorskip("llvmlite")
    from offramp_p4_tools.fuzz.compare import native_engine

    return native_engine(program)


def run(engine: Callable[[ir.Program], Any], **limits: float) -> Campaign:
    campaign = Campaign(engine, seed=0)
    campaign.run(**limits)
    return campaign


@pytest.mark.parametrize("engine", [native, traced_engine], ids=["native", "traced"])
def test_engines_agree(engine: Callable[[ir.Program], Any]) -> None:
    engine(load_text(random_program(0).text))  # skips where it cannot run
    campaign = run(engine, trials=3)
    assert [f"{f.kind} {f.seed}: {f.message}" for f in campaign.findings] == []
    assert campaign.counts.programs + campaign.counts.unsupported == 3
    assert campaign.counts.unsupported == 0
    assert campaign.counts.messages_accepted > 6


@pytest.mark.parametrize("write", [random_tofino_program, random_psa_program, random_pna_program])
def test_engines_agree_on_programs_of_other_architectures(write: Callable[[int], RandomProgram]) -> None:
    campaign = Campaign(native, write=write)
    native(load_text(write(0).text))
    campaign.run(trials=3)
    assert [f"{f.kind} {f.seed}: {f.message}" for f in campaign.findings] == []
    assert (campaign.counts.programs, campaign.counts.unsupported) == (3, 0)


@pytest.mark.slow
@pytest.mark.parametrize("write", [random_psa_program, random_pna_program])
def test_traces_change_nothing(write: Callable[[int], RandomProgram]) -> None:
    campaign = Campaign(traced_engine, write=write)
    campaign.run(trials=3)
    assert [f"{f.kind} {f.seed}: {f.message}" for f in campaign.findings] == []
    assert (campaign.counts.programs, campaign.counts.unsupported) == (3, 0)


@pytest.mark.slow
@pytest.mark.parametrize("write", [random_tofino_program, random_psa_program, random_pna_program])
def test_engines_agree_on_programs_of_other_architectures_for_minutes(write: Callable[[int], RandomProgram]) -> None:
    campaign = Campaign(native, seed=int(time.time()), write=write)
    campaign.run(seconds=240)
    assert [f"{f.kind} {f.seed}: {f.message}" for f in campaign.findings] == []
    assert campaign.counts.programs > 50


@pytest.mark.slow
def test_engines_agree_for_minutes() -> None:
    campaign = Campaign(native, seed=int(time.time()))
    campaign.run(seconds=240)
    assert [f"{f.kind} {f.seed}: {f.message}" for f in campaign.findings] == []
    assert campaign.counts.programs > 50


def test_programs_and_packets_follow_from_the_seed() -> None:
    assert random_program(7) == random_program(7)
    assert random_program(7) != random_program(8)
    assert random_packets(Random(3), 5) == random_packets(Random(3), 5)


def test_programs_exercise_the_language() -> None:
    text = "".join(random_program(seed).text for seed in range(30))
    words = ("varbit", "header_union", "push_front", "lookahead", "select", "verify", "advance", "++", "|+|", "|-|",
             "<<", "lpm", "ternary", "range", "optional", "register", "counter", "meter", "hash(",
             "clone_preserving",
             "resubmit_preserving", "recirculate_preserving", "mcast_grp", "digest", "for (", "switch (", "exit;",
             "direct_counter", "direct_meter", "action_selector", "action_profile", "value_set", "() sub;",
             "meta.grid", "meta.inner =", "priority =", "const entries", "update_checksum",
             "isValid", ".hit", "int<")  # fmt: skip
    assert [word for word in words if word not in text] == []


def test_psa_programs_exercise_the_architecture() -> None:
    text = "".join(random_psa_program(seed).text for seed in range(60))
    words = ("Register<", "Counter<", "Meter<", "DirectCounter<", "DirectMeter(", "PSA_MeterColor_t.RED", "Random<",
             "InternetChecksum", "set_state(", "subtract(", "get_hash(", "ONES_COMPLEMENT16", "psa_direct_meter",
             "psa_direct_counter", "psa_implementation", "ActionProfile(", "ActionSelector(", "ostd.clone = true",
             "ostd.resubmit = true", "PSA_PORT_RECIRCULATE", "multicast(ostd", "class_of_service", "notices.pack",
             "ostd.drop = true", "70000", "assert(", "psa_clone_e2e", "psa_recirculate", "\nChecksum<", ".update(",
             "Register<notice_t")  # fmt: skip
    assert [word for word in words if word not in text] == []


def test_pna_programs_exercise_the_architecture() -> None:
    text = "".join(random_pna_program(seed).text for seed in range(60))
    words = ("<pna.p4>", "<bmv2/pna.p4>", "add_entry(", "add_entry_if(", "allocate_flow_id", "restart_expire_timer",
             "set_entry_expire_time(", "set_entry_expire_time_if", "update_expire_info", "AUTO_DELETE", "TOEPLITZ",
             "NOTIFY_CONTROL", "pna_direct_counter", "pna_implementation", "mirror_packet", "recirculate()",
             "drop_packet", "SelectByDirection", "is_host_port", "is_net_port", "istd.pass", "istd.recirculated",
             "ostd.decrypt", "class_of_service", "0xfffffffd", "PNA_MeterColor_t", "Register<notice_t")  # fmt: skip
    assert [word for word in words if word not in text] == []


def test_tofino_programs_exercise_the_architecture() -> None:
    text = "".join(random_tofino_program(seed).text for seed in range(60))
    words = ("Register<pair_t", "RegisterAction<", "DirectRegister<", "DirectRegisterAction<", "Counter<", "Meter<",
             "DirectCounter<", "DirectMeter(", "MeterColor_t.", "Random<", "HashAlgorithm_t.CUSTOM", "lpm", "ternary",
             "HashAlgorithm_t.RANDOM", "HashAlgorithm_t.XOR", "ActionProfile(", "ActionSelector(", "Lpf<", "Wred<",
             "MathUnit<", "predicate(", "mirror_type =", "resubmit_type =", "digest_type =", "mcast_grp_a", "= 68;",
             "level1_exclusion_id", "level2_mcast_hash", "bypass_egress", "drop_ctl", "invalidate(", "is_validated(",
             "sum.update(", "pipe1", "range", "funnel_shift_right", "residue.subtract_all_and_deposit",
             "left.set(")  # fmt: skip
    assert [word for word in words if word not in text] == []


@pytest.mark.bmv2
def test_bmv2_agrees() -> None:
    if reference.missing():
        pytest.skip(f"{', '.join(reference.missing())} not on PATH")
    drawn = random_program(203, portable=True)
    assert against_bmv2(drawn.text, FuzzInput(tuple(random_packets(Random(203), 8, drawn.hints)), 203)) == FuzzVerdict(
        "same"
    )


class Wrong:
    """A switch that forgets the last byte of every frame sent to port 1."""

    def __init__(self, program: ir.Program) -> None:
        self._switch = python_engine(program)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._switch, name)

    def process_one(self, port: int, frame: bytes) -> list[tuple[int, bytes]]:
        out = self._switch.process_one(port, frame)
        return [(p, f[:-1] if p == 1 else f) for p, f in out]


def test_a_difference_is_found_and_made_small(tmp_path) -> None:
    campaign = Campaign(Wrong, shrink_s=6)
    for seed in range(20):
        campaign.trial(seed)
        if campaign.findings:
            break
    (finding,) = campaign.findings
    assert finding.kind == "difference"
    assert 1 <= len(finding.packets) < PACKETS  # how few depends on the time that the machine takes
    assert compare(Wrong, finding.source, FuzzInput(finding.packets, finding.seed)).kind == "difference"
    program, stf = finding.write(tmp_path)
    assert program.read_text() == finding.source
    assert f"packet {finding.packets[0][0]} {finding.packets[0][1].hex()}" in stf.read_text()


def test_crashes_and_endless_loops_end_only_the_child() -> None:
    assert isolated(lambda: 5, 10).value == 5
    assert isolated(lambda: os.kill(os.getpid(), signal.SIGKILL), 10).death == "SIGKILL"
    assert isolated(lambda: time.sleep(30), 0.2).death == "no end in 0.2 s"


def test_several_at_a_time_all_end_and_say_who_they_are() -> None:
    works = [(n, partial(_square, n)) for n in range(7)]
    assert {n: ended.value for n, ended in in_parallel(works, 20, 3)} == {n: n * n for n in range(7)}
    ends = dict(in_parallel([("stuck", partial(time.sleep, 30)), ("fine", partial(_square, 3))], 0.5, 2))
    assert (ends["fine"].value, ends["stuck"].death) == (9, "no end in 0.5 s")


def _square(n: int) -> int:
    return n * n


def test_what_is_wrong_only_once_is_a_finding(tmp_path) -> None:
    once = tmp_path / "once"

    def dies_once(program: ir.Program) -> Any:
        if not once.exists():
            once.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return traced_engine(program)

    campaign = Campaign(dies_once, shrink_s=0)
    campaign.run(trials=1)
    assert [(f.kind, f.message) for f in campaign.findings] == [("unsteady", "SIGKILL, but not a second time")]


def test_several_jobs_count_what_one_counts() -> None:
    counts = []
    for jobs in (1, 2):
        campaign = Campaign(traced_engine, seed=3, jobs=jobs)
        campaign.run(trials=3)
        counts.append(campaign.counts)
    assert counts[0] == counts[1]


def test_an_engine_that_dies_is_a_finding() -> None:
    def dies(_: ir.Program) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)

    campaign = Campaign(dies, shrink_s=0)
    campaign.run(trials=1)
    assert [f.kind for f in campaign.findings] == ["death"]


def test_what_an_engine_does_not_execute_is_counted() -> None:
    def refuses(_: ir.Program) -> Any:
        raise OfframpError("no")

    assert run(refuses, trials=1).counts.unsupported == 1


def test_minimise_keeps_what_matters() -> None:
    kept = minimise(list(range(100)), lambda some: {13, 57} <= set(some), time.monotonic() + 5)
    assert kept == [13, 57]
