# SPDX-License-Identifier: Apache-2.0
"""The microbatch on which a pipeline of ``torch.distributed.pipelining`` works, from the methods that run a chunk."""

from __future__ import annotations

import sys
from functools import wraps
from typing import Any, Final

from offramp.torch.priorities import chunk

_METHODS: Final = ("forward_one_chunk", "backward_one_chunk", "backward_weight_one_chunk")
_MODULE: Final = "torch.distributed.pipelining.stage"


def watch_pipelines() -> None:
    """Make stages report their microbatch from now on, if the program uses pipelines; a second call does nothing."""
    module = sys.modules.get(_MODULE)
    stage: Any = getattr(module, "_PipelineStageBase", None)
    for name in _METHODS:
        method = getattr(stage, name, None)
        if method is not None and not hasattr(method, "__wrapped__"):
            setattr(stage, name, _telling(method))


def _telling(method: Any) -> Any:
    @wraps(method)
    def telling(self: Any, number: int, *arguments: Any, **named: Any) -> Any:
        with chunk(int(number), int(self.stage_index)):
            return method(self, number, *arguments, **named)

    return telling
