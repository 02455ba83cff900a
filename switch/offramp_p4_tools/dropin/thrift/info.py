# SPDX-License-Identifier: Apache-2.0
"""The switch itself as bmv2's run-time services see it: configuration, ports, queues, time."""

from __future__ import annotations

import hashlib
import time
from typing import TYPE_CHECKING, Any

from offramp_base.errors import OfframpError
from offramp_p4.tm.config import MAX_PORT
from offramp_p4_tools.dropin.thrift.services import RequestRefused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from offramp_p4.queued import QueuedSwitch
    from offramp_p4.runtime.pipeline import Pipeline
    from offramp_p4.serve import RunningSwitch
    from offramp_p4.tm.view import QueuesView


class Info:
    """The methods of the switch itself."""

    def __init__(self, running: RunningSwitch, pipeline: Pipeline, port: int, publishers: Mapping[str, str]) -> None:
        self._running, self._pipeline, self._port, self._publishers = running, pipeline, port, publishers
        self._document: str | None = None

    def bm_get_config(self) -> str:
        """bmv2's JSON of the program: clients know tables and actions from it."""
        if self._document is None:
            from offramp_p4_tools.bmv2.write import document_text

            self._document = document_text(self._pipeline.program)
        return self._document

    def bm_get_config_md5(self) -> bytes:
        """Digest by which clients check that they have the same document."""
        return hashlib.md5(self.bm_get_config().encode(), usedforsecurity=False).digest()

    def bm_mgmt_get_info(self) -> Any:
        """The device, the port of this server, and where notifications and events are published."""
        return {"device_id": self._running.device.id, "thrift_port": self._port, **self._publishers}

    def bm_reset_state(self) -> None:
        """Tables, arrays and replication as when the program was loaded."""
        switch = self._pipeline.switch
        for things in (switch.tables, switch.registers, switch.counters, switch.meters, switch.profiles):
            for thing in things.values():
                thing.reset()
        switch.pre.reset()

    def bm_get_id_from_name(self, resource_type: int, resource_name: str) -> int:
        """The id of an object in the document."""
        kinds = {0: "tables", 1: "action_profiles", 2: "counter_arrays", 3: "meter_arrays", 4: "register_arrays"}
        kinds[5] = "learn_lists"
        if resource_type not in kinds:
            raise RequestRefused(0, f"resource type {resource_type}")
        import json

        document = json.loads(self.bm_get_config())
        lists = [document] if resource_type > 1 else document["pipelines"]
        for thing in (thing for one in lists for thing in one.get(kinds[resource_type], ())):
            if thing["name"] == resource_name:
                return int(thing["id"])
        raise RequestRefused(1, f"there is no {resource_name}")

    def get_time_elapsed_us(self) -> int:
        """Since the switch was started."""
        return self._running.device.now_ns // 1000

    def get_time_since_epoch_us(self) -> int:
        """The wall clock in microseconds since the Unix epoch."""
        return time.time_ns() // 1000

    def set_all_egress_queue_depths(self, depth_pkts: int) -> int:
        """Set the capacity of all queues of the ports that there are; returns 0, as bmv2 does.

        Raises:
            OfframpError: the switch has no queues, or a queue holds at least one packet.
        """
        for port in self._running.ports:
            self.set_egress_queue_depth(port, depth_pkts)
        return 0

    def set_egress_queue_depth(self, port_num: int, depth_pkts: int) -> int:
        """Set the capacity of all queues of a port; see :meth:`set_all_egress_queue_depths`."""
        for priority in range(self._queue_count(port_num)):
            self.set_egress_priority_queue_depth(port_num, priority, depth_pkts)
        return 0

    def set_egress_priority_queue_depth(self, port_num: int, priority: int, depth_pkts: int) -> int:
        """Set the capacity of one queue, counted like ``standard_metadata.priority``: the lowest is 0."""
        last = self._queue_count(port_num) - 1
        if not 0 <= priority <= last:
            raise OfframpError(f"priority {priority} of port {port_num}: expected 0 to {last}")
        self._tm.queue(port_num, priority).limit_packets(depth_pkts)
        return 0

    def _queue_count(self, port: int) -> int:
        if not 0 <= port <= MAX_PORT:
            raise OfframpError(f"port {port}: expected 0 to {MAX_PORT}")
        config = self._tm.config
        return len(config.ports.get(port, config.default).queues)

    @property
    def _tm(self) -> QueuesView:
        queued: QueuedSwitch | None = getattr(self._pipeline.switch, "queued", None)
        if queued is None:
            raise OfframpError("this switch runs without queues")
        return queued.tm
