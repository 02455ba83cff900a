# SPDX-License-Identifier: Apache-2.0
"""The totals of a run, in the order in which every table shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from offramp.report.units import percent, si

if TYPE_CHECKING:
    from collections.abc import Callable

TOTALS: dict[str, Callable[[Any], Any]] = {
    "test accuracy": lambda r: percent(r["test_accuracy"]),
    "loss": lambda r: f"{r['loss']:.6f}",
    "payload up": lambda r: si(r["bytes_up"], "B"),
    "payload down": lambda r: si(r["bytes_down"], "B"),
    "wire up": lambda r: si(r["wire_bytes_up"], "B"),
    "wire down": lambda r: si(r["wire_bytes_down"], "B"),
    "packets": lambda r: r["packets"],
    "passes": lambda r: r["passes"],
    "recirculations": lambda r: r["recirculations"],
    "aggregators peak": lambda r: r["aggregators_peak"],
    "overflows": lambda r: r["overflows"],
    "seconds": lambda r: f"{r['seconds']:.3f}",
}
"""Column name, and how to read it from a run's result."""
