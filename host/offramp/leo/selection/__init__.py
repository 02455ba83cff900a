# SPDX-License-Identifier: Apache-2.0
"""The choice of a request's path: the runtime's selector, the exact program, and the table that both use."""

from offramp.leo.selection.layout import SelectorState
from offramp.leo.selection.policies import AnyPolicy, Policy, named
from offramp.leo.selection.selector import HOLD, Selector
from offramp.leo.selection.table import RequestDependency, Table

__all__ = ["HOLD", "AnyPolicy", "Policy", "RequestDependency", "Selector", "SelectorState", "Table", "named"]
