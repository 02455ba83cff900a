# SPDX-License-Identifier: Apache-2.0
"""P4Info of a program, as p4c makes it (P4Runtime specification, section 6)."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from offramp_base.errors import OfframpError
from offramp_base.p4rt.schema import config
from offramp_p4 import ir
from offramp_p4.architecture import TNA, architecture_of
from offramp_p4.runtime.annotations import annotate, control_name
from offramp_p4.runtime.ids import SymbolTable, explicit_id, field_ids
from offramp_p4.runtime.tna_externs import standard_externs
from offramp_p4.runtime.typespec import TypeCatalog, flatten, padded, width_of
from offramp_p4.state.table import supports_timeout
from offramp_p4.types import Annotation, Enum, Header, Newtype, Structure, Type, strip

DEFAULT_TABLE_SIZE = 1024
_PKG_FIELDS = ("name", "version", "organization", "contact", "url", "arch")
# v1model extern type to the P4Ids prefix of its instances.
_EXTERNS = {
    "counter": "COUNTER",
    "direct_counter": "DIRECT_COUNTER",
    "meter": "METER",
    "direct_meter": "DIRECT_METER",
    "register": "REGISTER",
    "action_profile": "ACTION_PROFILE",
    "action_selector": "ACTION_PROFILE",
}
_PAIR = re.compile(r"(\w+)\s*=\s*(.*)")
_MATCH_TYPES = ("exact", "lpm", "ternary", "range", "optional")
# Nodes with a body of their own, which is not part of the body that names them.
_OWN_BODY = (ir.Action, ir.MatchTable, ir.UserFunction, ir.ControlInstance, ir.ParserInstance)
_UNITS = {"packets": "PACKETS", "bytes": "BYTES", "packets_and_bytes": "BOTH"}


def generate(program: ir.Program) -> Any:
    """The P4Info message of a program.

    Raises:
        OfframpError: ids clash, or the control plane cannot represent a type, a size or an annotation.
    """
    try:
        return _P4InfoGenerator(program).info
    except (ValueError, TypeError, IndexError) as error:  # of the messages, whose fields have ranges
        raise OfframpError(f"{program.file}: P4Info cannot describe this program: {error}") from None


_ENGINES: Final = ("PacketReplicationEngine", "BufferingQueueingEngine")
"""Arguments of PSA's package, which no declaration names."""


class _P4InfoGenerator:
    def __init__(self, program: ir.Program) -> None:
        self.program = program
        self.info = config.P4Info()
        self.types = TypeCatalog(program.errors, self.info.type_info)
        # Like p4c: what no packet can reach, the controller does not see.
        reachable = list(walk([program.main]))
        self.tables = [node for node in reachable if isinstance(node, ir.MatchTable)]
        self.actions = visible_actions(reachable)
        self.digests = digest_types(program)
        self.externs = standard_externs(program)
        self.symbols = SymbolTable()
        self._collect()
        self.symbols.assign()
        self._package()
        for table in self.tables:
            if "hidden" not in table.annotations:
                self._table(table)
        for action, params in self.actions.values():
            if "hidden" not in action.annotations:
                self._action(action, params)
        for extern in dict.fromkeys(self.externs.values()):
            self._extern(extern)
        for header in program.controller_headers:
            if "hidden" not in header.annotations:
                self._controller_header(header)
        for value_set in program.value_sets:
            self._value_set(value_set)
        if not self.info.HasField("type_info") and any(map(self._touches_types, reachable)):
            self.info.type_info.SetInParent()
        for name, element in self.digests.items():
            digest = self.info.digests.add()
            self._preamble(digest, "DIGEST", name, {})
            digest.type_spec.CopyFrom(self.types.spec(element))

    def _touches_types(self, node: object) -> bool:
        """Whether p4c looks for types of what it meets in a control, and then leaves an empty list even of none."""
        if isinstance(node, ir.ExternCall) and not node.extern and node.method != "verify":
            return self.program.main.type_name == "V1Switch"
        return isinstance(node, ir.ExternInstance) and node.extern not in _ENGINES

    def _collect(self) -> None:
        add = self.symbols.add
        for table in self.tables:
            add("TABLE", table.name, table.annotations)
        for name, (action, _) in self.actions.items():
            add("ACTION", name, action.annotations)
        for extern in self.externs.values():
            if extern.extern in _EXTERNS:
                add(_EXTERNS[extern.extern], extern.name, extern.annotations)
        for value_set in self.program.value_sets:
            add("VALUE_SET", value_set.name, value_set.annotations)
        for header in self.program.controller_headers:
            add("CONTROLLER_HEADER", header.name, header.annotations)
        for name in self.digests:
            add("DIGEST", name, {})

    def _preamble(self, message: Any, kind: str, name: str, notes: ir.Annotations, **options: Any) -> None:
        preamble = message.preamble
        preamble.id, preamble.name = self.symbols.id(kind, name), name
        preamble.alias = self.symbols.alias(name)
        annotate(preamble, notes, **options)

    def _package(self) -> None:
        package, notes = self.info.pkg_info, self.program.annotations
        package.arch = architecture(self.program)
        if "pkginfo" in notes:
            for key, value in key_values(notes["pkginfo"]):
                if key in _PKG_FIELDS:
                    setattr(package, key, str(value))
        if "platform_property" in notes:
            for key, value in key_values(notes["platform_property"]):
                setattr(package.platform_properties, key, int(str(value), 0))
        annotate(package, notes, leave_out={"pkginfo", "platform_property"})

    # --- tables and actions --------------------------------------------------------------------------------

    def _table(self, table: ir.MatchTable) -> None:
        message = self.info.tables.add()
        self._preamble(message, "TABLE", table.name, table.annotations)
        message.size = table.size or DEFAULT_TABLE_SIZE
        self._match_fields(message, table)
        for choice in table.actions:
            ref = message.action_refs.add(id=self.symbols.id("ACTION", choice.action.name))
            annotate(ref, choice.annotations)
            if "tableonly" in choice.annotations:
                ref.scope = config.ActionRef.TABLE_ONLY
            elif "defaultonly" in choice.annotations:
                ref.scope = config.ActionRef.DEFAULT_ONLY
        self._default_action(message, table)
        message.is_const_table = table.const_entries
        message.has_initial_entries = bool(table.entries)
        if supports_timeout(table):
            message.idle_timeout_behavior = config.Table.NOTIFY_CONTROL
        implementation = table.properties.get("implementation")
        if isinstance(implementation, ir.ExternInstance):
            name = self.externs[implementation].name
            if ("ACTION_PROFILE", name) in self.symbols:
                message.implementation_id = self.symbols.id("ACTION_PROFILE", name)
        for key in ("counters", "meters"):
            resource = table.properties.get(key)
            if isinstance(resource, ir.ExternInstance):
                self._direct(message, self.externs[resource])

    def _match_fields(self, message: Any, table: ir.MatchTable) -> None:
        self.info.type_info.SetInParent()
        ids = field_ids((id(key), key.annotations) for key in table.keys)
        for key in table.keys:
            if key.match_kind == "selector":
                continue
            declared = key.declared or key.expr.type
            field = message.match_fields.add(id=ids[id(key)], name=key.name, bitwidth=width_of(declared))
            annotate(field, key.annotations)
            if key.match_kind in _MATCH_TYPES:
                field.match_type = config.MatchField.MatchType.Value(key.match_kind.upper())
            else:
                field.other_match_type = key.match_kind
            self._type_name(field, declared)

    def _default_action(self, message: Any, table: ir.MatchTable) -> None:
        action, data = table.default.action.action, table.default.data
        number = self.symbols.id("ACTION", action.name)
        if table.const_default:
            message.const_default_action_id = number
        call = message.initial_default_action
        call.action_id = number
        for position, value in enumerate(data):
            if isinstance(value, ir.Const) and isinstance(value.value, int):
                # p4c counts arguments, and prefers an @id; the ids of the action itself skip those in use.
                explicit = explicit_id(table.default.action.data_params[position].annotations)
                width = width_of(value.type)
                octets = padded(value.value & ((1 << width) - 1), width) if width else b""
                call.arguments.add(param_id=explicit or position + 1, value=octets)

    def _direct(self, message: Any, resource: ir.ExternInstance) -> None:
        kind = _EXTERNS[resource.extern]
        number = self.symbols.id(kind, resource.name)
        message.direct_resource_ids.append(number)
        counter = kind == "DIRECT_COUNTER"
        target = self.info.direct_counters if counter else self.info.direct_meters
        direct = target.add(direct_table_id=message.preamble.id)
        self._preamble(direct, kind, resource.name, resource.annotations)
        self._unit(direct, resource, 0)
        if not counter:
            _set_meter_type(direct, resource)

    def _action(self, action: ir.Action, params: list[ir.Var]) -> None:
        message = self.info.actions.add()
        self._preamble(message, "ACTION", action.name, action.annotations)
        ids = field_ids((id(p), p.annotations) for p in params)
        for param in params:
            declared = param.declared or param.type
            field = message.params.add(id=ids[id(param)], name=control_name(param.name, param.annotations))
            field.bitwidth = width_of(declared)
            annotate(field, param.annotations)
            self.info.type_info.SetInParent()
            self._type_name(field, declared)
            bare = declared
            if isinstance(bare, Enum) and bare.base is None:
                field.type_name.name = bare.name

    def _type_name(self, field: Any, declared: Type) -> None:
        name = self.types.named(declared)
        if name:
            field.type_name.name = name

    # --- externs -------------------------------------------------------------------------------------------

    def _extern(self, extern: ir.ExternInstance) -> None:
        add = {
            "counter": self._counter,
            "meter": self._meter,
            "register": self._register,
            "action_profile": self._action_profile,
            "action_selector": self._action_profile,
        }.get(extern.extern)
        if add is not None:
            self.info.type_info.SetInParent()
            add(extern)

    def _counter(self, extern: ir.ExternInstance) -> None:
        counter = self.info.counters.add(size=argument(extern, "size", 0))
        self._preamble(counter, "COUNTER", extern.name, extern.annotations)
        self._unit(counter, extern, 1)
        self._index_type(counter, extern, 0)

    def _meter(self, extern: ir.ExternInstance) -> None:
        meter = self.info.meters.add(size=argument(extern, "size", 0))
        self._preamble(meter, "METER", extern.name, extern.annotations)
        self._unit(meter, extern, 1)
        _set_meter_type(meter, extern)
        self._index_type(meter, extern, 0)

    def _register(self, extern: ir.ExternInstance) -> None:
        register = self.info.registers.add(size=argument(extern, "size", 0))
        self._preamble(register, "REGISTER", extern.name, extern.annotations)
        declared = extern.declared_args or extern.type_args
        register.type_spec.CopyFrom(self.types.spec(declared[0]))
        self._index_type(register, extern, 1)

    def _action_profile(self, extern: ir.ExternInstance) -> None:
        special = {"max_group_size", "selector_size_semantics", "max_member_weight", "weights_disallowed"}
        profile = self.info.action_profiles.add(with_selector=extern.extern == "action_selector")
        profile.size = argument(extern, "size", 0 if extern.extern == "action_profile" else 1)
        self._preamble(profile, "ACTION_PROFILE", extern.name, extern.annotations, leave_out=special)
        for table in sorted(self.tables, key=lambda t: t.name):
            implementation = table.properties.get("implementation")
            if isinstance(implementation, ir.ExternInstance) and self.externs[implementation] is extern:
                profile.table_ids.append(self.symbols.id("TABLE", table.name))
        notes = extern.annotations
        if profile.with_selector and "max_group_size" in notes:
            profile.max_group_size = int(str(notes["max_group_size"].args[0]), 0)
        profile.weights_disallowed = profile.with_selector and "weights_disallowed" in notes
        semantics = notes.get("selector_size_semantics")
        if profile.with_selector and semantics is not None:
            if str(semantics.args[0]).lower() == "sum_of_members":
                profile.sum_of_members.SetInParent()
                if "max_member_weight" in notes:
                    weight = notes["max_member_weight"].args[0]
                    profile.sum_of_members.max_member_weight = int(str(weight), 0)
            else:
                profile.sum_of_weights.SetInParent()

    def _unit(self, message: Any, extern: ir.ExternInstance, position: int) -> None:
        name = extern_unit(extern, position)
        message.spec.unit = message.spec.Unit.Value(_UNITS.get(name, "UNSPECIFIED"))

    def _index_type(self, message: Any, extern: ir.ExternInstance, position: int) -> None:
        # Only the 2020 version of v1model has an index type.
        declared = extern.declared_args or extern.type_args
        if len(declared) > position and isinstance(declared[position], Newtype):
            message.index_type_name.name = self.types.named(declared[position])

    # --- headers and value sets ----------------------------------------------------------------------------

    def _controller_header(self, header: Header) -> None:
        metadata = self.info.controller_packet_metadata.add()
        metadata.preamble.id = self.symbols.id("CONTROLLER_HEADER", header.name)
        metadata.preamble.name = metadata.preamble.alias = str(header.annotations["controller_header"].args[0])
        annotate(metadata.preamble, header.annotations)
        notes = {f.name: f.annotations for f in header.fields}
        leaves = flatten(header)
        ids = field_ids((name, notes.get(name, {})) for name, _ in leaves)
        for name, leaf in leaves:
            if "hidden" in notes.get(name, {}):
                continue
            known = control_name(name, notes.get(name, {}))
            field = metadata.metadata.add(id=ids[name], name=known, bitwidth=width_of(leaf))
            annotate(field, notes.get(name, {}))
            self.info.type_info.SetInParent()
            self._type_name(field, leaf)

    def _value_set(self, value_set: ir.ValueSet) -> None:
        message = self.info.value_sets.add(size=value_set.size)
        self._preamble(message, "VALUE_SET", value_set.name, value_set.annotations)
        element = strip(value_set.element)
        if isinstance(element, Structure):
            ids = field_ids((f.name, f.annotations) for f in element.fields)
            for f, kind in zip(element.fields, value_set.match_kinds, strict=False):
                field = message.match.add(id=ids[f.name], name=f.name, bitwidth=width_of(f.type))
                field.match_type = config.MatchField.MatchType.Value(kind.upper())
                annotate(field, f.annotations, leave_out={"match"})
        elif isinstance(element, Enum):
            for number, name in enumerate(element.members, 1):
                field = message.match.add(id=number, name=name, bitwidth=width_of(element))
                field.match_type = config.MatchField.EXACT
        else:
            message.match.add(id=1, bitwidth=width_of(element), match_type=config.MatchField.EXACT)


def visible_actions(nodes: Iterable[object]) -> dict[str, tuple[ir.Action, list[ir.Var]]]:
    """The actions that tables list or controls call, with the parameters that entries supply, by name.

    A parameter that the program itself fills is no parameter for the controller: one with a direction, and
    every one of an action that a control calls.
    """
    out: dict[str, tuple[ir.Action, list[ir.Var]]] = {}
    called: set[str] = set()
    for node in nodes:
        if isinstance(node, ir.MatchTable):
            for choice in [*node.actions, node.default.action]:
                out.setdefault(choice.action.name, (choice.action, choice.data_params))
        elif isinstance(node, ir.ControlInstance):
            for call in walk([node.body], below=lambda n: not isinstance(n, _OWN_BODY)):
                if isinstance(call, ir.ActionCall):
                    called.add(call.action.name)
                    out.setdefault(call.action.name, (call.action, []))
    return {name: (action, [] if name in called else params) for name, (action, params) in out.items()}


def key_values(note: Annotation) -> list[tuple[str, object]]:
    """The pairs of ``@note[key=value]``, or of ``@note(key = value)``, whose arguments are texts."""
    texts = (_PAIR.fullmatch(str(arg)) for arg in note.args)
    return [*note.kv, *((pair[1], pair[2].strip('"')) for pair in texts if pair is not None)]


def argument(extern: ir.ExternInstance, name: str, position: int) -> int:
    """A constant constructor argument, by parameter name or position."""
    if name in extern.params:
        position = extern.params.index(name)
    value = extern.args[position]
    if not isinstance(value, ir.Const):
        raise OfframpError(f"{extern.name}: its {name} is not a constant")
    return int(value.value)


def extern_unit(extern: ir.ExternInstance, position: int) -> str:
    """The unit of a counter or meter: packets, bytes or packets_and_bytes."""
    if "type" in extern.params:
        position = extern.params.index("type")
    value = extern.args[position]
    if not isinstance(value, ir.Const) or not isinstance(value.type, Enum):
        raise OfframpError(f"{extern.name}: what it counts is not a CounterType or MeterType")
    return value.type.member(int(value.value)) or ""


def _set_meter_type(message: Any, extern: ir.ExternInstance) -> None:
    """The type that an annotation gives a meter; two rates and three colours without one."""
    for name in message.spec.Type.keys():  # noqa: SIM118 - of a protobuf enum
        if name.lower() in extern.annotations:
            message.spec.type = message.spec.Type.Value(name)


def architecture(program: ir.Program) -> str:
    """The name that p4c gives the architecture of a program."""
    package = architecture_of(program)
    return "t2na" if package is TNA and "ghost_intrinsic_metadata_t" in program.types else package.name


def digest_types(program: ir.Program) -> dict[str, Type]:
    """The digests that are sent: name (of the type, or numbered; of TNA's object) to type."""
    out: dict[str, Type] = {}
    unnamed = 0
    for call in walk([program.main]):
        if not isinstance(call, ir.ExternCall):
            continue
        if call.extern == "Digest" and isinstance(call.target, ir.ExternInstance):
            out[call.target.name] = call.target.type_args[0]
        elif not call.extern and call.method == "digest":
            element = call.type_args[0]
            if isinstance(element, Structure):
                out[element.name] = element
            else:
                out[f"digest_{unnamed}"] = element
                unnamed += 1
    return out


def walk(roots: list[object], below: Callable[[object], bool] = lambda _: True) -> Iterator[object]:
    """All IR nodes at and below some roots, each once; ``below`` says which ones to enter."""
    seen: set[int] = set()
    stack = roots[::-1]
    while stack:
        node = stack.pop()
        if isinstance(node, list | tuple):
            stack.extend(reversed(node))
        elif isinstance(node, dict):
            stack.extend(reversed(list(node.values())))
        elif dataclasses.is_dataclass(node) and not isinstance(node, Type | type) and id(node) not in seen:
            seen.add(id(node))
            yield node
            if below(node):
                stack.extend(getattr(node, f.name) for f in reversed(dataclasses.fields(node)))
