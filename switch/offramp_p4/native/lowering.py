# SPDX-License-Identifier: Apache-2.0
"""The P4 engine's door to :mod:`offramp_base.native.lowering`."""

from __future__ import annotations

from offramp_base.native.lowering import Library

__all__ = ["Library"]
