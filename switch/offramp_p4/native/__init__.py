# SPDX-License-Identifier: Apache-2.0
"""The native engine: P4 programs compiled through LLVM, whole batches of packets in one call of machine code."""

from __future__ import annotations

from offramp_p4.native.switch import NativeSwitch

__all__ = ["NativeSwitch"]
