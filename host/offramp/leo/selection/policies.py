# SPDX-License-Identifier: Apache-2.0
"""The rules by which a path is chosen (specification section 3)."""

from __future__ import annotations

from enum import StrEnum

from offramp_base.errors import OfframpError


class Policy(StrEnum):
    """A rule; the smallest score wins, and of equal scores the lower path.

    ``lookahead`` is the default: the wait by a model of every queue, and what the request will cost those after it.
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

    @classmethod
    def named(cls, name: str) -> Policy:
        """The rule of that name; underscores count as hyphens.

        Raises:
            OfframpError: there is none.
        """
        try:
            return cls(name.replace("_", "-"))
        except ValueError:
            raise OfframpError(f"policy {name}: expected one of {', '.join(cls)}") from None

    @property
    def code(self) -> int:
        """Its number in machine code."""
        return list(Policy).index(self)
