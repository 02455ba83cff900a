# SPDX-License-Identifier: Apache-2.0
"""A collective meant for an offload, run by gloo instead.

Gloo takes a tensor's memory from front to back whatever its strides, so it gets contiguous copies; a mean is a sum that
is divided afterwards.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist

from offramp.torch.forms import mean
from offramp.torch.staging import staged
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from offramp.torch.offload import CollectiveCall


def start(group: dist.ProcessGroup, call: CollectiveCall) -> Future[None]:
    """Run a call over a gloo group of the same ranks.

    Raises:
        OfframpError: gloo does not support the collective.
        RuntimeError: gloo fails, here or in the future.
    """
    call, bring_back = staged(call, torch.Tensor.contiguous)
    work, over = _started(group, call), Future[None]()

    def wait() -> None:
        try:
            if work is not None:
                work.wait()
            if call.request.form == "any":
                call.received_from(work._source_rank())
            if call.request.reduce == "AVG" and (call.request.kind != "reduce" or group.rank() == call.peer):
                for output in call.outputs:
                    output.copy_(mean(output, group.size()))
            bring_back()
        except RuntimeError as error:
            over.set_exception(error)
        else:
            over.set_result(None)

    if call.request.kind in ("send", "recv"):  # a send may wait for a receive that this rank has yet to start
        threading.Thread(target=wait, daemon=True).start()
    else:
        wait()
    return over


def _started(group: dist.ProcessGroup, call: CollectiveCall) -> Any:
    # One function: a case for each of PyTorch's collectives.
    kind, form, size = call.request.kind, call.request.form, group.size()
    outs, ins = list(call.outputs), list(call.inputs)
    op: Any = getattr(dist.ReduceOp, call.request.reduce.replace("AVG", "SUM"), None)
    match kind, form:
        case "all_reduce", _:
            return _summed(group, outs, op)
        case "broadcast", _:
            return _rooted(dist.BroadcastOptions(), call, lambda o: group.broadcast(outs, o))
        case "reduce", _:
            reduced = dist.ReduceOptions()
            reduced.reduceOp = op
            return _rooted(reduced, call, lambda o: group.reduce(outs, o))
        case "all_gather", "list" | "lists":  # for each rank a list of one output for each input
            by_input = [outs[at :: len(ins)] for at in range(len(ins))]
            return _each(lambda rows, each: group.allgather([rows], [each]), by_input, ins)
        case "all_gather", _:
            return _each(group._allgather_base, outs, ins)
        case "reduce_scatter", "list":
            return _reducing(op, lambda o: group.reduce_scatter(outs, [ins], o), dist.ReduceScatterOptions())
        case "reduce_scatter", _:
            begin = lambda o: _each(lambda a, b: group._reduce_scatter_base(a, b, o), outs, ins)  # noqa: E731
            return _reducing(op, begin, dist.ReduceScatterOptions())
        case "all_to_all", "single":
            return group.alltoall_base(
                outs[0], ins[0], list(call.output_splits), list(call.input_splits), dist.AllToAllOptions()
            )
        case "all_to_all", _:
            return group.alltoall(outs, ins, dist.AllToAllOptions())
        case "gather", _:
            root = [outs] if outs else []
            return _rooted(dist.GatherOptions(), call, lambda o: group.gather(root, ins, o))
        case "scatter", _:
            inputs = [ins] if len(ins) == size else []
            return _rooted(dist.ScatterOptions(), call, lambda o: group.scatter(outs, inputs, o))
        case "send", _:
            return group.send(ins, call.peer, _tag(call))
        case "recv", "any":
            return group.recv_anysource(outs, _tag(call))
        case "recv", _:
            return group.recv(outs, call.peer, _tag(call))
    raise OfframpError(f"{kind} ({form}): gloo has no such collective")


def _summed(group: dist.ProcessGroup, outs: list[torch.Tensor], op: Any) -> Any:
    if len(outs) == 1:  # gloo's coalesced sum of one tensor refuses some strides of single elements
        return _reducing(op, lambda o: group.allreduce(outs, o), dist.AllreduceOptions())
    return _reducing(op, lambda o: group.allreduce_coalesced(outs, o), dist.AllreduceCoalescedOptions())


def _tag(call: CollectiveCall) -> int:
    return int(call.input_splits[0]) if call.input_splits else 0


def _rooted(options: Any, call: CollectiveCall, begin: Any) -> Any:
    options.rootRank = call.peer
    return begin(options)


def _reducing(op: Any, begin: Any, options: Any) -> Any:
    options.reduceOp = op
    return begin(options)


def _each(begin: Any, outputs: Sequence[Any], inputs: Sequence[torch.Tensor]) -> None:
    for work in [begin(a, b) for a, b in zip(outputs, inputs, strict=True)]:
        work.wait()
