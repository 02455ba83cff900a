# SPDX-License-Identifier: Apache-2.0
"""``echo``: the answer is the request."""

from __future__ import annotations

from typing import Final

from offramp.leo.functions.registry import FUNCTIONS, Function

ECHO: Final = "echo"
FUNCTIONS.register(ECHO)(Function(bytes))
