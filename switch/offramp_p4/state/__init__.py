# SPDX-License-Identifier: Apache-2.0
"""The state of a P4 switch that the control plane sees and changes: plain data, without any wire format.

The P4Runtime server, the STF runner and tests all work on these objects, and the compiled program reads them
while it runs. Match values, masks and action arguments are unsigned bit patterns, also for ``int<N>``.
"""

from __future__ import annotations

from offramp_p4.state.arrays import OVERFLOW, CounterState, MeterCell, MeterState, RegisterState, ValueSetState
from offramp_p4.state.match import ANY, Any, Exact, Lpm, Match, Optional, Range, StateError, Ternary
from offramp_p4.state.profile import ActionData, ActionProfileState, GroupAction, MemberAction
from offramp_p4.state.replication import CloneSession, Replica, ReplicationEngine
from offramp_p4.state.table import TableEntry, TableState

__all__ = [
    "ANY",
    "OVERFLOW",
    "ActionData",
    "ActionProfileState",
    "Any",
    "CloneSession",
    "CounterState",
    "Exact",
    "GroupAction",
    "Lpm",
    "Match",
    "MemberAction",
    "MeterCell",
    "MeterState",
    "Optional",
    "Range",
    "RegisterState",
    "Replica",
    "ReplicationEngine",
    "StateError",
    "TableEntry",
    "TableState",
    "Ternary",
    "ValueSetState",
]
