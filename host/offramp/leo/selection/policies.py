# SPDX-License-Identifier: Apache-2.0
"""The rules that choose a path (specification section 3)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any, ClassVar, Final

from offramp_base.errors import OfframpError
from offramp_base.native.library import compiled_all
from offramp_base.registry import Registry


class Policy(StrEnum):
    """A rule; the smallest score wins, and of equal scores the lower path.

    ``lookahead`` is the default: the wait by a model of every queue, and the cost of the request to later ones.
    ``outstanding``, ``min``, ``reset`` and ``paper-literal`` are equation (6.5) with four readings of the number of
    requests that a toll delays; ``greedy-intra`` and ``greedy-e2e`` are the thesis's rivals, ``ipipe`` its emulation of
    iPipe's migration (section 6.4.1); ``uniform`` and ``weighted`` draw, the second in proportion to the paths' rates.
    """

    LOOKAHEAD = "lookahead"
    OUTSTANDING = "outstanding"
    MIN = "min"
    RESET = "reset"
    PAPER_LITERAL = "paper-literal"
    GREEDY_INTRA = "greedy-intra"
    GREEDY_E2E = "greedy-e2e"
    IPIPE = "ipipe"
    UNIFORM = "uniform"
    WEIGHTED = "weighted"

    @property
    def code(self) -> int:
        """Number of the rule in machine code."""
        return list(Policy).index(self)

    @property
    def address(self) -> int:
        """Address of the rule's code; 0, since the selector contains it."""
        return 0


POLICIES: Final[Registry[Any]] = Registry("policy", "offramp.leo_rules")
"""Rules by name. A package brings a function decorated with :func:`offramp_base.native.subset.native` that maps a
:class:`offramp.leo.selection.layout.SelectorState` to the path for a request of ``asked_type`` among ``asked_paths``.
If the path is not among these, the allowed one with the smallest T is taken."""
for _policy in Policy:
    POLICIES.register(_policy.value)(_policy)
OUTSIDE: Final = len(Policy)


@dataclass(frozen=True)
class OutsidePolicy:
    """A rule from another package.

    Attributes:
        value: its name.
        choose: its compilable function.
    """

    value: str
    choose: Callable[..., int]
    code: ClassVar[int] = OUTSIDE

    @property
    def address(self) -> int:
        """Address of its machine code; a selector with this rule belongs to this process."""
        return _address(self.choose)


AnyPolicy = Policy | OutsidePolicy


def named(name: str) -> AnyPolicy:
    """The rule of that name; underscores count as hyphens.

    Raises:
        OfframpError: there is none, or the package's object is not a compilable function.
    """
    policy = POLICIES.get(name.replace("_", "-"))
    if isinstance(policy, Policy):
        return policy
    if getattr(policy, "__dict__", {}).get("native") != "native":
        raise OfframpError(f"policy {name}: expected a function decorated with offramp_base.native.subset.native")
    return OutsidePolicy(name, policy)


@cache
def _address(choose: Callable[..., int]) -> int:
    function = compiled_all((choose,))[choose.__name__]
    _KEPT.append(function)
    return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]


_KEPT: Final[list[Any]] = []
