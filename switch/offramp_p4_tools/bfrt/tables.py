# SPDX-License-Identifier: Apache-2.0
"""The tables of a running program and of its chip, by id, each with its state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from offramp_base.p4rt.status import Code, RpcError
from offramp_p4 import ir
from offramp_p4.tna.blocks import pipes
from offramp_p4.tna.ports import PORTS_PER_PIPE, RECIRCULATION_PORT
from offramp_p4_tools.bfrt import fixed
from offramp_p4_tools.bfrt.describe import Description, describe
from offramp_p4_tools.bfrt.fields import TableSpec
from offramp_p4_tools.bfrt.stores.arrays import CounterStore, FilterStore, MeterStore, ParameterStore, RegisterStore
from offramp_p4_tools.bfrt.stores.base import TableStore
from offramp_p4_tools.bfrt.stores.chip import Mirrors, ReplicationTables
from offramp_p4_tools.bfrt.stores.generator import AppStore, BufferStore, GeneratorPortStore
from offramp_p4_tools.bfrt.stores.match import MatchStore
from offramp_p4_tools.bfrt.stores.parsing import PortMetadataStore, ValueSetStore
from offramp_p4_tools.bfrt.stores.ports import DeviceStore, PortLookup, PortStatStore, PortStore
from offramp_p4_tools.bfrt.stores.sharing import GetMemberStore, ProfileStore, SelectorStore

if TYPE_CHECKING:
    from offramp_p4.ports.panel import FrontPanel
    from offramp_p4.runtime.pipeline import Pipeline
    from offramp_p4.tna.generator import PacketGenerator


@dataclass(frozen=True)
class BfrtTables:
    """The tables that BF-RT clients see while one program runs.

    Attributes:
        name: name of the program, that of its file.
        stores: stores by the id of the table.
        pipe_names: the pipelines of the program, in the order of their pipes.
    """

    name: str
    program: Description
    stores: dict[int, TableStore]
    pipe_names: tuple[str, ...]

    @property
    def pipes(self) -> int:
        """The number of pipes."""
        return len(self.pipe_names)

    def store(self, identifier: int) -> TableStore:
        """The table with an id.

        Raises:
            RpcError: NOT_FOUND.
        """
        match = self.stores.get(identifier)
        if match is None:
            raise RpcError(Code.NOT_FOUND, f"no table has id {identifier:#010x}")
        return match

    @property
    def ports(self) -> PortStore:
        """The ports of the chip."""
        return next(store for store in self.stores.values() if isinstance(store, PortStore))

    @property
    def match_tables(self) -> Iterator[MatchStore]:
        """The tables of the program whose entries match."""
        return (store for store in self.stores.values() if isinstance(store, MatchStore))


def program_name(program: ir.Program) -> str:
    """BF-RT's name of a program: its file name without folder and extension."""
    return PurePath(program.file).stem


def make_tables(pipeline: Pipeline, panel: FrontPanel, now_us: Callable[[], int]) -> BfrtTables:
    """The tables of a TNA program that runs.

    Raises:
        OfframpError: the program is not one for TNA, or the control plane cannot represent one of its types.
    """
    program, switch = pipeline.program, pipeline.switch
    names = tuple(pipe.name for pipe in pipes(program))
    description = describe(program, pipeline.info)
    stores = [_of_program(spec, switch, program, now_us) for spec in description.tables.values()]
    for profile in (s for s in stores if isinstance(s, ProfileStore)):
        users = (s for s in stores if isinstance(s, MatchStore) and profile.spec.id in s.spec.depends_on)
        profile.changed += [user.member_changed for user in users]
    stores += _of_chip(switch, panel, len(names), now_us)
    return BfrtTables(
        program_name(program),
        description,
        {store.spec.id: store for store in stores},
        names,
    )


def _of_program(spec: TableSpec, switch: Any, program: ir.Program, now_us: Callable[[], int]) -> TableStore:
    name, own = spec.name, spec.name.removesuffix("_get_member")
    match spec.kind:
        case "Counter":
            return CounterStore(spec, switch.counters[name])
        case "Meter":
            return MeterStore(spec, switch.meters[name], now_us)
        case "Register":
            return RegisterStore(spec, switch.registers[name])
        case "RegisterParam":
            return ParameterStore(spec, switch.registers[name])
        case "Lpf" | "Wred":
            return FilterStore(spec, switch.filters[name])
        case "ParserValueSet":
            return ValueSetStore(spec, switch.value_sets[name])
        case "PortMetadata":
            octets = 24 if "ghost_intrinsic_metadata_t" in program.types else 8
            return PortMetadataStore(spec, switch.port_metadata, octets)
        case "Action":
            return ProfileStore(spec, switch.profiles[name])
        case "Selector":
            return SelectorStore(spec, _profile(switch, program, name))
        case "SelectorGetMember":
            return GetMemberStore(spec, _profile(switch, program, own))
    return MatchStore(spec, switch.tables[name], now_us, _direct_register(program, switch, name))


def _profile(switch: Any, program: ir.Program, selector: str) -> Any:
    """The state of the action profile behind a selector."""
    for i in program.externs:
        if i.extern == "ActionSelector" and selector in {i.name, f"{i.name}_sel"}:
            profile = i.args[i.params.index("action_profile")] if "action_profile" in i.params else None
            return switch.profiles[profile.name if isinstance(profile, ir.ExternInstance) else i.name]
    raise AssertionError(selector)


def _direct_register(program: ir.Program, switch: Any, table: str) -> tuple[int, int] | None:
    """Bits and first value of a table's direct register."""
    for t in program.tables:
        i = t.properties.get("registers")
        if t.name == table and isinstance(i, ir.ExternInstance):
            state = switch.direct_registers[i.name]
            return state.width.width, state.initial
    return None


def _of_chip(switch: Any, panel: FrontPanel, count: int, now_us: Callable[[], int]) -> list[TableStore]:
    specs = fixed.chip().tables
    mirrors = Mirrors(specs[fixed.MIRROR], switch.pre)
    generator: PacketGenerator | None = switch.generator

    def moved(port: int, up: bool) -> None:
        if generator is not None:
            generator.set_link(port, up=up, now_ns=now_us() * 1000)

    ports = PortStore(specs[fixed.PORT], panel, moved)
    generating: list[TableStore] = []
    if generator is not None:
        loops = frozenset(PORTS_PER_PIPE * pipe + RECIRCULATION_PORT for pipe in range(count))
        generating = [
            AppStore(specs[fixed.PKTGEN_APP], generator, now_us),
            BufferStore(specs[fixed.PKTGEN_BUFFER], generator),
            GeneratorPortStore(specs[fixed.PKTGEN_PORT], generator, loops),
        ]
    return [
        mirrors,
        *ReplicationTables(specs, switch.pre, mirrors.apply).stores,
        ports,
        PortStatStore(specs[fixed.PORT_STAT], panel),
        PortLookup(specs["$PORT_HDL_INFO"], ports),
        PortLookup(specs["$PORT_STR_INFO"], ports),
        DeviceStore(specs[fixed.DEVICE], panel, count),
        *generating,
    ]
