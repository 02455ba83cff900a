# SPDX-License-Identifier: Apache-2.0
"""Strict classes on a veth pair in a namespace of the test's own. Oracle: what ``tc`` shows, and what it counts."""

from __future__ import annotations

import re
import socket
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import namespaces
from offramp.hermod.deploy.linux import tc as tc_module
from offramp.hermod.deploy.linux.host import settings
from offramp.hermod.deploy.linux.prefixes import blocks, tos_match
from offramp.hermod.deploy.linux.several import LinuxTargets
from offramp.hermod.deploy.linux.show import root_of, state_from
from offramp.hermod.deploy.linux.state import state_for
from offramp.hermod.deploy.linux.target import LinuxTarget
from offramp.hermod.deploy.linux.tc import Tc
from offramp.hermod.plan_file import load_plan
from offramp.hermod.queues import QueuePlan
from offramp_base.errors import OfframpError

RATE = 10**9
_SO_SNDBUFFORCE, _SO_RCVBUFFORCE = 32, 33
OLD, NEW = load_plan("mixtral-8x7b", 3), load_plan("mixtral-8x7b", ecn_bytes={0: 10**5})
Run = Callable[[Callable[[], None]], None]


@pytest.fixture(scope="module")
def inside() -> Iterator[namespaces.Namespace]:
    namespaces.require()
    with namespaces.Namespace() as namespace:
        namespace.veth("left", "right")
        yield namespace


@pytest.fixture(params=["htb", "prio"])
def kind(request: pytest.FixtureRequest) -> str:
    """A discipline that this kernel has; ``make guest`` brings one that has both."""
    if not Tc().knows(request.param):
        pytest.skip(f"the kernel has no {request.param} (sch_{request.param})")
    return str(request.param)


def strict(kind: str, plan: QueuePlan, rate_bps: int = RATE, tc: Tc | None = None) -> LinuxTarget:
    """The plan on ``left``; prio has no use for a rate."""
    return LinuxTarget("left", plan, kind=kind, rate_bps=rate_bps if kind == "htb" else None, tc=tc or Tc())


def shown(interface: str = "left") -> str:
    """Everything that tc knows of an interface, without what it counts."""
    text = "".join(Tc().show(what, "show", "dev", interface) for what in ("qdisc", "class", "filter"))
    return re.sub(r"direct_packets_stat \d+|refcnt \d+| fh \S+| key ht \S+", "", text)


class Breaking(Tc):
    """A batch breaks off at a line that tc refuses; once."""

    at: int | None = None
    lines = 0

    def batch(self, lines: Sequence[str]) -> None:
        at, self.at, self.lines = self.at, None, len(lines)
        super().batch(lines if at is None else [*lines[:at], "class add dev left parent 9: classid 9:1 htb rate 1"])


@given(st.sets(st.integers(0, 63)))
def test_blocks_cover_a_set_exactly(dscps: set[int]) -> None:
    covered = [dscp for first, size in blocks(dscps) for dscp in range(first, first + size)]
    assert sorted(covered) == sorted(dscps)
    for first, size in blocks(dscps):
        value, mask = tos_match(first, size)
        assert {tos for tos in range(256) if tos & mask == value} == set(range(first << 2, first + size << 2))


@pytest.mark.full
@pytest.mark.netns
@pytest.mark.parametrize("before", [None, OLD])
def test_a_failure_at_every_step(inside: namespaces.Namespace, before: object, kind: str) -> None:
    def work() -> None:
        tc = Breaking()
        old = strict(kind, OLD)
        old.undo()
        if before is not None:
            assert old.apply()
        was = shown()
        new = strict(kind, NEW, 2 * RATE, tc)
        count = len(new._wanted.commands("left")) + (before is not None)
        for tc.at in range(count):
            at = tc.at
            with pytest.raises(OfframpError, match=r"^interface left: tc: .*") as caught:
                new.apply(replace=True)
            assert "\n" not in str(caught.value)
            assert shown() == was, f"line {at}"
        assert new.apply(replace=True)
        assert new.differences() == []
        assert tc.lines == count
        assert new.undo()

    inside.call(work)


@pytest.mark.netns
def test_what_reads_back_otherwise_is_undone(inside: namespaces.Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    def work() -> None:
        target = LinuxTarget("left", NEW, kind="htb", rate_bps=RATE)
        was = shown()
        commands = target._wanted.commands("left")[:-1]
        with monkeypatch.context() as patch:
            patch.setattr(type(target._wanted), "commands", lambda self, interface: commands)
            with pytest.raises(OfframpError, match=r"does not hold what was written: ARP: queue -\d+, planned queue 7"):
                target.apply()
        assert shown() == was

    inside.call(work)


@pytest.mark.netns
def test_differences_are_found(inside: namespaces.Namespace) -> None:
    def work() -> None:
        target = LinuxTarget("left", NEW, kind="htb", rate_bps=12_345_678)
        assert target.apply()
        Tc().batch(
            [
                "class change dev left parent 4845:1 classid 4845:12 htb rate 8kbit ceil 1mbit prio 5",
                "filter add dev left parent 4845: protocol ip prio 1 u32 match ip dsfield 0x20 0xfc flowid 4845:17",
                "class change dev left parent 4845: classid 4845:1 htb rate 5mbit ceil 5mbit",
            ]
        )
        differences = {d.what: str(d) for d in target.differences()}
        assert differences["most of queue 2"] == "most of queue 2: 1000000 bit/s, not planned"
        assert differences["rate"] == "rate: 5000000 bit/s, planned 12300000 bit/s"
        assert differences["DSCP 8 (ip)"] == "DSCP 8 (ip): queue 7, not planned"
        with pytest.raises(OfframpError, match=r"in use otherwise: rate: .* and \d+ more; undo it first, or"):
            target.apply()
        Tc().batch(["class change dev left parent 4845:1 classid 4845:12 htb rate 8kbit ceil 1mbit prio 6"])
        differences = {d.what: str(d) for d in target.differences()}
        assert differences["discipline"].startswith("discipline: htb with -1 strict classes, planned htb with 8")
        was = shown()
        with pytest.raises(OfframpError, match="has been changed since, and could not be put back; undo it first"):
            target.apply(replace=True)
        assert shown() == was
        assert target.undo()
        assert not target.undo()
        assert target.deployed() == {}

    inside.call(work)


@pytest.mark.netns
def test_packets_go_into_the_classes_of_their_dscps(inside: namespaces.Namespace, kind: str) -> None:
    """Frames of both IP versions straight to the interface, one of each DSCP; then the classes' own counts."""

    def work() -> None:
        target = strict(kind, NEW)
        assert target.apply()
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as raw:
            raw.bind(("left", 0))
            macs = bytes.fromhex("ffffffffffff020000000001")
            for tos in range(0, 256, 2):
                ipv4 = bytes([0x45, tos]) + (20).to_bytes(2, "big") + bytes(16)
                ipv6 = (6 << 28 | tos << 20).to_bytes(4, "big") + bytes(36)
                raw.send(macs + b"\x08\x00" + ipv4)
                raw.send(macs + b"\x86\xdd" + ipv6)
            raw.send(macs + b"\x08\x06" + bytes(28))
            raw.send(macs + b"\x88\xcc" + bytes(28))
        wanted = Counter(NEW.queues.get(tos >> 2, NEW.other) for tos in range(0, 256, 2) for _ in range(2))
        wanted += Counter([NEW.urgent, NEW.other])
        counted = Tc().show("-s", "class", "show", "dev", "left")
        classes = re.findall(rf"class {kind} 4845:(\w+) parent.*\n Sent \d+ bytes (\d+) pkt", counted)
        queues = {target._wanted.queue_of(int(minor, 16)): int(packets) for minor, packets in classes}
        assert queues == {q: wanted[q] for q in range(8)}
        assert target.undo()

    inside.call(work)


@pytest.mark.netns
def test_the_urgent_class_goes_first(inside: namespaces.Namespace) -> None:
    """Frames of both classes wait at a frame a second; then the line becomes fast, and the upper class goes first.

    Those of the lower class before it are what the guarantee of 8 kbit/s lets through, and went while they were sent.
    """

    def work() -> None:
        target = LinuxTarget("left", NEW, kind="htb", rate_bps=8_000)
        assert target.apply()
        faster = [line.replace("class add", "class change").replace("8000bit ceil 8000", "8000bit ceil 10000000")
                  for line in target._wanted.commands("left") if line.startswith("class")]  # fmt: skip
        faster[0] = faster[0].replace("rate 8000bit", "rate 10000000bit")
        macs = bytes.fromhex("ffffffffffff020000000001")
        with (
            socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender,
            socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800)) as receiver,
        ):
            sender.bind(("left", 0))
            receiver.bind(("right", 0x0800))
            receiver.settimeout(20)
            for dscp in [0] * 40 + [63] * 40:
                sender.send(macs + b"\x08\x00" + bytes([0x45, dscp << 2]) + bytes(1018))
            Tc().batch(faster)
            came = [receiver.recv(2000)[15] >> 2 for _ in range(80)]
        last = max(i for i, dscp in enumerate(came) if dscp == 63)
        assert came[:last].count(0) < 15
        assert target.undo()

    inside.call(work)


def came_until_the_last(dscp: int, waiting: dict[int, int]) -> Counter[int]:
    """Frames of 1,000 bytes that come by ``right``, by DSCP, until the last of one; so many of each wait before."""
    macs = bytes.fromhex("ffffffffffff020000000001")
    came: Counter[int] = Counter()
    with (
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender,
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800)) as receiver,
    ):
        sender.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, 1 << 22)
        receiver.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 1 << 22)
        sender.bind(("left", 0))
        receiver.bind(("right", 0x0800))
        receiver.settimeout(20)
        for own, frames in waiting.items():
            for _ in range(frames):
                sender.send(macs + b"\x08\x00" + bytes([0x45, own << 2]) + bytes(984))
        while came[dscp] < waiting[dscp]:
            came[receiver.recv(2000)[15] >> 2] += 1
    return came


@pytest.mark.netns
@pytest.mark.parametrize("share", [0.0, 0.1, 0.4])
def test_the_lowest_class_keeps_its_share(inside: namespaces.Namespace, share: float) -> None:
    """Both classes have more than the line carries; what goes of the lowest until the upper is done is its share."""

    def work() -> None:
        target = LinuxTarget("left", NEW, kind="htb", rate_bps=2_000_000, lowest=share)
        assert target.apply()
        came = came_until_the_last(63, {0: 200, 63: 200})
        kept = came[0] / (came[0] + came[63])
        assert abs(kept - share) < 0.08, came
        assert target.undo()

    inside.call(work)


@pytest.mark.netns
@pytest.mark.parametrize(("limits", "most"), [({}, None), ({"control": 0.1}, 0.1), ({"police": {7: 600_000}}, 0.3)])
def test_control_traffic_takes_its_share_at_most(
    inside: namespaces.Namespace, limits: dict[str, Any], most: float | None
) -> None:
    """A host that sends with the control DSCP only leaves the rest of the line to everybody below."""

    def work() -> None:
        target = LinuxTarget("left", NEW, kind="htb", rate_bps=2_000_000, **limits)
        assert target.apply()
        came = came_until_the_last(48, {55: 400, 48: 30})
        assert came[48] == 30
        if most is None:
            assert came[55] < 15
        else:
            beyond_burst = 30 - 8
            assert came[55] > 0.7 * beyond_burst * (1 - most) / most
        assert target.undo()

    inside.call(work)


@pytest.mark.netns
def test_other_limits_are_a_difference_and_replaced(inside: namespaces.Namespace) -> None:
    def work() -> None:
        was = [shown(name) for name in ("left", "right")]
        one = LinuxTarget("left", NEW, kind="auto", rate_bps=RATE, control=0.2, lowest=0.25)
        two = LinuxTarget("left", NEW, kind="htb", rate_bps=RATE, control=0.5, lowest=0.1, police={6: RATE // 3})
        assert one.apply()
        assert one.differences() == []
        assert one.deployed()["most of queue 7"] == "200000000 bit/s"
        assert one.deployed()["rate of the lowest queue"] == "250000000 bit/s"
        assert [str(d) for d in two.differences()] == [
            "rate of the lowest queue: 250000000 bit/s, planned 100000000 bit/s",
            "most of queue 6: missing, planned 333000000 bit/s",
            "most of queue 7: 200000000 bit/s, planned 500000000 bit/s",
        ]
        with pytest.raises(OfframpError, match="in use otherwise: rate of the lowest queue"):
            two.apply()
        assert two.apply(replace=True)
        assert two.differences() == []
        assert shown("right") == was[1]  # an interface that was not named
        assert two.undo()
        assert [shown(name) for name in ("left", "right")] == was

    inside.call(work)


@pytest.mark.netns
def test_somebody_elses_discipline_stays(inside: namespaces.Namespace) -> None:
    def work() -> None:
        Tc().batch(["qdisc add dev left root handle 7: htb"])
        was = shown()
        target = LinuxTarget("left", NEW, kind="htb", rate_bps=RATE)
        for act in (target.apply, target.undo, target.differences):
            with pytest.raises(OfframpError, match="left: has a queueing discipline of its own, htb 7:; expected"):
                act()
        assert shown() == was
        Tc().batch(["qdisc del dev left root"])

    inside.call(work)


@pytest.mark.netns
@pytest.mark.parametrize("before", [None, OLD])
def test_several_interfaces_or_none(inside: namespaces.Namespace, before: object) -> None:
    def work() -> None:
        old = LinuxTargets([LinuxTarget(name, OLD, kind="htb", rate_bps=RATE) for name in ("left", "right")])
        if before is not None:
            assert old.apply()
        was = [shown(name) for name in ("left", "right")]
        broken = Breaking()
        last = LinuxTarget("right", NEW, kind="htb", rate_bps=RATE, tc=broken)
        new = LinuxTargets([LinuxTarget("left", NEW, kind="htb", rate_bps=RATE), last])
        broken.at = 9
        with pytest.raises(OfframpError, match=r"^interface right: tc: "):
            new.apply(replace=True)
        assert [shown(name) for name in ("left", "right")] == was
        assert new.apply(replace=True)
        assert not new.apply()
        assert new.differences() == []
        assert {d.what.partition(":")[0] for d in old.differences()} == {"interface left", "interface right"}
        assert new.deployed()["interface right: DSCP 63 (ip)"] == "queue 6"
        assert [new.rendered().count(text) for text in ("tc qdisc add", "tcp_reflect_tos")] == [2, 1]
        assert new.undo()
        assert not new.undo()

    inside.call(work)


@pytest.mark.netns
def test_no_permission(inside: namespaces.Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    run = subprocess.run
    as_nobody = ["setpriv", "--reuid", "65534", "--clear-groups"]

    def work() -> None:
        target = LinuxTarget("left", NEW, kind="htb", rate_bps=RATE)
        was = shown()
        with monkeypatch.context() as patch:
            patch.setattr(tc_module.subprocess, "run", lambda command, **o: run([*as_nobody, *command], **o))
            with pytest.raises(OfframpError, match="interface left: no permission to set queueing disciplines"):
                target.apply()
        assert shown() == was

    inside.call(work)


def test_unknown_interface_kind_and_rate() -> None:
    with pytest.raises(OfframpError, match="interface nosuch0: no such interface"):
        LinuxTarget("nosuch0", NEW)
    with pytest.raises(OfframpError, match="queueing discipline sfq: expected auto, prio, htb"):
        LinuxTarget("lo", NEW, kind="sfq")
    with pytest.raises(OfframpError, match="interface lo: htb needs the rate of the line"):
        LinuxTarget("lo", NEW, kind="htb")
    with pytest.raises(OfframpError, match="interface lo: prio limits no queue; expected htb"):
        LinuxTarget("lo", NEW, kind="prio", rate_bps=RATE, police={1: RATE})
    with pytest.raises(OfframpError, match="interface lo: rate of queue 8: expected 0 to 7"):
        LinuxTarget("lo", NEW, kind="htb", rate_bps=RATE, police={8: RATE})


def test_no_tc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(OfframpError, match="tc: cannot be run: No such file or directory; expected iproute2"):
        Tc().show("qdisc")
    assert not Tc().knows("prio")


@pytest.mark.netns
@pytest.mark.parametrize("plan", [OLD, NEW])
def test_auto_is_prio_where_the_kernel_has_it_and_nothing_is_limited(
    inside: namespaces.Namespace, plan: QueuePlan
) -> None:
    if not Tc().knows("prio"):
        pytest.skip("the kernel has no prio (sch_prio)")

    def work() -> None:
        was = shown()
        target = LinuxTarget("left", plan)
        assert target.apply()
        assert target.deployed()["discipline"] == f"prio with {plan.count} strict classes"
        assert target.differences() == []
        assert not target.apply()
        bands = [f"class add dev left parent 4845: classid 4845:{n:x} prio" for n in (1, 2)]
        with pytest.raises(OfframpError, match=r"^tc: "):
            Tc().batch(bands)  # prio's classes are its bands: nobody adds one
        Tc().batch(["filter del dev left parent 4845: protocol arp prio 3"])
        assert [d.what for d in target.differences()] == ["ARP"]
        assert target.undo()
        assert shown() == was

    inside.call(work)


def test_prio_as_text() -> None:
    """Written and read back as iproute2 prints it, typed in: for kernels that have none."""
    state = state_for(OLD, "prio", None)
    lines = state.commands("eth0")
    assert lines[0] == "qdisc add dev eth0 root handle 4845: prio bands 3 priomap " + " ".join(["2"] * 16)
    assert lines[-1] == "filter add dev eth0 parent 4845: protocol arp prio 3 u32 match u32 0 0 flowid 4845:1"
    qdisc = "qdisc prio 4845: root refcnt 2 bands 3 priomap 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2\n"
    filters = []
    for line in lines[1:]:
        protocol, flow = re.search(r"protocol (\S+) .*flowid (\S+)", line).groups()  # type: ignore[union-attr]
        value, mask = (int(n, 16) for n in re.findall(r"0x[0-9a-f]+", line)) if protocol != "arp" else (0, 0)
        shift = 20 if protocol == "ipv6" else 16
        filters.append(f"filter protocol {protocol} pref 1 u32 chain 0 fh 800::800 order 2048 *flowid {flow} not_in_hw")
        filters.append(f"  match {value << shift:08x}/{mask << shift:08x} at 0")
    assert root_of(qdisc) == ("prio", "4845:")
    assert state_from(qdisc, "", "\n".join(filters)) == state


def test_settings_of_the_host() -> None:
    lines = settings(NEW)
    assert "sysctl -w net.ipv4.tcp_reflect_tos=1" in lines
    assert "sysctl -w net.ipv4.tcp_ecn=1" in lines
    assert "sysctl -w net.ipv4.tcp_ecn=1" not in settings(OLD)
    assert "#   IP_TOS 252  DSCP 63  queue 6  microbatch 0, EP PP, layers 0-7" in lines
