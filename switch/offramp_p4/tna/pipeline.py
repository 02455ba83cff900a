# SPDX-License-Identifier: Apache-2.0
"""A Tofino: pipes, and the traffic manager between their ingress and egress.

At the end of ingress a packet may at once be mirrored, digested, resubmitted or, unless it is, sent to one port,
to two multicast groups and to the CPU. A copy passes egress unless ``bypass_egress`` is set. What egress sends
to a recirculation port comes in there again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import TYPE_CHECKING, Any, Final

from offramp_p4.engine.generator import Generator, Generators
from offramp_p4.engine.pipeline import EnginePipeline
from offramp_p4.engine.work import PASS_STEPS
from offramp_p4.tm.stages import Deliver, Emit
from offramp_p4.tna import one_access
from offramp_p4.tna.blocks import pipes
from offramp_p4.tna.generator import PATTERN_BYTES
from offramp_p4.tna.metadata import UNSET_PORT
from offramp_p4.tna.objects import TofinoObjects
from offramp_p4.tna.ports import CHANNEL_PORTS, PORTS_PER_PIPE, RECIRCULATION_PORT, no_port
from offramp_p4.tna.replication import ReplicationRequest
from offramp_p4.tna.stages import EgressCopy, IngressArrival, InQueue, TnaStages
from offramp_p4.tna.thread import GressResult, GressThread

if TYPE_CHECKING:
    from offramp_p4 import ir
    from offramp_p4.engine.layout import Memory
    from offramp_p4.tna.blocks import Gress, Pipe

_MASK48: Final = (1 << 48) - 1
# Bits of drop_ctl.
_NO_PACKET, _NO_CPU_COPY, _NO_MIRROR = 1, 2, 4


class TnaPipeline(EnginePipeline):
    """A compiled TNA program.

    Attributes:
        objects: the state that outlives packets.
        recirculation_ports: ports whose packets come in again.

    Raises:
        Unsupported: the program uses what this switch does not execute.
        P4Error: a pass may access a register twice.
    """

    def __init__(
        self,
        program: ir.Program,
        *,
        seed: int,
        max_passes: int,
        max_steps: int,
        clock: Callable[[], int],
        cpu_port: int | None = None,
        recirculation_ports: Iterable[int] = (),
        generator: Generators = Generator,
    ) -> None:
        super().__init__(max_passes=max_passes, max_steps=max_steps, clock=clock)
        pipelines = pipes(program)
        for pipe in pipelines:
            one_access.check(pipe)
        self.objects = TofinoObjects(program)
        random = Random(seed)

        def thread(pipe: Pipe, gress: Gress, direction: str) -> GressThread:
            return self.make_thread(
                program, gress, direction, self.objects, pipe=pipe.name,
                seed=seed, random=random, clock=clock, steps=self._steps, generator=generator,
            )  # fmt: skip

        self._ingress = [thread(pipe, pipe.ingress, "ingress") for pipe in pipelines]
        self._egress = [thread(pipe, pipe.egress, "egress") for pipe in pipelines]
        self.source = "\n\n".join(t.source for t in [*self._ingress, *self._egress])
        self.ports = PORTS_PER_PIPE * len(pipelines)
        own = {PORTS_PER_PIPE * i + RECIRCULATION_PORT for i in range(len(pipelines))}
        self.recirculation_ports = frozenset(own | set(recirculation_ports))
        self._cpu_port = cpu_port

    def make_thread(self, *args: Any, pipe: str, **options: Any) -> GressThread:
        """A gress of a pipe."""
        del pipe
        return GressThread(*args, **options)

    def dropped(self, block: object, m: Memory) -> str | None:
        """The reason that a packet goes no further when ``block`` has ended with it; None: it goes on."""
        reasons = (thread.dropped(block, m) for thread in (*self._ingress, *self._egress))
        return next((reason for reason in reasons if reason is not None), None)

    def arrival(self, port: int, frame: bytes) -> IngressArrival:
        """A packet from outside.

        Raises:
            OfframpError: the chip has no such port.
        """
        if not 0 <= port < self.ports and port != self._cpu_port:
            raise no_port(port, self.ports)
        return IngressArrival(port, frame)

    def split(self, deliver: Deliver) -> TnaStages:
        """The halves; ingress hands each copy for a port to ``deliver``."""
        self.hold(deliver)
        return TnaStages(self)

    def _take(self, task: IngressArrival | EgressCopy, emit: Emit) -> None:
        if isinstance(task, IngressArrival):
            self._enter(task, emit)
        else:
            self._deliver(task, task.port, emit)

    # --- ingress

    def _enter(self, arrival: IngressArrival, emit: Emit) -> None:
        """One pass through ingress, and the egress of every copy that results."""
        self.stats.passes += 1
        self._steps.take(PASS_STEPS)
        thread = self._ingress[self._pipe(arrival.port)]
        again = arrival.resubmitted is not None
        fields = {
            "resubmit_flag": int(again),
            "ingress_port": arrival.port,
            "ingress_mac_tstamp": self._clock() * 1000 & _MASK48,
        }
        extra = arrival.resubmitted if again else self.objects.port_metadata.get(arrival.port, b"")
        extra = (extra or b"").ljust(thread.port_metadata_bytes, b"\0")
        out = thread.run(fields, extra, arrival.frame, arrival.port % PORTS_PER_PIPE // CHANNEL_PORTS)
        self.stats.parse_errors += bool(out.parser_err)
        if not out.metadata:
            self.stats.dropped += 1
            return
        for digest in out.digests if self.on_digest is not None else ():
            assert self.on_digest is not None
            self.on_digest(digest)
        self._mirror(out, arrival.frame)
        self._forward(out, arrival, emit)

    def _forward(self, out: GressResult, arrival: IngressArrival, emit: Emit) -> None:
        tm, dropped = out.metadata, out.metadata["drop_ctl"]
        if out.resubmit is not None and not dropped & _NO_PACKET:
            if arrival.resubmitted is not None:  # a packet is resubmitted once
                self.stats.looped += 1
                return
            self.stats.resubmissions += 1
            self.waiting.append(IngressArrival(arrival.port, arrival.frame, out.resubmit))
            return
        copies = [] if dropped & _NO_PACKET else self._copies(out)
        if tm["copy_to_cpu"] and not dropped & _NO_CPU_COPY and self._cpu_port is not None:
            copies.append(EgressCopy(self._cpu_port, out.frame, cos=tm["icos_for_copy_to_cpu"]))
        if not copies:
            self.stats.dropped += 1
        for copy in copies:
            copy.bypass = bool(tm["bypass_egress"])
            self._deliver(copy, copy.port, emit)

    def _copies(self, out: GressResult) -> list[EgressCopy]:
        tm = out.metadata
        qid, cos = tm["qid"], tm["ingress_cos"]
        copies = []
        if tm["ucast_egress_port"] != UNSET_PORT:
            copies.append(EgressCopy(tm["ucast_egress_port"], out.frame, tm["rid"], 0, qid, cos))
        request = ReplicationRequest(*(tm[name] for name in ReplicationRequest.__slots__))
        for group in (tm["mcast_grp_a"], tm["mcast_grp_b"]):
            replicas = self.objects.pre.copies(group, request) if group else []
            self.stats.replicas += len(replicas)
            copies += [EgressCopy(r.port, out.frame, r.instance, int(not i), qid, cos) for i, r in enumerate(replicas)]
        return copies

    def _mirror(self, out: GressResult, packet: bytes) -> None:
        """Queue the copies of the mirror session that a deparser has asked for."""
        if out.mirror is None or out.metadata["drop_ctl"] & _NO_MIRROR:
            return
        number, header = out.mirror
        session = self.objects.pre.clones.get(number)
        if session is None:
            return
        copy, cos = self._cloned(session, header + packet), session.class_of_service
        self.waiting.extend(EgressCopy(r.port, copy, r.instance, cos=cos) for r in session.replicas)

    # --- egress

    def _leave(self, copy: EgressCopy, port: int, emit: Emit) -> None:
        """Egress of one copy, and the wire."""
        del port  # it is the copy's
        self._steps.take(PASS_STEPS)
        if copy.bypass:
            self._send(copy.port, copy.packet, emit)
            return
        if not self._exists(copy.port):
            self.stats.dropped += 1
            return
        thread = self._egress[self._pipe(copy.port)]
        queue = copy.in_queue or InQueue(self._clock())
        fields = {
            "egress_port": copy.port,
            "enq_tstamp": queue.enqueued_us * 1000,
            "enq_qdepth": queue.found_cells,
            "deq_timedelta": queue.waited_us * 1000,
            "deq_qdepth": queue.left_cells,
            "egress_rid": copy.rid,
            "egress_rid_first": copy.first,
            "egress_qid": copy.qid,
            "egress_cos": copy.cos,
            "pkt_length": len(copy.packet) & 0xFFFF,
        }
        out = thread.run(fields, b"", copy.packet, copy.port % PORTS_PER_PIPE // CHANNEL_PORTS)
        self.stats.parse_errors += bool(out.parser_err)
        self._mirror(out, out.frame)
        if out.metadata["drop_ctl"] & _NO_PACKET:
            self.stats.dropped += 1
        else:
            self._send(copy.port, out.frame, emit)

    def _send(self, port: int, packet: bytes, emit: Emit) -> None:
        if not self._exists(port):
            self.stats.dropped += 1
        elif port in self.recirculation_ports:
            self.stats.recirculations += 1
            generator = self.objects.generator
            if generator is not None and port in generator.matching:
                head = packet[:PATTERN_BYTES].ljust(PATTERN_BYTES, b"\0")
                generator.recirculated(port, int.from_bytes(head, "big"), self._clock())
            self.waiting.append(IngressArrival(port, packet))
        else:
            self.stats.packets_out += 1
            emit((port, packet))

    def _exists(self, port: int) -> bool:
        return port < self.ports or port == self._cpu_port

    def _pipe(self, port: int) -> int:
        """The pipe of a port; a CPU port beyond them is in the first."""
        return port // PORTS_PER_PIPE if port < self.ports else 0
