# SPDX-License-Identifier: Apache-2.0
"""Tables from a kind of node, or a name, to the function that handles it, filled by decorators."""

from __future__ import annotations

from collections.abc import Callable, Hashable, MutableMapping
from typing import Any, TypeVar

_Key = TypeVar("_Key", bound=Hashable)
_Rule = TypeVar("_Rule", bound=Callable[..., Any])


def handles(table: MutableMapping[_Key, Any], *keys: _Key) -> Callable[[_Rule], _Rule]:
    """Enter the decorated function into ``table`` for each of ``keys``, and leave it as it is."""

    def enter(rule: _Rule) -> _Rule:
        table.update(dict.fromkeys(keys, rule))
        return rule

    return enter
