# SPDX-License-Identifier: Apache-2.0
"""Which path a request takes: the selector of the runtime, the exact program, and what both know of the paths."""

from offramp.leo.selection.policies import AnyPolicy, Policy, named
from offramp.leo.selection.selector import HOLD, Selector
from offramp.leo.selection.table import Dependency, Table

__all__ = ["HOLD", "AnyPolicy", "Dependency", "Policy", "Selector", "Table", "named"]
