# SPDX-License-Identifier: Apache-2.0
"""Messages of rows in tensors on any device: a GPU quantises its rows itself, so that it sends codes, not floats.

The bytes are the same on every device.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np
import torch

from offramp.sylvie.quantiser import cannot_be_quantised
from offramp.sylvie.wire import PLAIN
from offramp.workers.accelerator import to_host

if TYPE_CHECKING:
    from offramp.sylvie.message import Label, MessageLayout
    from offramp.sylvie.quantiser import Rows


def encode(layout: MessageLayout, x: torch.Tensor, rows: Rows, label: Label, seed: int) -> torch.Tensor:
    """The message ``(size,)`` that carries ``x[rows]``, as uint8 on the device of ``x``.

    Raises:
        OfframpError: as :meth:`~offramp.sylvie.message.MessageLayout.encode`.
    """
    if not _by_triton(x):
        host = np.ascontiguousarray(to_host(x).numpy())
        return torch.from_numpy(layout.encode(host, rows, label, seed))
    from offramp.sylvie import triton_kernel

    x, chosen = x.contiguous(), torch.from_numpy(layout.chosen("x", x.shape, rows)).to(x.device)
    message = torch.empty(layout.size, dtype=torch.uint8, device=x.device)
    message[: layout.header] = torch.frombuffer(bytearray(layout.head(label)), dtype=torch.uint8).to(x.device)
    for group in layout.groups:
        places = chosen if len(group.places) == len(chosen) else chosen[torch.from_numpy(group.places).to(x.device)]
        if group.bits == PLAIN:
            message[group.codes] = x[places].view(torch.uint8).view(-1)
            continue
        quantised = triton_kernel.quantise(x, places, group.bits, seed, compact=layout.compact)
        if bool(quantised.bad.any()):
            raise cannot_be_quantised(int(places[quantised.bad != 0][0]))
        message[group.codes] = quantised.packed.view(-1)
        bounds = torch.stack([quantised.least, quantised.greatest], 1)
        halves = bounds.view(torch.int16)[:, 1::2] if layout.compact else bounds
        message[group.bounds] = halves.contiguous().view(torch.uint8).view(-1)
    return message


def decode(
    layout: MessageLayout, payload: torch.Tensor, label: Label, out: torch.Tensor, rows: Rows, *, add: bool
) -> None:
    """Write the rows that a message in main memory carries to ``out[rows]``, or add them to it.

    Raises:
        OfframpError: as :meth:`~offramp.sylvie.message.MessageLayout.decode`; ``out`` is unchanged.
    """
    message = payload.numpy()
    if not out.is_cuda:
        layout.decode(message, label, out.numpy(), rows, add=add)
        return
    chosen = torch.from_numpy(layout.chosen("out", out.shape, rows)).to(out.device)
    if not _by_triton(out):
        host = np.empty((len(rows), out.shape[1]), np.float32)
        layout.decode(message, label, host, None)
        values = torch.from_numpy(host).to(out.device)
        out[chosen] = out[chosen] + values if add else values
        return
    from offramp.sylvie import triton_kernel

    bounds = layout.bounds(message, label)
    there = payload.to(out.device)
    for group, bound in zip(layout.groups, bounds, strict=True):
        places = chosen[torch.from_numpy(group.places).to(out.device)]
        codes = there[group.codes].view(len(group.places), -1)
        if group.bits == PLAIN:
            values = codes.clone().view(torch.float32)
            out[places] = out[places] + values if add else values
            continue
        ends = torch.from_numpy(np.ascontiguousarray(bound.T)).to(out.device)
        triton_kernel.dequantise(codes, (ends[0], ends[1]), group.bits, out, places, add=add)


def _by_triton(x: torch.Tensor) -> bool:
    return x.is_cuda and x.dtype == torch.float32 and find_spec("triton") is not None
