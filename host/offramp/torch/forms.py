# SPDX-License-Identifier: Apache-2.0
"""PyTorch's forms of collectives (one tensor, lists, several at once), mapped to the few that offloads support."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from offramp.torch.offload import CollectiveCall, Offload, Result


def start(offload: Offload, call: CollectiveCall, ranks: int) -> Future[None]:
    """Start a collective; when the future completes, it is over and its outputs are written.

    Raises:
        OfframpError: the offload fails or declines.
    """
    return _FORMS[call.request.kind](offload, call, ranks)


def mean(total: torch.Tensor, ranks: int) -> torch.Tensor:
    """A sum over the ranks divided by their number; integers are rounded towards zero, as NCCL rounds them."""
    if total.is_complex():  # as two real numbers: a complex quotient is rounded differently in every layout
        return torch.complex(total.real / ranks, total.imag / ranks)
    return total / ranks if total.is_floating_point() else torch.div(total, ranks, rounding_mode="trunc")


def _all_reduce(offload: Offload, call: CollectiveCall, ranks: int) -> Future[None]:
    """Sum the tensors of one call as one: coalesced tensors are sent together."""
    tensors = call.outputs
    together = torch.cat([t.reshape(-1) for t in tensors]) if len(tensors) > 1 else _flat(tensors[0])

    def write(total: torch.Tensor) -> None:
        if call.request.reduce == "AVG":
            total = mean(total, ranks)
        for tensor, part in zip(tensors, torch.split(total.reshape(-1), [t.numel() for t in tensors]), strict=True):
            if part.data_ptr() != tensor.data_ptr():
                tensor.copy_(part.view(tensor.shape))

    return _then(offload.all_reduce(together, call), write)


def _reduce_scatter(offload: Offload, call: CollectiveCall, ranks: int) -> Future[None]:
    count = len(call.outputs)
    inputs = [torch.cat([t.reshape(-1) for t in call.inputs])] if call.request.form == "list" else call.inputs
    # Several at once: column by column, so that each rank's rows of all of them lie beside each other.
    together = torch.cat([t.reshape(ranks, -1) for t in inputs], dim=1) if count > 1 else inputs[0].reshape(ranks, -1)

    def write(row: torch.Tensor) -> None:
        if call.request.reduce == "AVG":
            row = mean(row, ranks)
        for tensor, part in zip(
            call.outputs, torch.split(row.reshape(-1), [t.numel() for t in call.outputs]), strict=True
        ):
            tensor.copy_(part.view(tensor.shape))

    return _then(offload.reduce_scatter(together, call), write)


def _all_gather(offload: Offload, call: CollectiveCall, ranks: int) -> Future[None]:
    together = torch.cat([t.reshape(-1) for t in call.inputs]) if len(call.inputs) > 1 else _flat(call.inputs[0])

    def write(rows: torch.Tensor) -> None:
        parts = torch.split(rows.reshape(ranks, -1), [t.numel() for t in call.inputs], dim=1)
        if call.request.form in ("single", "coalesced"):
            for tensor, part in zip(call.outputs, parts, strict=True):
                tensor.copy_(part.reshape(tensor.shape))
        else:  # for each rank a list of one output for each input
            rows_of_lists = [part[rank] for rank in range(ranks) for part in parts]
            for tensor, row in zip(call.outputs, rows_of_lists, strict=True):
                tensor.copy_(row.view(tensor.shape))

    return _then(offload.all_gather(together, call), write)


def _all_to_all(offload: Offload, call: CollectiveCall, ranks: int) -> Future[None]:  # noqa: ARG001
    output, values = call.outputs[0], call.inputs[0]
    into = output if output.is_contiguous() else output.contiguous()

    def write(result: torch.Tensor) -> None:
        if result.data_ptr() != output.data_ptr():
            output.copy_(result.view(output.shape))

    return _then(offload.all_to_all(into, values.contiguous(), call), write)


def _send(offload: Offload, call: CollectiveCall, ranks: int) -> Future[None]:  # noqa: ARG001
    return _then(offload.send(call.inputs[0].contiguous(), call), lambda _: None)


def _recv(offload: Offload, call: CollectiveCall, ranks: int) -> Future[None]:  # noqa: ARG001
    output = call.outputs[0]
    into = output if output.is_contiguous() else output.contiguous()

    def write(result: torch.Tensor) -> None:
        if result.data_ptr() != output.data_ptr():
            output.copy_(result.view(output.shape))

    return _then(offload.recv(into, call), write)


_FORMS: dict[str, Callable[[Offload, CollectiveCall, int], Future[None]]] = {
    "all_reduce": _all_reduce,
    "reduce_scatter": _reduce_scatter,
    "all_gather": _all_gather,
    "all_to_all": _all_to_all,
    "send": _send,
    "recv": _recv,
}
KINDS = tuple(_FORMS)
"""Kinds of collectives that an offload may take."""


def _flat(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().reshape(-1)


def _then(result: Result, write: Callable[[torch.Tensor], None]) -> Future[None]:
    over: Future[None] = Future()
    if isinstance(result, torch.Tensor):
        write(result)
        over.set_result(None)
        return over

    def deliver(done: Future[torch.Tensor]) -> None:
        try:
            write(done.result())
        except BaseException as error:
            over.set_exception(error)
        else:
            over.set_result(None)

    result.add_done_callback(deliver)
    return over
