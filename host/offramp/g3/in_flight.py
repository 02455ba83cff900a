# SPDX-License-Identifier: Apache-2.0
"""Messages that a training step leaves for the next one, where that takes rows of the step before (PipeGCN, Sylvie)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from offramp.graph.step_messages import StepMessage, step_messages
from offramp.workers.mailbox import Key
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from offramp.codecs.base import Coding
    from offramp.g3.schedule import Schedule
    from offramp.graph.halo_plan import HaloPlan
    from offramp.models.base import Model
    from offramp.workers.mailbox import Label, Mailbox
    from offramp_base.archive import Arrays


def blank(plan: HaloPlan, model: Model, schedule: Schedule, codec: Coding, dtype: torch.dtype) -> dict[str, Any]:
    """Arrays of the form of an engine's state: numbers of passes, rows under way, and what the codec keeps."""
    size = 0
    if schedule.stale or schedule.adaptive:
        size = sum(len(each.message.rows) * each.width for each in step_messages(plan, model.messages))
    sent = list(step_messages(plan, model.messages, sent=True))
    rows = torch.zeros(size, dtype=dtype).numpy()
    return {"steps": np.zeros(2, np.int64), "rows": rows, **codec.arrays(sent)}


def steps_of(arrays: Arrays) -> tuple[int, int]:
    """The last pass and the last training step.

    Raises:
        OfframpError: they are none.
    """
    last, trained = arrays["steps"].tolist()
    if not 1 <= trained <= last:
        raise OfframpError(f"a checkpoint of pass {last} and training step {trained}: expected the first not below")
    return last, trained


def collect(
    mailbox: Mailbox, plan: HaloPlan, model: Model, step: int, codec: Coding, dtype: torch.dtype
) -> torch.Tensor:
    """The rows of all messages of ``step``, one after the other, once they have arrived; they stay in the mailbox."""
    parts = [torch.zeros(0, dtype=dtype)]
    for each in step_messages(plan, model.messages):
        label = _label(each, step)
        while (payload := mailbox.take(label)) is None:
            mailbox.wait([label])
        rows = torch.zeros((len(each.message.rows), each.width), dtype=dtype)
        codec.decode(payload, each.message, label[1], rows)
        parts.append(rows.flatten())
    return torch.cat(parts)


def put_back(mailbox: Mailbox, plan: HaloPlan, model: Model, step: int, codec: Coding, numbers: torch.Tensor) -> None:
    """Put messages of ``step`` with the rows that :func:`collect` returned into a mailbox, encoded by ``codec``."""
    at = 0
    for each in step_messages(plan, model.messages):
        size = len(each.message.rows) * each.width
        label = _label(each, step)
        rows = numbers[at : at + size].view(-1, each.width)
        mailbox.put_back(label, codec.encode(rows, each.message, label[1]))
        at += size


def _label(each: StepMessage, step: int) -> Label:
    """The sender and key of a message that was sent in ``step``."""
    return each.message.peer, Key(step, each.layer, each.backward, each.message.bin)
