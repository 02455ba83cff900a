# SPDX-License-Identifier: Apache-2.0
"""Checks that requests of all kinds share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from offramp_base.p4rt.status import Code, RpcError
from offramp_p4_tools.gnmi.model import MODELS


def check_extensions(request: Any) -> None:
    """Check that a request has no extensions: an ignored one could be what keeps two clients apart.

    Raises:
        RpcError: UNIMPLEMENTED.
    """
    for extension in request.extension:
        kind = extension.WhichOneof("ext") or "unknown"
        raise RpcError(Code.UNIMPLEMENTED, f"extension {kind} is not supported; neither is another")


def models_of(asked: Iterable[Any]) -> set[str]:
    """The modules that a request is about; empty: all.

    Raises:
        RpcError: INVALID_ARGUMENT, one is not served.
    """
    names = {model.name for model in asked}
    for name in names - set(MODELS):
        raise RpcError(Code.INVALID_ARGUMENT, f"model {name[:80]!r} is not served; {' and '.join(MODELS)} are")
    return names
