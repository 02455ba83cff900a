# SPDX-License-Identifier: Apache-2.0
"""The control plane of SwitchGNN: writes plans into any P4Runtime switch and reads its counters."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from offramp.switch_groups import ALL_REDUCE, SWITCHGNN
from offramp.switchgnn import acknowledge, barrier, fanout, guard, origin, pull, replicate, telemetry
from offramp.switchgnn.plan import Plan
from offramp.switchgnn.rows import ActionRows, PlanTooLargeError, require_room
from offramp.switchgnn.target import EGRESS, V1MODEL, NameCollection, ProgramTarget, target_of
from offramp.switchgnn.two_level import JOINED, LEAF, PLACE, SwitchEntries
from offramp.switchgnn.wire import LANES
from offramp_base.errors import OfframpError
from offramp_base.p4rt.session import Session
from offramp_base.p4rt.status import Code, RpcError

NEXT_PASS_SESSION = 1
"""Clone session of the copy that recirculates when a sum leaves."""

_PIPELINES = ("SwitchGnnIngress.", f"{EGRESS}.", "Again.")
"""Beginnings of the names of what is SwitchGNN's in a program."""
_BRIDGE = "SwitchGnnIngress.bridge."
"""Beginning of the names of what forwards frames of nobody's, which no job has brought."""
_SUMS = "SwitchGnnIngress.aggregate.lanes"
"""Beginning of the names of the sums, which a round sets before it adds to them."""
POOL = "SwitchGnnIngress.strawman.pool.memory"
LIMIT = "SwitchGnnIngress.strawman.pool.limit"


def check_plans(plans: Sequence[Plan], ports: Sequence[int]) -> None:
    """Refuse plans that cannot be on one switch together.

    Raises:
        OfframpError: not one port for each worker, a port used twice, plans for different numbers of workers,
            a Block_id in two blocks.
    """
    if len(set(ports)) != len(ports):
        raise OfframpError(f"ports {list(ports)}: expected a port of its own for each worker")
    seen: set[int] = set()
    for plan in plans:
        if plan.workers != len(ports):
            raise OfframpError(f"ports: the plan is for {plan.workers} workers, got {len(ports)} ports")
        ids = {block.block_id for block in plan.blocks}
        if len(ids) != len(plan.blocks) or ids & seen:
            raise OfframpError("plans: expected disjoint block ids; give each plan its own first_block_id")
        seen |= ids


def rows_for(plans: Sequence[Plan], ports: Sequence[int], target: ProgramTarget = V1MODEL) -> list[ActionRows]:
    """Every table entry of a job without ACKs; a pure function of plans, ports and target.

    Programs that repair no loss have no table for the last.

    Raises:
        OfframpError: as :func:`check_plans`, :meth:`ProgramTarget.check_ports` and :meth:`ProgramTarget.check_lanes`,
        or more
            aggregators than the target can address.
    """
    return [*_rows_of_workers(plans, ports, target), *_rows_of_blocks(plans, ports, target)]


def _rows_of_workers(plans: Sequence[Plan], ports: Sequence[int], target: ProgramTarget) -> list[ActionRows]:
    check_plans(plans, ports)
    target.check_ports(ports)
    target.check_lanes(plans)
    if target.aggregators is not None:
        require_room("aggregators", target.slots(plans), target.aggregators)
    return [
        origin.worker_rows(ports, target),
        barrier.host_rows(ports, target),
        pull.owner_rows(plans, ports, target),
    ]


def _rows_of_blocks(plans: Sequence[Plan], ports: Sequence[int], target: ProgramTarget) -> list[ActionRows]:
    return [guard.slot_rows(plans, ports, target), *fanout.fanout_rows(plans, ports, target)]


@dataclass(frozen=True)
class EntriesByBlocks:
    """A job's entries some blocks at a time, since those of a large graph take more memory than the graph.

    Args:
        tables: names of the tables that the program has.
        plans: side by side, with disjoint Block_ids.
        ports: switch port of each worker.
        target: target of the program, which may not replicate.
        most: number of contributions at a time, about.
    """

    tables: NameCollection
    plans: Sequence[Plan]
    ports: Sequence[int]
    target: ProgramTarget
    most: int = 1 << 20

    def __iter__(self) -> Iterator[tuple[list[ActionRows], barrier.Groups]]:
        """What :func:`entries_for` returns, in parts."""
        parts = self.plans, self.ports, self.target
        yield self._there(_rows_of_workers(*parts)), {barrier.GROUP: barrier.group_replicas(self.ports)}
        for plan in self.plans:
            before = np.cumsum([0, *(len(block.neighbours) for block in plan.blocks)]) // self.most
            for number in np.unique(before[:-1]).tolist():
                blocks = [plan.blocks[at] for at in np.flatnonzero(before[:-1] == number).tolist()]
                yield self._there(_rows_of_blocks([replace(plan, blocks=blocks)], *parts[1:])), {}

    def _there(self, rows: list[ActionRows]) -> list[ActionRows]:
        return [part for part in rows if part.table in self.tables]


def entries_for(
    tables: NameCollection, plans: Sequence[Plan], ports: Sequence[int], target: ProgramTarget, *, acks: bool = False
) -> tuple[list[ActionRows], barrier.Groups]:
    """A job's entries for a program with these tables, and ``(port, instance)`` replicas of each group.

    Raises:
        OfframpError: as :func:`rows_for`, or ACKs for a program that does not serve them.
    """
    rows = [part for part in rows_for(plans, ports, target) if part.table in tables]
    groups = {barrier.GROUP: barrier.group_replicas(ports)}
    if target.replicates:
        copy_rows, copy_groups = replicate.copy_entries(plans, ports, target)
        rows.append(copy_rows)
        groups |= copy_groups
    if acks:
        ack_rows, ack_groups = acknowledge.ack_entries(plans, ports, target)
        if target.slots_acknowledge:
            rows = [part.with_params(ack_rows.params) if part.action == guard.SLOT else part for part in rows]
        elif ack_rows.table in tables:
            rows.append(ack_rows)
        else:
            raise OfframpError("acks: the switch program does not serve them")
        groups |= ack_groups
    return rows, groups


def sizes_for(
    plans: Sequence[Plan], capacity: int | None = None, target: ProgramTarget = V1MODEL, *, leaves: int = 0
) -> dict[str, int]:
    """Macros that give the switch program exactly the room for ``plans``, for a target that compiles its source.

    Args:
        plans: the job.
        capacity: aggregators that the strawman may use; None for SwitchGNN.
        target: target of the program.
        leaves: number of leaves; 0 for one switch.
    """
    slots = target.slots(plans)
    sizes = {
        "SEGMENTS": max((plan.lanes for plan in plans), default=LANES) // LANES,
        "AGGREGATORS": slots if capacity is None else capacity,
        "VERTICES": slots,
        "PARTIALS": slots if leaves else 1,
        "FANOUT_ENTRIES": sum(len(block.neighbours) for plan in plans for block in plan.blocks),
        "SLOT_ENTRIES": sum(len(block.vertices) for plan in plans for block in plan.blocks),
        "OWNER_ENTRIES": len(pull.owner_rows(plans, range(max((plan.workers for plan in plans), default=0)), target)),
        "HOSTS": max((plan.workers for plan in plans), default=0) + 2 * leaves,
        "RECIRCULATION_PORT": target.recirculation_port,
    }
    return {macro: max(size, 1) for macro, size in sizes.items()}


def require_lanes(plans: Sequence[Plan], registers: Iterable[str]) -> None:
    """Refuse plans whose packets have more lanes than the aggregators of the program with these registers.

    Raises:
        PlanTooLargeError: such a plan; where the names do not tell how many lanes there are, none is refused.
    """
    names = list(registers)
    pairs = sum(name.endswith(".val0.pairs") for name in names)  # Tofino's, a lane of each segment in one register
    has = LANES * (2 * pairs + sum(name.endswith((".val0", ".val0.sums")) for name in names))
    wanted = max((plan.lanes for plan in plans), default=0)
    if has and wanted > has:
        raise PlanTooLargeError(f"plans: for aggregators of {wanted} lanes, those of the switch program have {has}")


class SwitchGnnControl:
    """Control of one switch that runs ``switchgnn/v1model.p4``, ``switchgnn/tna.p4`` or the strawman's program.

    The names in its P4Info say which.

    A job starts with a pipeline that was just pushed, whose registers are zero.
    """

    def __init__(self, session: Session, *, pipe: int = 0) -> None:
        """``pipe``: pipe of a Tofino for whose recirculation port the program was compiled."""
        self._session = session
        self._pipe = pipe

    @property
    def target(self) -> ProgramTarget:
        """Target of the program that the switch runs."""
        return target_of(self._session.index.tables).on_pipe(self._pipe)

    def load(
        self, plans: Sequence[Plan], ports: Sequence[int], *, capacity: int | None = None, acks: bool = False
    ) -> None:
        """Write the entries of all plans, the workers' group and the clone session.

        Args:
            plans: side by side, with disjoint Block_ids.
            ports: switch port of each worker.
            capacity: aggregators that the strawman may use; None for SwitchGNN.
            acks: serve ACKs also, with a multicast group for each set of workers.

        Raises:
            OfframpError: as :func:`check_plans`, a plan larger than the program's tables or registers, or a
                switch that refuses.
        """
        target = self.target
        session = self._session
        tables = session.index.tables
        parts: Iterable[tuple[list[ActionRows], barrier.Groups]]
        if acks or target.replicates:  # groups have numbers for all blocks together
            parts = [entries_for(tables, plans, ports, target, acks=acks)]
        else:
            parts = EntriesByBlocks(tables, plans, ports, target)
        require_lanes(plans, session.index.registers.by_name)
        self._require_room((each for rows, _ in parts for each in rows), target.slots(plans))
        if capacity is not None:
            # A block has no use for more aggregators than it has vertex chunks.
            capacity = min(capacity, target.slots(plans))
            require_room(
                "capacity in aggregators", capacity, self._register_size("SwitchGnnIngress.strawman.pool.left")
            )
            session.default_action(POOL, LIMIT, {"aggregators": capacity})
        for rows, groups in parts:
            self._write(rows, groups)
        self._clone()

    def load_place(self, entries: SwitchEntries, plans: Sequence[Plan]) -> None:
        """Write the entries of one switch among several: a leaf or a spine.

        Raises:
            OfframpError: as :meth:`load`, or a program for one switch only.
        """
        target = self.target
        if PLACE not in self._session.index.tables:
            raise OfframpError(f"{target.name}: the switch program is for one switch only, not for leaves and spines")
        require_lanes(plans, self._session.index.registers.by_name)
        self._require_room(entries.rows, target.slots(plans))
        action, params = entries.place
        if action == LEAF:
            require_room(f"register {JOINED}: slots", target.slots(plans), self._register_size(JOINED))
        self._session.default_action(PLACE, action, params)
        self._write(entries.rows, entries.groups)
        self._clone()

    def _write(self, rows: Sequence[ActionRows], groups: dict[int, list[tuple[int, int]]]) -> None:
        session = self._session
        for part in rows:
            session.insert_columns(part.table, part.keys, part.action, part.params)
        for group, replicas in groups.items():
            session.multicast_group(group, replicas)

    def _clone(self) -> None:
        self._session.clone_session(NEXT_PASS_SESSION, [self.target.recirculation_port])

    def clear(self) -> None:
        """Leave the program as it is when it is pushed, without entries, rounds and counts; other systems keep theirs.

        Raises:
            OfframpError: the switch refuses.
        """
        session, target = self._session, self.target
        message = session.index.message
        mine = tuple(target.full(name) for name in _PIPELINES)
        for table in message.tables:
            name = table.preamble.name
            forwards = name.startswith(target.full(_BRIDGE))
            if name.startswith(mine) and not forwards and not table.is_const_table:
                session.delete(list(session.read([session.table_entry(name, {})])))
                if not table.const_default_action_id:
                    session.default_action(name, None)
        entries = [each.packet_replication_engine_entry for each in session.read([session.make.groups()])]
        numbers = [each.multicast_group_entry.multicast_group_id for each in entries]
        own = [number for number in numbers if SWITCHGNN <= number < ALL_REDUCE]
        session.delete(session.make.multicast_group(number, []) for number in own)
        with contextlib.suppress(OfframpError):  # there is none before a job has come
            session.delete([session.make.clone_session(NEXT_PASS_SESSION, [])])
        for register in message.registers:
            name = register.preamble.name
            if name.startswith(mine) and not name.startswith(target.full(_SUMS)):
                session.write_register(register.preamble.name, None, 0)
        for counter in message.counters:
            if counter.preamble.name.startswith(mine):
                session.write_counter(counter.preamble.name, None)

    def counters(self) -> dict[str, int]:
        """Counts of the switch since the pipeline was pushed; keys as in :func:`telemetry.totals`."""
        target = self.target
        outcomes: Counter[int] = Counter()
        for name in telemetry.outcome_counters(target):
            outcomes.update({index: packets for index, (packets, _) in self._session.read_counter(name).items()})
        return telemetry.totals(
            outcomes,
            self._session.read_counter(target.full(guard.UPLOADS), 0)[0][0],
            self._session.read_counter(target.full(target.recirculations), 0)[0][0],
        )

    def strangers(self) -> dict[int, int]:
        """Frames from ports that may not send them, since the pipeline was pushed: number by port, if any."""
        cells = self._session.read_counter(self.target.full(origin.STRANGERS))
        return {port: packets for port, (packets, _) in cells.items() if packets}

    def occupancy(self) -> tuple[int, int] | None:
        """Aggregators open now and at most; None if the switch cannot read registers or has none."""
        if not self.target.occupancy:
            return None
        try:
            now, peak = (
                self._session.read_register(self.target.full(name), 0)[0] for name in (telemetry.OPEN, telemetry.PEAK)
            )
        except RpcError as error:
            if error.code is Code.UNIMPLEMENTED:
                return None
            raise
        return now, peak

    def _require_room(self, rows: Iterable[ActionRows], slots: int) -> None:
        needed: dict[str, int] = {}
        for part in rows:
            needed[part.table] = needed.get(part.table, 0) + len(part)
        for table, entries in needed.items():
            require_room(f"table {table}: entries", entries, self._session.index.tables[table].size)
        seen = self.target.full(guard.SEEN)
        require_room(f"register {seen}: slots", slots, self._register_size(seen))

    def _register_size(self, name: str) -> int:
        return int(self._session.index.registers[name].size)
