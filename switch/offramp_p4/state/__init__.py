# SPDX-License-Identifier: Apache-2.0
"""The state of a P4 switch that the control plane sees and changes: plain data, without any wire format.

The P4Runtime server, the STF runner and tests all work on these objects, and the compiled program reads them
while it runs. Match values, masks and action arguments are unsigned bit patterns, also for ``int<N>``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp_p4.state.arrays import CounterState as CounterState
    from offramp_p4.state.arrays import MeterCell as MeterCell
    from offramp_p4.state.arrays import MeterState as MeterState
    from offramp_p4.state.arrays import RegisterState as RegisterState
    from offramp_p4.state.arrays import ValueSetState as ValueSetState
    from offramp_p4.state.batch import EntryBatch as EntryBatch
    from offramp_p4.state.batch import column as column
    from offramp_p4.state.match import ANY as ANY
    from offramp_p4.state.match import Any as Any
    from offramp_p4.state.match import Exact as Exact
    from offramp_p4.state.match import Lpm as Lpm
    from offramp_p4.state.match import Match as Match
    from offramp_p4.state.match import Optional as Optional
    from offramp_p4.state.match import Range as Range
    from offramp_p4.state.match import StateError as StateError
    from offramp_p4.state.match import Ternary as Ternary
    from offramp_p4.state.profile import ActionData as ActionData
    from offramp_p4.state.profile import ActionProfileState as ActionProfileState
    from offramp_p4.state.profile import GroupAction as GroupAction
    from offramp_p4.state.profile import MemberAction as MemberAction
    from offramp_p4.state.replication import CloneSession as CloneSession
    from offramp_p4.state.replication import Replica as Replica
    from offramp_p4.state.replication import ReplicationEngine as ReplicationEngine
    from offramp_p4.state.table import TableEntry as TableEntry
    from offramp_p4.state.table import TableState as TableState
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "ANY": "offramp_p4.state.match",
            "ActionData": "offramp_p4.state.profile",
            "ActionProfileState": "offramp_p4.state.profile",
            "Any": "offramp_p4.state.match",
            "CloneSession": "offramp_p4.state.replication",
            "CounterState": "offramp_p4.state.arrays",
            "EntryBatch": "offramp_p4.state.batch",
            "Exact": "offramp_p4.state.match",
            "GroupAction": "offramp_p4.state.profile",
            "Lpm": "offramp_p4.state.match",
            "Match": "offramp_p4.state.match",
            "MemberAction": "offramp_p4.state.profile",
            "MeterCell": "offramp_p4.state.arrays",
            "MeterState": "offramp_p4.state.arrays",
            "Optional": "offramp_p4.state.match",
            "Range": "offramp_p4.state.match",
            "RegisterState": "offramp_p4.state.arrays",
            "Replica": "offramp_p4.state.replication",
            "ReplicationEngine": "offramp_p4.state.replication",
            "StateError": "offramp_p4.state.match",
            "TableEntry": "offramp_p4.state.table",
            "TableState": "offramp_p4.state.table",
            "Ternary": "offramp_p4.state.match",
            "ValueSetState": "offramp_p4.state.arrays",
            "column": "offramp_p4.state.batch",
        },
    )
