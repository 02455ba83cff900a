# SPDX-License-Identifier: Apache-2.0
"""Existing configuration of a switch's ports: which DSCPs, traffic classes and queues are in use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property

from offramp.hermod.deploy.sonic.rows import bound, holding, references, where
from offramp.hermod.deploy.sonic.tables import DSCP_MAP, PORT_MAP, TC_MAP, Config, plain
from offramp.hermod.dscp import CODES
from offramp.hermod.queues import MOST_QUEUES

PFC_QUEUES, PFC_GROUPS, GROUPS = (
    "MAP_PFC_PRIORITY_TO_QUEUE",
    "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP",
    "TC_TO_PRIORITY_GROUP_MAP",
)
_MOST_CLASSES = 16


class Surroundings:
    """The maps and schedulers of ``ports`` in ``config``, from which Hermod's own objects have been removed."""

    def __init__(self, config: Config, ports: Sequence[str]) -> None:
        self._config, self._ports = config, ports
        self._maps: dict[tuple[str, str], Mapping[str, str]] = {}
        self._bound = {port: bound(config, port) for port in ports}
        self._global = bound(config, "global")

    @cached_property
    def empty(self) -> bool:
        """Whether no port has maps or schedulers that are not ours."""
        fields = {field for there in (*self._bound.values(), self._global) for field in there}
        rows = {cell[0] for field in ("scheduler", "wred_profile") for cell in holding(self._config, field)}
        start = where(self._config)
        return not fields & {"dscp_to_tc_map", "tc_to_queue_map"} and rows.isdisjoint(start + p for p in self._ports)

    @cached_property
    def brackets(self) -> bool:
        """Whether the switch writes references as ``[TABLE|NAME]``, as older releases do."""
        rows = (fields for table in (PORT_MAP, "QUEUE") for fields in self._config.get(table, {}).values())
        return any(value.startswith("[") for fields in rows for value in fields.values())

    def reference(self, port: str, field: str) -> tuple[str, str] | None:
        """The row that binds a port to a map, by itself or in a list, and the reference in it."""
        return self._bound[port].get(field)

    def dscp_map(self, port: str) -> Mapping[str, str]:
        """Traffic classes of DSCPs as the port's map, else the switch's, says; what it leaves out is in class 0."""
        _, name = self._bound[port].get("dscp_to_tc_map") or self._global.get("dscp_to_tc_map") or ("", "")
        return self._map(DSCP_MAP, name)

    def tc_map(self, port: str) -> Mapping[str, str]:
        """Queues of traffic classes."""
        return self._map(TC_MAP, self._bound[port].get("tc_to_queue_map", ("", ""))[1])

    def common(self, port: str) -> int:
        """The traffic class of most DSCPs."""
        return self._common(self.dscp_map(port))

    def used_dscps(self, port: str, lossless_only: bool) -> set[int]:
        """DSCPs that mean something: those of lossless classes, and else those that are not in the commonest class."""
        there, common = self.dscp_map(port), self.common(port)
        classes = {dscp: int(there.get(str(dscp), 0)) for dscp in range(CODES)}
        return {d for d, c in classes.items() if c in self.lossless_classes or (c != common and not lossless_only)}

    @cached_property
    def reached_classes(self) -> set[int]:
        """Traffic classes that packets can be in, by any map that is bound on the switch."""
        classes = {0} if any(not self.dscp_map(port) for port in self._ports) else set()
        for table, name in references(self._config, "_to_tc_map"):
            there = self._map(table, name)
            classes |= {int(value) for value in there.values()}
            if table != DSCP_MAP or len(there) < CODES:
                classes.add(0)
        return classes

    @cached_property
    def classes(self) -> range:
        """Traffic classes that the switch is sure to have."""
        return range(_MOST_CLASSES if max(self.reached_classes, default=0) >= MOST_QUEUES else MOST_QUEUES)

    @cached_property
    def used_queues(self) -> set[int]:
        """Queues of the ports that packets can be in."""
        tunnels = [self._map(table, name) for table, name in references(self._config, "encap_tc_to_queue_map")]
        maps = [*(self.tc_map(port) for port in self._ports), *tunnels]
        return {queue for there in maps for one in self.reached_classes for queue in self.queues_of(there, one)}

    def queues_of(self, there: Mapping[str, str], one: int) -> set[int]:
        """Queues that a map may give a class: both 0 and the number of the class where it gives none."""
        said = there.get(str(one))
        return {0, one} if said is None and there else {one if said is None else int(said)}

    @cached_property
    def lossless(self) -> set[int]:
        """Queues that PFC may pause."""
        return {queue for port in self._ports for queue in self._of_pfc(port, "pfc_to_queue_map", PFC_QUEUES)}

    @cached_property
    def lossless_classes(self) -> set[int]:
        """Traffic classes of those queues, or of priority groups that PFC protects."""
        classes = set()
        for port in self._ports:
            queues = self._of_pfc(port, "pfc_to_queue_map", PFC_QUEUES)
            groups = {str(group) for group in self._of_pfc(port, "pfc_to_pg_map", PFC_GROUPS)}
            by_group = self._map(GROUPS, self._bound[port].get("tc_to_pg_map", ("", ""))[1])
            for one in range(_MOST_CLASSES):
                said = self.tc_map(port).get(str(one))
                if (int(said) if said else one) in queues or by_group.get(str(one)) in groups:
                    classes.add(one)
        return classes

    def maps(self) -> list[str]:
        """The maps that ports are bound to, for messages."""
        names = {"dscp_to_tc_map": DSCP_MAP, "tc_to_queue_map": TC_MAP}
        rows = (*self._bound.values(), self._global)
        return list(dict.fromkeys(f"{names[f]} {plain(row[f][1])}" for f in names for row in rows if f in row))

    def _of_pfc(self, port: str, field: str, table: str) -> set[int]:
        enabled = self._bound[port].get("pfc_enable", ("", ""))[1].split(",")
        there = self._map(table, self._bound[port].get(field, ("", ""))[1])
        return {int(there.get(one.strip(), one.strip())) for one in enabled if one.strip().isdecimal()}

    def _map(self, table: str, reference: str) -> Mapping[str, str]:
        if (table, reference) not in self._maps:
            rows = self._config.get(table, {}).get(plain(reference), {})
            self._maps[table, reference] = {k: v for k, v in rows.items() if k.isdecimal() and v.isdecimal()}
        return self._maps[table, reference]

    @staticmethod
    def _common(there: Mapping[str, str]) -> int:
        counted = Counter(int(there.get(str(dscp), 0)) for dscp in range(CODES))
        return max(counted, key=lambda one: (counted[one], -one))
