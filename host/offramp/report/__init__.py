# SPDX-License-Identifier: Apache-2.0
"""Reports of runs and outcomes: one self-contained HTML page each, and the same data as JSON.

>>> from offramp.report import Check, Table
>>> Check("the switch is faster", holds=True).holds
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp.report.model import Check as Check
    from offramp.report.model import Report as Report
    from offramp.report.model import Run as Run
    from offramp.report.model import Table as Table
    from offramp.report.outcome import Alternative as Alternative
    from offramp.report.outcome import Fabric as Fabric
    from offramp.report.outcome import Link as Link
    from offramp.report.outcome import Node as Node
    from offramp.report.outcome import Outcome as Outcome
    from offramp.report.outcome import Verdict as Verdict
    from offramp.report.outcomes import outcomes_page as outcomes_page
    from offramp.report.write import write_report as write_report
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "Alternative": "offramp.report.outcome",
            "Check": "offramp.report.model",
            "Fabric": "offramp.report.outcome",
            "Link": "offramp.report.outcome",
            "Node": "offramp.report.outcome",
            "Outcome": "offramp.report.outcome",
            "Report": "offramp.report.model",
            "Run": "offramp.report.model",
            "Table": "offramp.report.model",
            "Verdict": "offramp.report.outcome",
            "outcomes_page": "offramp.report.outcomes",
            "write_report": "offramp.report.write",
        },
    )
