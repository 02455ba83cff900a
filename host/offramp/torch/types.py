# SPDX-License-Identifier: Apache-2.0
"""The backend's name, and PyTorch's C++ names for types and operations."""

from typing import Final

import torch

NAME: Final = "offramp"

DTYPES: Final = {
    "Float": torch.float32, "Double": torch.float64, "Half": torch.float16, "BFloat16": torch.bfloat16,
    "Byte": torch.uint8, "Char": torch.int8, "Short": torch.int16, "Int": torch.int32, "Long": torch.int64,
    "Bool": torch.bool, "ComplexFloat": torch.complex64, "ComplexDouble": torch.complex128,
}  # fmt: skip
"""PyTorch types by their names in C++."""

OPERATIONS: Final = {
    0: "broadcast", 1: "all_reduce", 2: "all_reduce", 3: "reduce", 4: "all_gather", 5: "all_gather",
    6: "all_gather", 7: "gather", 8: "scatter", 9: "reduce_scatter", 10: "all_to_all", 11: "all_to_all", 12: "send",
    13: "recv", 14: "recv", 15: "barrier", 16: "reduce_scatter", 17: "all_gather", 18: "all_reduce",
    19: "reduce_scatter",
}  # fmt: skip
"""Kinds by c10d's numbers of operations (``c10d::OpType``)."""
