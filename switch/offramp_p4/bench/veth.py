# SPDX-License-Identifier: Apache-2.0
"""The forwarding rate of a switch over veth pairs, in a network namespace made for the purpose.

Host and switch are processes of their own; see :mod:`offramp_p4.bench.player` for how frames are sent and counted.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from offramp_base.ending.left import temporary_folder
from offramp_base.errors import OfframpError
from offramp_base.iproute import ip
from offramp_base.wire.batch import PacketBatch
from offramp_p4.bench import player
from offramp_p4.bench.namespace import in_namespace
from offramp_p4.bench.rates import MeasuredRate, fresh
from offramp_p4.bench.workload import SwitchWorkload
from offramp_p4.engines import make_switch
from offramp_p4.native import NativeSwitch
from offramp_p4.reference import SimpleSwitch
from offramp_p4.serve import build
from offramp_p4.settings import Settings

LIMIT_S: Final = 25.0
"""Time for packets to return, beyond the sending time, after which a host is given up."""


def measure_veth(workload: SwitchWorkload, switch: str, seconds: float, limit_s: float = LIMIT_S) -> MeasuredRate:
    """Play the workload through ``switch`` (an engine, or ``bmv2``) on veth pairs; the best trial counts.

    The answers to the first batch are compared with those of our engines.

    Raises:
        OfframpError: no right to make interfaces, the switch does not run the program, or it lost frames or took
            ``limit_s`` longer than ``seconds``.
    """
    batches = list(_chunks(workload.batches)) if workload.repeatable else workload.batches
    oracle = make_switch(workload.program)
    fresh(oracle, workload)
    answers, passes = [], []
    for batch in batches:
        before = oracle.stats.passes
        answers.append(oracle.process(batch))
        passes.append(oracle.stats.passes - before)
    ports = sorted({port for batch in (*batches, *answers) for port in batch.ports.tolist()})
    with temporary_folder() as name:
        folder = Path(name)
        player.save(folder / "batches.npz", batches, answers, workload.repeatable)
        run = _with_bmv2 if switch == "bmv2" else _with_ours
        played, kernel = in_namespace(lambda: run(workload, switch, ports, folder, _Time(seconds, limit_s)))
    if played.wrong:
        raise OfframpError(f"{switch} over veth: {played.wrong}")
    good = [trial for trial in played.trials if not trial.lost]
    if not good:
        raise OfframpError(f"{switch} over veth: {played.trials[0].lost} frames were lost")
    best = max(good, key=lambda trial: trial.packets / trial.seconds)
    per_packet = sum(passes) / sum(map(len, batches))
    passed = round(best.packets * per_packet)
    return MeasuredRate(workload.name, switch, "veth", best.packets, passed, best.seconds, kernel=kernel)


class _Time(NamedTuple):
    """Seconds for which packets are sent, and seconds that all may take beyond them."""

    seconds: float
    limit_s: float


def _chunks(batches: Sequence[PacketBatch]) -> Iterator[PacketBatch]:
    for batch in batches:
        for at in range(0, len(batch), player.GRAIN):
            yield batch.select(slice(at, at + player.GRAIN))


def _with_ours(
    workload: SwitchWorkload, engine: str, ports: Sequence[int], folder: Path, time: _Time
) -> tuple[player.Played, float | None]:
    """Our switch as ``offramp switch run`` makes it; this process has nothing else to do meanwhile.

    The second value is the share of its processor time that it spends in the kernel.
    """
    settings = Settings(
        program=str(workload.source),
        ports={port: f"s{port}" for port in ports},
        address="127.0.0.1:0",
        include=tuple(map(str, workload.include)),
        defines=workload.defines,
        engine=engine,
    )
    with _links(ports):
        running = build(settings)
        assert running.device.pipeline is not None
        switch = running.device.pipeline.switch
        if isinstance(switch, NativeSwitch):
            switch.optimise()  # as it is after the first packets
        fresh(switch, workload)
        mover = threading.Thread(target=running.forward, name="forwarder")
        mover.start()
        before = resource.getrusage(resource.RUSAGE_SELF)
        try:
            played, after = _play(folder, time), resource.getrusage(resource.RUSAGE_SELF)
        finally:
            running.stop()
            mover.join()
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    return played, system / (user + system) if user + system else None


def _with_bmv2(
    workload: SwitchWorkload, _: str, ports: Sequence[int], folder: Path, time: _Time
) -> tuple[player.Played, float | None]:
    like = make_switch(workload.program)
    fresh(like, workload)
    interfaces = {port: f"s{port}" for port in ports}
    with (
        _links(ports),
        SimpleSwitch(workload.source, like, interfaces, folder, include=workload.include, defines=workload.defines),
    ):
        return _play(folder, time), None


def _play(folder: Path, time: _Time) -> player.Played:
    command = [sys.executable, "-m", player.__name__, str(folder / "batches.npz"), str(time.seconds)]
    limit_s = time.seconds + time.limit_s
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=limit_s)
    except subprocess.TimeoutExpired:
        raise OfframpError(f"the packets took longer than {limit_s:.0f} s") from None
    if done.returncode:
        raise OfframpError(f"player: {(done.stderr.strip().splitlines() or ['ended'])[-1]}")
    return player.parse(done.stdout)


@contextmanager
def _links(ports: Sequence[int]) -> Iterator[None]:
    """Interfaces ``h0`` and ``s0`` for port 0 and so on; the namespace takes them with it when it ends."""
    ip("link", "set", "lo", "up")
    for port in ports:
        ip("link", "add", f"h{port}", "type", "veth", "peer", "name", f"s{port}")
        for name in (f"h{port}", f"s{port}"):
            ip("link", "set", name, "addrgenmode", "none")  # no IPv6 chatter
            ip("link", "set", name, "up")
    yield
