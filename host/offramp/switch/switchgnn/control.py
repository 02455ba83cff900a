"""The control plane of SwitchGNN: writes plans into any P4Runtime switch and reads its counters."""

from __future__ import annotations

from collections.abc import Sequence

from offramp.errors import OfframpError
from offramp.switch.p4rt.session import Session
from offramp.switch.p4rt.status import Code, RpcError
from offramp.switch.switchgnn import barrier, fanout, guard, telemetry
from offramp.switch.switchgnn.plan import Plan
from offramp.switch.switchgnn.rows import Rows, require_room

NEXT_PASS_SESSION = 1
"""Clone session of the copy that goes round when a sum leaves."""

RECIRCULATION_PORT = 500
"""As in the P4 program; no link may be on it, and it is not the CPU port."""

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


def rows_for(plans: Sequence[Plan], ports: Sequence[int]) -> list[Rows]:
    """Every table entry of a job; a pure function of plans and ports.

    Raises:
        OfframpError: as :func:`check_plans`.
    """
    check_plans(plans, ports)
    return [barrier.host_rows(ports), guard.slot_rows(plans), *fanout.fanout_rows(plans, ports)]


def sizes_for(plans: Sequence[Plan], capacity: int | None = None) -> dict[str, int]:
    """Macros that give the switch program just the room for ``plans``, for a target that compiles its source.

    Args:
        plans: the job.
        capacity: aggregators that the strawman may use; None for SwitchGNN.
    """
    slots = _slots(plans)
    sizes = {
        "AGGREGATORS": slots if capacity is None else capacity,
        "VERTICES": slots,
        "FANOUT_ENTRIES": sum(len(block.neighbours) for plan in plans for block in plan.blocks),
        "SLOT_ENTRIES": sum(plan.uploads for plan in plans),
        "HOSTS": max((plan.workers for plan in plans), default=0),
    }
    return {macro: max(size, 1) for macro, size in sizes.items()}


class SwitchGnnControl:
    """Control of one switch that runs ``switchgnn/v1model.p4`` or the strawman's program.

    A job starts with a pipeline that was just pushed, whose registers are zero.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def load(self, plans: Sequence[Plan], ports: Sequence[int], *, capacity: int | None = None) -> None:
        """Write the entries of all plans, the workers' group and the clone session.

        Args:
            plans: side by side, with disjoint Block_ids.
            ports: switch port of each worker.
            capacity: aggregators that the strawman may use; None for SwitchGNN.

        Raises:
            OfframpError: as :func:`check_plans`, a plan larger than the program's tables or registers, or a
                switch that refuses.
        """
        rows = rows_for(plans, ports)
        self._require_room(rows, plans)
        session = self._session
        if capacity is not None:
            # A block has no use for more aggregators than it has vertex chunks.
            capacity = min(capacity, _slots(plans))
            require_room(
                "capacity in aggregators", capacity, self._register_size("SwitchGnnIngress.strawman.pool.left")
            )
            session.default_action(POOL, LIMIT, {"aggregators": capacity})
        for part in rows:
            session.insert(
                session.table_entry(part.table, keys, part.action, params) for keys, params in part.entries()
            )
        session.multicast_group(barrier.GROUP, barrier.group_replicas(ports))
        session.clone_session(NEXT_PASS_SESSION, [RECIRCULATION_PORT])

    def counters(self) -> dict[str, int]:
        """The switch's counts since the pipeline was pushed; keys as in :func:`telemetry.totals`."""
        cells = self._session.read_counter(telemetry.OUTCOMES)
        return telemetry.totals(
            {index: packets for index, (packets, _) in cells.items()},
            self._session.read_counter(guard.UPLOADS, 0)[0][0],
            self._session.read_counter(telemetry.RECIRCULATIONS, 0)[0][0],
        )

    def occupancy(self) -> tuple[int, int] | None:
        """Aggregators open now and at most; None where the switch cannot read registers (bmv2)."""
        try:
            now, peak = (self._session.read_register(name, 0)[0] for name in (telemetry.OPEN, telemetry.PEAK))
        except RpcError as error:
            if error.code is Code.UNIMPLEMENTED:
                return None
            raise
        return now, peak

    def _require_room(self, rows: Sequence[Rows], plans: Sequence[Plan]) -> None:
        needed: dict[str, int] = {}
        for part in rows:
            needed[part.table] = needed.get(part.table, 0) + len(part)
        for table, entries in needed.items():
            require_room(f"table {table}: entries", entries, self._session.index.tables[table].size)
        require_room(f"register {guard.SEEN}: slots", _slots(plans), self._register_size(guard.SEEN))

    def _register_size(self, name: str) -> int:
        return int(self._session.index.registers[name].size)


def _slots(plans: Sequence[Plan]) -> int:
    return max((plan.aggregators_peak for plan in plans), default=0)
