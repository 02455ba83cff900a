# SPDX-License-Identifier: Apache-2.0
"""The P4 engine's door to :mod:`offramp_base.native.compiler`."""

from __future__ import annotations

from offramp_base.native.compiler import MachineCode

__all__ = ["MachineCode"]
