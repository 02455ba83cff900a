# SPDX-License-Identifier: Apache-2.0
"""A program loaded into a switch, with its P4Info and the handlers of its entities."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from offramp_base.p4rt.p4info import KINDS
from offramp_base.p4rt.schema import config, v1
from offramp_base.p4rt.status import Code, RpcError
from offramp_p4.ir import CompiledProgram
from offramp_p4.runtime import p4info
from offramp_p4.runtime.device_config import check_p4info
from offramp_p4.runtime.entities.arrays import CounterHandler, P4RuntimeRegister, RegisterHandler
from offramp_p4.runtime.entities.base import ById, Handler, by_id, invalid
from offramp_p4.runtime.entities.digests import DigestHandler
from offramp_p4.runtime.entities.direct import DirectCounterHandler, DirectMeterHandler
from offramp_p4.runtime.entities.externs import ExternHandler
from offramp_p4.runtime.entities.idle import IdleTimers
from offramp_p4.runtime.entities.matching import ActionCodec, KeyCodec
from offramp_p4.runtime.entities.meters import MeterHandler
from offramp_p4.runtime.entities.profiles import ActionProfile, GroupHandler, MemberHandler
from offramp_p4.runtime.entities.replication import ReplicationHandler
from offramp_p4.runtime.entities.selectors import ActionSelector
from offramp_p4.runtime.entities.table import P4RuntimeTable
from offramp_p4.runtime.entities.tables import TableHandler
from offramp_p4.runtime.entities.value_sets import ValueSetHandler
from offramp_p4.runtime.environment import Environment
from offramp_p4.runtime.packet_io import ControllerHeader
from offramp_p4.runtime.translation import TranslationCodec, data_width

if TYPE_CHECKING:
    from offramp_p4 import AnySwitch
    from offramp_p4.ir import Program

SwitchFactory = Callable[..., "AnySwitch"]
"""Takes the program, and for some ``cache``, of its machine code."""


class Pipeline:
    """A forwarding pipeline configuration in use: the program, its switch and its entities.

    Attributes:
        program, switch: the program, and the switch that runs it.
        config: the ForwardingPipelineConfig as the controller set it, P4Info filled in.
        packet_in, packet_out: the controller headers.
        tables, selectors: tables and selectors by control-plane name.
    """

    def __init__(
        self,
        program: Program,
        make_switch: SwitchFactory,
        config: Any | None = None,
        environment: Environment | None = None,
    ) -> None:
        self.program = program
        self.environment = environment or Environment()
        self.switch = make_switch(program)  # first: it refuses what is too large to be described
        self.info = _describe(program, config)
        self.config = config_message(self.info, program, config)
        self.packet_in = self._header("packet_in")
        self.packet_out = self._header("packet_out")
        self.digests = DigestHandler(
            by_id("digest", self.info.digests, str), p4info.digest_types(program), program.errors
        )
        self.timers = IdleTimers()
        self.replication = ReplicationHandler(self.switch.pre, self.environment.links)
        self.selectors: dict[str, ActionSelector] = {}
        self.tables: dict[str, P4RuntimeTable] = {}
        self.handlers = self._handlers()

    @property
    def notices_ns(self) -> int | None:
        """The time at which digests or idle notifications are due; None: none are waiting."""
        times = [t for t in (self.digests.next_ns, self.timers.next_ns) if t is not None]
        return min(times, default=None)

    def links_changed(self) -> None:
        """Follow the links that have come up or gone down: watch ports and backup replicas."""
        self.replication.links_changed()
        for selector in self.selectors.values():
            selector.links_changed()

    def _codec(self, field: Any) -> TranslationCodec:
        translations = self.environment.translations
        return translations.codec(self.program, self.info, field.type_name.name, field.bitwidth)

    def _header(self, name: str) -> ControllerHeader:
        return ControllerHeader(self.info, name, self._codec, lambda f: data_width(self.program, self.info, f))

    def handler(self, kind: str | None) -> Handler:
        """The handler of an entity kind (field of ``p4.v1.Entity``).

        Raises:
            RpcError: INVALID_ARGUMENT without a kind, UNIMPLEMENTED for one that the switch lacks.
        """
        if kind is None:
            raise invalid("the entity is empty")
        if kind not in self.handlers:
            raise RpcError(Code.UNIMPLEMENTED, f"{kind} is not supported")
        return self.handlers[kind]

    def _handlers(self) -> dict[str, Handler]:
        info, switch = self.info, self.switch
        actions = ActionCodec(info, self._codec)
        by_number = {p.preamble.id: p.preamble.name for p in info.action_profiles}
        for p in info.action_profiles:
            state = switch.profiles[p.preamble.name]
            self.selectors[p.preamble.name] = ActionSelector(p, state, self.environment.links)
        for t in info.tables:
            name = t.preamble.name
            selector = self.selectors.get(by_number.get(t.implementation_id, ""))
            self.tables[name] = P4RuntimeTable(
                t, switch.tables[name], actions, info, self._codec, self.environment.clock, selector
            )
        by_table = ById("table", {t.id: t for t in self.tables.values()})
        profiles = {
            number: ActionProfile(
                self.selectors[name], [t for t in self.tables.values() if t.info.implementation_id == number]
            )
            for number, name in by_number.items()
        }
        registers = {
            r.preamble.id: P4RuntimeRegister(switch.registers[r.preamble.name], r.type_spec, info.type_info)
            for r in info.registers
        }
        value_sets = {
            v.preamble.id: (
                switch.value_sets[v.preamble.name],
                KeyCodec(v.match, f"value set {v.preamble.name}", self._codec),
            )
            for v in info.value_sets
        }
        by_profile = ById("action profile", profiles)
        return {
            "table_entry": TableHandler(by_table, self.timers),
            "direct_counter_entry": DirectCounterHandler(by_table),
            "direct_meter_entry": DirectMeterHandler(by_table),
            "counter_entry": CounterHandler(by_id("counter", info.counters, switch.counters.__getitem__)),
            "meter_entry": MeterHandler(
                by_id("meter", info.meters, switch.meters.__getitem__),
                {meter.preamble.id: meter.spec.type for meter in info.meters},
            ),
            "register_entry": RegisterHandler(ById("register", registers)),
            "packet_replication_engine_entry": self.replication,
            "value_set_entry": ValueSetHandler(ById("value set", value_sets)),
            "action_profile_member": MemberHandler(by_profile),
            "action_profile_group": GroupHandler(by_profile),
            "digest_entry": self.digests,
            "extern_entry": ExternHandler(),
        }


def _describe(program: Program, config: Any | None) -> Any:
    """P4Info of a program; of one that was compiled for bmv2 it is what came with it, ids and all."""
    if config is None or not config.p4info.ByteSize() or not isinstance(program, CompiledProgram):
        return p4info.generate(program)
    check_p4info(config.p4info, program)
    return config.p4info


def config_message(generated: Any, program: Program, source: Any | None) -> Any:
    """The configuration to hand back to controllers.

    Raises:
        RpcError: the controller's P4Info is not of this program.
    """
    message = v1.ForwardingPipelineConfig()
    if source is not None:
        message.CopyFrom(source)
    else:
        message.p4_device_config = program.source.encode()
    if source is None or source.p4info == config.P4Info():
        message.p4info.CopyFrom(generated)
        return message
    for field, word in KINDS.items():
        known = {o.preamble.id: o.preamble.name for o in getattr(generated, field)}
        for obj in getattr(source.p4info, field):
            number, name = obj.preamble.id, obj.preamble.name
            if known.get(number) != name and not known.get(number, "").endswith(f".{name}"):  # without its pipe
                raise invalid(f"the P4Info is not of this program: it has no {word} {name} with id {number:#010x}")
    return message
