# SPDX-License-Identifier: Apache-2.0
"""Reports of runs and outcomes: one self-contained HTML page each, and the same data as JSON.

>>> from offramp.report import ReportCheck, ReportTable
>>> ReportCheck("the switch is faster", holds=True).holds
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp.report.model import Report as Report
    from offramp.report.model import ReportCheck as ReportCheck
    from offramp.report.model import ReportTable as ReportTable
    from offramp.report.model import TrainingRun as TrainingRun
    from offramp.report.outcome import Alternative as Alternative
    from offramp.report.outcome import DrawnFabric as DrawnFabric
    from offramp.report.outcome import FabricLink as FabricLink
    from offramp.report.outcome import FabricMachine as FabricMachine
    from offramp.report.outcome import Outcome as Outcome
    from offramp.report.outcome import Verdict as Verdict
    from offramp.report.outcomes import outcomes_page as outcomes_page
    from offramp.report.write import write_report as write_report
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "Alternative": "offramp.report.outcome",
            "DrawnFabric": "offramp.report.outcome",
            "FabricLink": "offramp.report.outcome",
            "FabricMachine": "offramp.report.outcome",
            "Outcome": "offramp.report.outcome",
            "Report": "offramp.report.model",
            "ReportCheck": "offramp.report.model",
            "ReportTable": "offramp.report.model",
            "TrainingRun": "offramp.report.model",
            "Verdict": "offramp.report.outcome",
            "outcomes_page": "offramp.report.outcomes",
            "write_report": "offramp.report.write",
        },
    )
