# SPDX-License-Identifier: Apache-2.0
"""The control plane of SwitchGNN through BF-RT: the rows of :mod:`control`, written to a Tofino."""

from __future__ import annotations

from collections.abc import Sequence

from offramp.bfrt.session import BfrtSession
from offramp.switchgnn import barrier, guard, origin, telemetry
from offramp.switchgnn.barrier import Groups
from offramp.switchgnn.control import NEXT_PASS_SESSION, entries_for, require_lanes
from offramp.switchgnn.plan import Plan
from offramp.switchgnn.rows import require_room
from offramp.switchgnn.target import TNA

MAX_FRAME = 16384
"""Most bytes of a packet that a mirror session copies: the whole packet."""


class SwitchGnnBfrt:
    """Control of one Tofino that runs ``switchgnn/tna.p4``; a job starts with a freshly pushed program.

    Args:
        session: bound to the program.
        pipe: pipe for whose recirculation port the program was compiled.
    """

    def __init__(self, session: BfrtSession, *, pipe: int = 0) -> None:
        self._session = session
        self.target = TNA.on_pipe(pipe)

    def load(self, plans: Sequence[Plan], ports: Sequence[int], *, acks: bool = False) -> None:
        """Write the entries of a job like ``SwitchGnnControl.load``, with device port numbers.

        Raises:
            OfframpError: plans or ports that do not fit together or the program, or a device that refuses.
        """
        session, target = self._session, self.target
        rows, groups = entries_for(session.info, plans, ports, target, acks=acks)
        require_lanes(plans, session.info.names)
        needed: dict[str, int] = {}
        for part in rows:
            needed[part.table] = needed.get(part.table, 0) + len(part)
        for table, entries in needed.items():
            require_room(f"table {table}: entries", entries, session.info[table].size)
        seen = target.full(guard.SEEN)
        require_room(f"register {seen}: slots", target.slots(plans), session.info[seen].size)
        for part in rows:
            session.insert(session.entry(part.table, key, part.action, params) for key, params in part.entries())
        self._groups(groups)
        self._mirror()

    def counters(self) -> dict[str, int]:
        """Counters under the same names as ``SwitchGnnControl.counters``."""
        read, target = self._session.read_counter, self.target
        outcomes = read(target.full(telemetry.OUTCOMES), len(telemetry.Disposition))
        (uploads,) = read(target.full(guard.UPLOADS), 1)
        (recirculations,) = read(target.full(target.recirculations), 1)
        return telemetry.totals(dict(enumerate(outcomes)), uploads, recirculations)

    def strangers(self) -> dict[int, int]:
        """Number of frames dropped per port, as in ``SwitchGnnControl.strangers``."""
        cells = self._session.read_counter(self.target.full(origin.STRANGERS), origin.PORTS)
        return {port: packets for port, packets in enumerate(cells) if packets}

    def _groups(self, groups: Groups) -> None:
        """Write a node per worker, which is in every group of the worker."""
        replicas = groups[barrier.GROUP]
        self._session.insert(
            self._session.entry(
                "$pre.node",
                {"$MULTICAST_NODE_ID": node},
                None,
                {"$MULTICAST_RID": node, "$MULTICAST_LAG_ID": [], "$DEV_PORT": [port]},
            )
            for port, node in replicas
        )
        self._session.insert(
            self._session.entry(
                "$pre.mgid",
                {"$MGID": group},
                None,
                {
                    "$MULTICAST_NODE_ID": [node for _, node in members],
                    "$MULTICAST_NODE_L1_XID_VALID": [0] * len(members),
                    "$MULTICAST_NODE_L1_XID": [0] * len(members),
                },
            )
            for group, members in groups.items()
        )

    def _mirror(self) -> None:
        """Write the mirror session of the copy that recirculates when a sum leaves."""
        data: dict[str, int | str] = {
            "$session_enable": 1,
            "$direction": "INGRESS",
            "$ucast_egress_port": self.target.recirculation_port,
            "$ucast_egress_port_valid": 1,
            "$max_pkt_len": MAX_FRAME,
        }
        key = {"$sid": NEXT_PASS_SESSION}
        self._session.insert([self._session.entry("$mirror.cfg", key, "$normal", data)])
