# SPDX-License-Identifier: Apache-2.0
"""Requirements of an exchange on tensors."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from offramp_base.errors import OfframpError


def row_bytes(tensor: torch.Tensor) -> int:
    """Bytes of one entry of the first axis."""
    return tensor.shape[1:].numel() * tensor.element_size()


def check_splits(tensor: torch.Tensor, splits: Sequence[int] | None, size: int, what: str) -> list[int]:
    """The rows of each rank, as ``all_to_all_single`` takes them.

    Raises:
        OfframpError: they do not fit the tensor.
    """
    if tensor.ndim == 0:
        raise OfframpError(f"{what}: has no axis to split")
    if tensor.layout is not torch.strided:
        raise OfframpError(f"{what}: {tensor.layout}, expected a dense tensor")
    if splits is None or not len(splits):
        if tensor.shape[0] % size:
            raise OfframpError(f"{what}: {tensor.shape[0]} rows do not divide among {size} ranks")
        return [tensor.shape[0] // size] * size
    counts = [int(count) for count in splits]
    if len(counts) != size:
        raise OfframpError(f"{what}: {len(counts)} splits for {size} ranks")
    if min(counts) < 0:
        raise OfframpError(f"{what}: splits {counts}: expected none below 0")
    if sum(counts) != tensor.shape[0]:
        raise OfframpError(f"{what}: splits sum to {sum(counts)}, it has {tensor.shape[0]} rows")
    return counts


def check_pair(output: torch.Tensor, given: torch.Tensor) -> None:
    """Check that an exchange can fill ``output`` from tensors like ``given``.

    Raises:
        OfframpError: they differ in type, device or the size of a row.
    """
    if output.dtype is not given.dtype:
        raise OfframpError(f"output is {output.dtype}, input {given.dtype}: expected the same")
    if output.device != given.device:
        raise OfframpError(f"output is on {output.device}, input on {given.device}: expected the same")
    if len(output) and len(given) and row_bytes(output) != row_bytes(given):
        raise OfframpError(f"a row is {row_bytes(output)} bytes of output, {row_bytes(given)} of input")
