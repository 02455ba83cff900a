# SPDX-License-Identifier: Apache-2.0
"""Calls of registers and of the stateful ALUs that work on them, as both engines read them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

from offramp_p4 import ir
from offramp_p4.engine.core import argument, instance
from offramp_p4.source import Unsupported
from offramp_p4.state import ActionProfileState
from offramp_p4.tna.register_of import register_of

if TYPE_CHECKING:
    from offramp_p4.tna.objects import TofinoRegister

G = TypeVar("G")
V = TypeVar("V")
ACTIONS: Final = (
    *(f"{kind}RegisterAction{results}" for kind in ("", "Direct") for results in ("", 2, 3, 4)),
    "SelectorAction",
)
"""The externs whose ``apply`` works on a word of a register."""


@dataclass(frozen=True, slots=True)
class AluCall:
    """A call of a register action.

    Attributes:
        register: the register that the action works on.
        apply: the action's function, of the word and the results.
        into: where results beyond the first go.
    """

    action: ir.ExternInstance
    register: ir.ExternInstance
    apply: ir.UserFunction
    into: list[ir.Expr]


class RegisterCalls(ABC, Generic[G, V]):
    """Builders of these calls, which write with a generator ``G`` and return a result ``V``."""

    def builders(self) -> dict[tuple[str, str], Callable[[G, ir.ExternCall], V]]:
        """The builders by extern and method."""
        table: dict[tuple[str, str], Callable[[G, ir.ExternCall], V]] = {
            ("Register", "write"): self.write,
            ("DirectRegister", "write"): self.write,
            ("MathUnit", "execute"): self.math,
        }
        for extern in ("Register", "DirectRegister", "RegisterParam"):
            table[extern, "read"] = self.read
        for extern in ACTIONS:
            table[extern, "execute"] = self.execute
            table[extern, "execute_log"] = self.execute_log
            table[extern, "predicate"] = self.predicate
        return table

    def execute(self, g: G, e: ir.ExternCall) -> V:
        """Run a register action on a word.

        Raises:
            Unsupported: it is a selector action's without an index, which the language allows to leave to the chip.
        """
        if instance(e).extern.startswith("Direct"):
            return self.run(g, _call(e, e.args), e, None)
        if not (e.args and e.args[0].expr is not None):
            raise Unsupported(e.pos, f"{e.extern}.execute without an index")
        return self.run(g, _call(e, e.args[1:]), e, argument(e, 0))

    def execute_log(self, g: G, e: ir.ExternCall) -> V:
        """Run a register action on the words of its register in turn."""
        call = _call(e, e.args)
        return self.run(g, call, e, self.next_index(g, call))

    @abstractmethod
    def run(self, g: G, call: AluCall, e: ir.ExternCall, index: ir.Expr | V | None) -> V:
        """Run a register action on a word; None: on that of the entry. Further results go where the call says."""

    @abstractmethod
    def next_index(self, g: G, call: AluCall) -> V:
        """The index of the word that follows the last one of a register action."""

    @abstractmethod
    def read(self, g: G, e: ir.ExternCall) -> V:
        """Read a word, as a register action that changes nothing would."""

    @abstractmethod
    def write(self, g: G, e: ir.ExternCall) -> V:
        """Store a word."""

    @abstractmethod
    def predicate(self, g: G, e: ir.ExternCall) -> V:
        """The outcome number, first condition + 2 * second (+ 4 * third …), as a one-hot code."""

    @abstractmethod
    def math(self, g: G, e: ir.ExternCall) -> V:
        """The value that a math unit approximates."""


def _call(e: ir.ExternCall, more: list[ir.Arg]) -> AluCall:
    action = instance(e)
    into = [a.expr for a in more if a.expr is not None]
    return AluCall(action, register_of(action), action.overrides["apply"], into)


def state_of(states: Mapping[ir.ExternInstance, Any], register: ir.ExternInstance) -> TofinoRegister:
    """The words of a register, or those of a selector's memory."""
    state = states[register]
    if isinstance(state, ActionProfileState):
        assert state.status is not None
        state = state.status.bits
    return cast("TofinoRegister", state)
