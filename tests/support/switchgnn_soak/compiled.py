# SPDX-License-Identifier: Apache-2.0
"""Runs without Python in them: P4 programs and workers as machine code, thousands of runs in one call."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from offramp.switchgnn import telemetry, worker_plans
from offramp.switchgnn.local_block import PlanShare
from offramp.switchgnn.target import target_of
from offramp.switchgnn.two_level import leaf_entries, spine_entries
from offramp_base.native.arrays import address
from offramp_base.native.records import offset
from offramp_base.wire.batch import PacketBatch
from offramp_p4 import ir, make_switch
from offramp_p4.native.runtime import context as at
from offramp_p4.native.switch import NativeSwitch
from offramp_sim.switchgnn import direct
from switchgnn_soak.jobs import SoakJob, job_of_leaves_and_spines, job_of_one_switch
from switchgnn_soak.library import SoakJobData, SoakResult, SoakSwitch, SoakWorker

VERDICTS = ("right", "wrong", "leaked", "hung", "refused")
"""Faults of a run: wrong sums, an aggregator left open, nothing that moves, a packet that a worker refused."""
RUNS_PER_JOB = 50
"""Seeds in a row that share their job."""

Wires = list[tuple[int, int, int, int]]
"""Port of a switch; the worker that it leads to or -1; else the other switch and its port."""


@dataclass(frozen=True)
class Rates:
    """Probabilities of loss, duplication and delay of a frame, in each direction; of loss between switches."""

    loss: float = 0.3
    duplication: float = 0.3
    delay: float = 0.3
    inner_loss: float = 0.1


@dataclass(frozen=True)
class SoakRun:
    """Outcome of one run."""

    seed: int
    verdict: str
    reason: str
    frames: int
    ticks: int


class CompiledSoak:
    """Jobs on switches of one program, one after the other.

    Args:
        library: what :func:`~switchgnn_soak.library.load_library` returns.
        program: v1model, with room for any of the jobs.
        two_level: leaves and spines in place of one switch.
        rates: rates of the faults of single frames.
    """

    def __init__(
        self, library: ctypes.CDLL, program: ir.Program, *, two_level: bool = False, rates: Rates | None = None
    ) -> None:
        self._library = library
        self._program = program
        self._job_of = job_of_leaves_and_spines if two_level else job_of_one_switch
        self._rates = rates or Rates()
        self._switches: list[_Switch] = []
        self._number: int | None = None
        self._data: tuple[SoakJobData, object] | None = None

    def run(self, first: int, count: int) -> Iterator[SoakRun]:
        """The runs of ``count`` seeds from ``first``."""
        last = first + count
        while first < last:
            number = first // RUNS_PER_JOB
            together = min(last, (number + 1) * RUNS_PER_JOB) - first
            data = self._load(number)
            results = (SoakResult * together)()
            self._library.soak(ctypes.byref(data), first, together, results)
            for seed, run_result in enumerate(results, first):
                yield SoakRun(
                    seed, VERDICTS[run_result.verdict], run_result.why.decode(), run_result.frames, run_result.ticks
                )
            first += together

    def _load(self, number: int) -> SoakJobData:
        """The switches with the entries of a job, and all that the compiled part must know."""
        if self._number != number or self._data is None:
            self._number = number
            self._data = self._describe(self._job_of(number))
        return self._data[0]

    def _describe(self, job: SoakJob) -> tuple[SoakJobData, object]:
        places = _one_switch(job) if job.network is None else _leaves_and_spines(job)
        while len(self._switches) < len(places):
            self._switches.append(_Switch(self._program))
        parts = [switch.load(*place) for switch, place in zip(self._switches, places, strict=False)]
        switches = (SoakSwitch * len(parts))(*(part for part, _ in parts))
        shares = [[PlanShare(plan, worker, job.racks) for plan in job.job.plans] for worker in range(len(job.ports))]
        texts = [np.frombuffer(worker_plans.write(share), np.uint8) for share in shares]
        rows = [
            np.concatenate([*(each.boundary for each in share), np.zeros(1, int)]).astype(np.int32) for share in shares
        ]
        hosts = [(0, port) for port in job.ports]
        if job.network is not None:
            hosts = [(rack, job.network.host_port(w)) for w, rack in enumerate(job.racks)]
        workers = (SoakWorker * len(texts))(
            *(
                SoakWorker(address(text), len(text), address(row), *host)
                for text, row, host in zip(texts, rows, hosts, strict=True)
            )
        )
        edges = np.ascontiguousarray(job.job.boundary.cut_edges, np.int32)
        widths = np.array([5, 40], np.int32)
        rates = self._rates
        data = SoakJobData(
            ctypes.addressof(switches),
            len(parts),
            ctypes.addressof(workers),
            len(texts),
            job.vertices,
            address(edges),
            len(edges),
            address(widths),
            offset(at.SwitchMemory.out),
            offset(at.SwitchMemory.index),
            rates.loss,
            rates.duplication,
            rates.delay,
            rates.inner_loss,
            job.acks,
            job.network is None,
        )
        return data, (parts, switches, texts, rows, workers, edges, widths)


class _Switch:
    """A switch whose machine code and registers the compiled part uses."""

    def __init__(self, program: ir.Program) -> None:
        switch = make_switch(program, "native")
        assert isinstance(switch, NativeSwitch)
        self.switch = switch

    def load(self, write: Callable[[NativeSwitch], None], wires: Wires) -> tuple[SoakSwitch, object]:
        """Write a job's entries; what the compiled part must know, and what must stay alive for it."""
        switch = self.switch
        switch.reset()
        write(switch)
        switch.process(PacketBatch.empty())  # shows machine code the entries
        memories = _memories(switch)
        registers = np.array([(address(each), each.nbytes) for each in memories], np.int64)
        count = switch.registers[target_of(switch.tables).full(telemetry.OPEN)]
        opened = count.values._raw  # type: ignore[attr-defined]
        table = np.array(wires, np.int32)
        run = ctypes.cast(switch._run, ctypes.c_void_p).value
        words = switch._context.pointer
        soak_switch = SoakSwitch(
            words, run, address(registers), len(registers), address(opened), opened.shape[1], address(table), len(wires)
        )
        return soak_switch, (memories, registers, table)


def _memories(switch: NativeSwitch) -> list[npt.NDArray[np.uint8]]:
    """The arrays that hold all registers."""
    memories = {}
    for register in switch.registers.values():
        column = register.values._raw  # type: ignore[attr-defined]
        whole = column if column.base is None else column.base
        memories[id(whole)] = whole
    return list(memories.values())


def _one_switch(job: SoakJob) -> list[tuple[Callable[[NativeSwitch], None], Wires]]:
    plans, ports, acks = job.job.plans, job.ports, job.acks
    return [
        (
            lambda switch: direct.load(switch, plans, ports, acks=acks),
            [(port, worker, 0, 0) for worker, port in enumerate(ports)],
        )
    ]


def _leaves_and_spines(job: SoakJob) -> list[tuple[Callable[[NativeSwitch], None], Wires]]:
    network, plans, acks = job.network, job.job.plans, job.acks
    assert network is not None
    wires: list[Wires] = [[] for _ in range(network.leaves + network.spines)]
    for worker, rack in enumerate(network.racks):
        wires[rack].append((network.host_port(worker), worker, 0, 0))
    for leaf in range(network.leaves):
        for spine in range(network.spines):
            up, down = network.uplink(leaf, spine), network.downlink(leaf)
            wires[leaf].append((up, -1, network.leaves + spine, down))
            wires[network.leaves + spine].append((down, -1, leaf, up))
    entries = [leaf_entries(plans, network, leaf, acks=acks) for leaf in range(network.leaves)]
    entries += [spine_entries(plans, network, acks=acks)] * network.spines
    return [
        (lambda switch, rows=rows: direct.load_place(switch, rows), wire)  # type: ignore[misc]
        for rows, wire in zip(entries, wires, strict=True)
    ]
