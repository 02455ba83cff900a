# SPDX-License-Identifier: Apache-2.0
"""The switch itself as bmv2's run-time services see it: configuration, ports, queues, time."""

from __future__ import annotations

import hashlib
import time
from typing import TYPE_CHECKING, Any

from offramp_p4.ir import CompiledProgram
from offramp_p4_tools.dropin.thrift.services import RequestRefused

if TYPE_CHECKING:
    from offramp_p4.runtime.pipeline import Pipeline
    from offramp_p4.serve import RunningSwitch


class Info:
    """The methods of the switch itself."""

    def __init__(self, running: RunningSwitch, pipeline: Pipeline, port: int) -> None:
        self._running, self._pipeline, self._port = running, pipeline, port
        self._document: str | None = None

    def bm_get_config(self) -> str:
        """bmv2's JSON of the program: clients know tables and actions from it."""
        if self._document is None:
            program = self._pipeline.program
            if isinstance(program, CompiledProgram):
                self._document = program.source
            else:
                from offramp_p4_tools.bmv2.write import bmv2_text

                self._document = bmv2_text(program)
        return self._document

    def bm_get_config_md5(self) -> bytes:
        """Digest by which clients check that they have the same document."""
        return hashlib.md5(self.bm_get_config().encode(), usedforsecurity=False).digest()

    def bm_mgmt_get_info(self) -> Any:
        """The device and the port of this server."""
        return {"device_id": self._running.device.id, "thrift_port": self._port}

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
        """Queues are set when the switch is started; without a traffic manager they have no limit."""
        del depth_pkts
        return 0

    def set_egress_queue_depth(self, port_num: int, depth_pkts: int) -> int:
        """See :meth:`set_all_egress_queue_depths`."""
        del port_num
        return self.set_all_egress_queue_depths(depth_pkts)

    def set_egress_priority_queue_depth(self, port_num: int, priority: int, depth_pkts: int) -> int:
        """See :meth:`set_all_egress_queue_depths`."""
        del priority
        return self.set_egress_queue_depth(port_num, depth_pkts)

    def set_all_egress_queue_rates(self, rate_pps: int) -> int:
        """Rates in packets per second do not exist here: 1 says that nothing was done."""
        del rate_pps
        return 1

    def set_egress_queue_rate(self, port_num: int, rate_pps: int) -> int:
        """See :meth:`set_all_egress_queue_rates`."""
        del port_num
        return self.set_all_egress_queue_rates(rate_pps)

    def set_egress_priority_queue_rate(self, port_num: int, priority: int, rate_pps: int) -> int:
        """See :meth:`set_all_egress_queue_rates`."""
        del priority
        return self.set_egress_queue_rate(port_num, rate_pps)
