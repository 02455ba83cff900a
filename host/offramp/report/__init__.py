# SPDX-License-Identifier: Apache-2.0
"""Reports of runs and outcomes: one self-contained HTML page each, and the same data as JSON.

What draws the page of outcomes is imported when it is first used (PEP 562).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from offramp.report.model import Check, Note, Report, Run, Table
from offramp.report.write import write_report

if TYPE_CHECKING:
    from offramp.report.outcome import Alternative, Fabric, Link, Node, Outcome, Point, Verdict
    from offramp.report.outcomes import outcomes_page

_LATER: Final = {
    **dict.fromkeys(("Alternative", "Fabric", "Link", "Node", "Outcome", "Point", "Verdict"), "outcome"),
    "outcomes_page": "outcomes",
}
__all__ = [
    "Alternative",
    "Check",
    "Fabric",
    "Link",
    "Node",
    "Note",
    "Outcome",
    "Point",
    "Report",
    "Run",
    "Table",
    "Verdict",
    "outcomes_page",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(import_module(f"offramp.report.{_LATER[name]}"), name)
