# SPDX-License-Identifier: Apache-2.0
"""The machine code of one switch: at once without optimisation, and optimised when its packets make that worthwhile.

LLVM takes five to ten times as long for optimised code, and packets 1.5 to 4 times as long without. Both codes are of
one text and work on the same memory, so that one replaces the other between two batches.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from offramp_base.errors import OfframpError
from offramp_base.native.aside import AsideCompilation
from offramp_base.native.compiler import BASELINE, OPTIMISED, MachineCode
from offramp_p4.native.architecture import PacketMode, build, machine_code, translated
from offramp_p4.optimising import ASIDE_PASSES, BUSY_PASSES, OptimiseWhen

if TYPE_CHECKING:
    from offramp_base.native.cache import ObjectCache
    from offramp_p4 import ir
    from offramp_p4.native.state.objects import NativeState

_LOG: Final = logging.getLogger(__name__)
_PASSES_MADE: Final[weakref.WeakKeyDictionary[ir.Program, int]] = weakref.WeakKeyDictionary()
"""Passes that packets have made with baseline code, by program: a network has many switches of one."""
_PASSES: Final = {OptimiseWhen.AT_ONCE: 0, OptimiseWhen.WHEN_BUSY: BUSY_PASSES, OptimiseWhen.ASIDE: ASIDE_PASSES}


class ProgramCode:
    """The machine code of a program by the way of packets, for one switch.

    Args:
        objects: the switch's objects.
        cache: where machine code is kept; None: the user's cache.

    Attributes:
        baseline: ways whose code is to be replaced by optimised code.
    """

    def __init__(
        self, program: ir.Program, objects: NativeState, cache: ObjectCache | None, when: OptimiseWhen
    ) -> None:
        self._program, self._objects, self._cache, self._when = program, objects, cache, when
        self._codes: dict[PacketMode, MachineCode] = {}
        self.baseline: set[PacketMode] = set()
        self._counted = 0
        self._aside: dict[PacketMode, AsideCompilation] = {}
        self._bound: list[weakref.WeakMethod[Callable[[], None]]] = []

    def of(self, way: PacketMode) -> MachineCode:
        """The code for one way of packets, made when it is first asked for.

        Raises:
            OfframpError: LLVM cannot compile it.
        """
        if way not in self._codes:
            level = OPTIMISED if self._when is OptimiseWhen.AT_ONCE else BASELINE
            code = self._codes[way] = machine_code(self._program, self._objects, way, self._cache, level)
            if code.level != OPTIMISED:
                self.baseline.add(way)
        return self._codes[way]

    def bind(self, take_functions: Callable[[], None]) -> None:
        """Have a method take its functions from the code: now, and whenever code has been replaced."""
        take_functions()
        self._bound.append(weakref.WeakMethod(take_functions))

    def replace(self, passes: int) -> None:
        """Replace code for which optimised code is there; have that made if there were enough passes.

        No packet runs meanwhile.

        Args:
            passes: that the packets of this switch have made; those of other switches of the program count too.
        """
        _PASSES_MADE[self._program] = total = _PASSES_MADE.get(self._program, 0) + max(passes - self._counted, 0)
        self._counted = passes
        if total < _PASSES[self._when]:
            return
        replaced = False
        for way in sorted(self.baseline, key=lambda each: each.value):
            if self._when is OptimiseWhen.ASIDE and not self._made_aside(way):
                continue
            self.baseline.discard(way)
            try:
                better = self._optimised(way)
            except OfframpError as error:
                _LOG.warning("%s: packets go on with code that is not optimised: %s", self._program.file, error)
            else:
                self._codes[way], replaced = better, True
        if replaced:
            for method in self._bound:
                take_functions = method()
                if take_functions is not None:
                    take_functions()

    def optimise(self) -> None:
        """Have optimised code of all ways from now on, where LLVM can make it; no packet runs meanwhile."""
        self._when = OptimiseWhen.AT_ONCE
        self.replace(0)

    def _made_aside(self, way: PacketMode) -> bool:
        """Whether another process has ended that optimises the code of a way; it is started if it was not."""
        if way not in self._aside:
            module = build(self._program, self._objects, way)
            text = module.text or translated(self._program, self._objects, way).text
            self._aside[way] = AsideCompilation(text)
        return self._aside[way].done.is_set()

    def _optimised(self, way: PacketMode) -> MachineCode:
        if self._when is not OptimiseWhen.ASIDE:
            return machine_code(self._program, self._objects, way, self._cache, OPTIMISED)
        payload = self._aside.pop(way).object
        if payload is None:
            raise OfframpError("the process that should make it has failed")
        module = build(self._program, self._objects, way)
        return MachineCode.of_object(payload, OPTIMISED, module.key or module.text, self._cache)
