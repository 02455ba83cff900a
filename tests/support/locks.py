# SPDX-License-Identifier: Apache-2.0
"""Whether something waits for a lock."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


def waits_for(lock: Any, run: Callable[[], object]) -> bool:
    """Whether ``run`` ends only after ``lock``, which is held for a moment, is given back."""
    began, ended = threading.Event(), threading.Event()

    def body() -> None:
        began.set()
        run()
        ended.set()

    thread = threading.Thread(target=body)
    with lock:
        thread.start()
        assert began.wait(10)
        waited = not ended.wait(0.1)
    thread.join(10)
    assert ended.is_set()
    return waited
