# SPDX-License-Identifier: Apache-2.0
"""The P4 engine's door to :mod:`offramp_base.native.llvm`."""

from __future__ import annotations

from offramp_base.native.llvm import F64, I1, I8, I16, I32, I64, PTR, AliasTags, Value, const, i64, ll

__all__ = ["F64", "I1", "I8", "I16", "I32", "I64", "PTR", "AliasTags", "Value", "const", "i64", "ll"]
