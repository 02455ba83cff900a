# SPDX-License-Identifier: Apache-2.0
"""The P4 software switch: front end, typed IR, execution engines, v1model and TNA targets, STF, P4Runtime server."""

from __future__ import annotations

from offramp_p4.engines import ENGINES, AnySwitch, PlainSwitch, make_switch

__all__ = ["ENGINES", "AnySwitch", "PlainSwitch", "make_switch"]
