# SPDX-License-Identifier: Apache-2.0
"""The backend's name, and PyTorch's C++ names for types and operations."""

from typing import Final

import torch

NAME: Final = "offramp"

DTYPES: Final = {
    "Float": torch.float32, "Double": torch.float64, "Half": torch.float16, "BFloat16": torch.bfloat16,
    "Byte": torch.uint8, "Char": torch.int8, "Short": torch.int16, "Int": torch.int32, "Long": torch.int64,
    "UInt16": torch.uint16, "UInt32": torch.uint32, "UInt64": torch.uint64, "Bool": torch.bool,
    "ComplexHalf": torch.complex32, "ComplexFloat": torch.complex64, "ComplexDouble": torch.complex128,
    "Float8_e5m2": torch.float8_e5m2, "Float8_e4m3fn": torch.float8_e4m3fn, "Float8_e5m2fnuz": torch.float8_e5m2fnuz,
    "Float8_e4m3fnuz": torch.float8_e4m3fnuz, "Float8_e8m0fnu": torch.float8_e8m0fnu,
    "Float4_e2m1fn_x2": torch.float4_e2m1fn_x2,
}  # fmt: skip
"""PyTorch types by their names in C++; tensors of others (quantised, of a few bits) are left to gloo."""

NUMBERS: Final = (
    *(torch.float32, torch.float64, torch.float16, torch.bfloat16),
    *(torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8),
)
"""Types that PyTorch adds on CPUs and offloads may sum."""


def dtype_name(name: str) -> str:
    """A type's name for users, from its name in C++: ``float32``; empty without a tensor."""
    return str(DTYPES[name]).removeprefix("torch.") if name in DTYPES else name.lower()


OPERATIONS: Final = {
    0: "broadcast", 1: "all_reduce", 2: "all_reduce", 3: "reduce", 4: "all_gather", 5: "all_gather",
    6: "all_gather", 7: "gather", 8: "scatter", 9: "reduce_scatter", 10: "all_to_all", 11: "all_to_all", 12: "send",
    13: "recv", 14: "recv", 15: "barrier", 16: "reduce_scatter", 17: "all_gather", 18: "all_reduce",
    19: "reduce_scatter",
}  # fmt: skip
"""Kinds by c10d's numbers of operations (``c10d::OpType``)."""
