# SPDX-License-Identifier: Apache-2.0
"""Words of the fast engine's context: numbers, and addresses of arrays."""

from __future__ import annotations

from typing import Final

# Numbers.
TASKS: Final = 0
EDGES: Final = 1
MACHINES: Final = 2
ITERATIONS: Final = 3
POLICY: Final = 4
LEFT_TO_DO: Final = 5
CALENDAR_USED: Final = 6
DIRTY_USED: Final = 7
LEAVES: Final = 8
FLOWS: Final = 9
NOTES: Final = 10

# Arrays: the problem.
SECONDS: Final = 16
AT: Final = 17
INGRESS: Final = 18
EGRESS: Final = 19
SOURCE: Final = 20
TARGET: Final = 21
LAG: Final = 22
REMOTE: Final = 23
OUT_START: Final = 24
OUT_EDGE: Final = 25
IN_START: Final = 26
IN_EDGE: Final = 27
BYTES: Final = 28
ORDER: Final = 29
WEIGHT: Final = 30
RANK: Final = 31

# Arrays: progress.
NOW: Final = 32
MISSING: Final = 33
STARTED: Final = 34
DONE: Final = 35
RELEASED: Final = 36
SENT: Final = 37
CALENDAR_TIME: Final = 38
CALENDAR_TASK: Final = 39
TASK_START: Final = 40
TASK_END: Final = 41
FLOW_START: Final = 42
FLOW_END: Final = 43

# Arrays: flows of equal shares, by pair of machines.
HEAD: Final = 44
NEXT: Final = 45
MARK: Final = 46
FIRST: Final = 47
SERVED: Final = 48
SINCE: Final = 49
RATE: Final = 50
TREE: Final = 51
ENTERING: Final = 52
LEAVING: Final = 53
IS_DIRTY: Final = 54
DIRTY: Final = 55
PEAK_IN: Final = 56
PEAK_OUT: Final = 57

# Arrays: flows of the other policies, one by one.
LIST: Final = 58
LEFT: Final = 59
SPEED: Final = 60
KEY: Final = 61
ARRIVED: Final = 62
FREE_IN: Final = 63
FREE_OUT: Final = 64
COUNT_IN: Final = 65
COUNT_OUT: Final = 66
FINISHED: Final = 67

# Arrays: the critical path.
ENDED: Final = 68
ARRIVALS: Final = 69

CONTEXT_WORDS: Final = 72

NEVER: Final = 1e300
CLOSE: Final = 1.000000000001
"""Events that are this close to each other are one moment."""

DONE_ALL: Final = 0
STALLED: Final = 1
