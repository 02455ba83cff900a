# SPDX-License-Identifier: Apache-2.0
"""What the back ends of p4c refuse in tables, although the language allows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from offramp_p4 import ir
from offramp_p4.architecture import ARCHITECTURES, TNA, V1MODEL
from offramp_p4.engine import walk
from offramp_p4.source import P4Error, Unsupported
from offramp_p4.state.lookup import KINDS
from offramp_p4.types import BOOL, Structure, Type, strip

Fault = tuple[ir.MatchTable, P4Error]
Rule = Callable[[Sequence[ir.MatchTable]], Iterator[Fault]]
_SELECTORS: Final = frozenset({"action_selector", "ActionSelector"})


def check_target(program: ir.Program) -> None:
    """Check that the back end for the program's architecture takes the tables that are applied.

    Raises:
        P4Error: it does not.
    """
    main = program.main.type_name
    architecture = next((each for each in ARCHITECTURES if main in each.packages), None)
    if architecture is None:
        return
    rules = _TOFINO if architecture is TNA else _V1MODEL if architecture is V1MODEL else _BMV2
    for table, error in (fault for rule in rules for fault in rule(program.tables)):
        if table in _applied(program):
            raise error


def _applied(program: ir.Program) -> set[ir.MatchTable]:
    nodes = (n for block in walk.blocks(program.main) for n in walk.nodes(block, into_declarations=True))
    return {n for n in nodes if isinstance(n, ir.MatchTable)}


def _lpm_keys(tables: Sequence[ir.MatchTable]) -> Iterator[Fault]:
    """Every back end allows one lpm key in a table, bmv2's also beside ternary and range keys."""
    for table in tables:
        prefixes = [key for key in table.keys if key.match_kind == "lpm"]
        if len(prefixes) > 1:
            yield table, Unsupported(prefixes[1].expr.pos, f"table {table.name} with more than one lpm key")


def _match_kinds(tables: Sequence[ir.MatchTable]) -> Iterator[Fault]:
    for table in tables:
        for key in table.keys:
            if key.match_kind not in KINDS and key.match_kind != "selector":
                yield table, Unsupported(key.expr.pos, f"match kind {key.match_kind}")


def _tofino_keys(tables: Sequence[ir.MatchTable]) -> Iterator[Fault]:
    for table in tables:
        kinds = {key.match_kind for key in table.keys}
        for other in sorted(kinds & {"ternary", "range"} if "lpm" in kinds else ()):
            yield table, Unsupported(table.pos, f"table {table.name} with lpm and {other} keys, on Tofino")


def _direct_objects(tables: Sequence[ir.MatchTable]) -> Iterator[Fault]:
    """A direct counter or meter has one cell for each entry of one table."""
    owners: dict[ir.ExternInstance, ir.MatchTable] = {}
    for table in tables:
        for kind in ("counters", "meters"):
            instance = table.properties.get(kind)
            if isinstance(instance, ir.ExternInstance) and owners.setdefault(instance, table) is not table:
                message = f"{kind[:-1]} {instance.name} is attached to tables {owners[instance].name} and {table.name}"
                yield table, P4Error(table.pos, message)


def _selector_inputs(tables: Sequence[ir.MatchTable]) -> Iterator[Fault]:
    """Tables that share a selector share its hash, so its inputs are the same fields."""
    inputs: dict[ir.ExternInstance, list[tuple[str, Type]]] = {}
    for table in tables:
        selector = table.properties.get("implementation")
        if not isinstance(selector, ir.ExternInstance) or selector.extern not in _SELECTORS:
            continue
        fields = [(_field(key.expr), key.expr.type) for key in table.keys if key.match_kind == "selector"]
        if inputs.setdefault(selector, fields) != fields:
            message = f"action selector {selector.name} has other inputs in table {table.name} than in another table"
            yield table, P4Error(table.pos, message)


def _field(expr: ir.Expr) -> str:
    """The name of a header's or struct's field, whatever the control calls its parameters; empty for the rest."""
    owner = strip(expr.base.type) if isinstance(expr, ir.Member) else None
    return owner.fields[expr.index].name if isinstance(expr, ir.Member) and isinstance(owner, Structure) else ""


def _timeouts(tables: Sequence[ir.MatchTable]) -> Iterator[Fault]:
    for table in tables:
        value = table.properties.get("support_timeout")
        if value is not None and not (isinstance(value, ir.Const) and value.type == BOOL):
            yield table, P4Error(table.pos, f"support_timeout of table {table.name}: expected true or false")


_BMV2: Final[tuple[Rule, ...]] = (_match_kinds, _lpm_keys, _direct_objects, _selector_inputs)
_V1MODEL: Final = (*_BMV2, _timeouts)
_TOFINO: Final[tuple[Rule, ...]] = (_lpm_keys, _tofino_keys)
