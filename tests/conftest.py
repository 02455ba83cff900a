# SPDX-License-Identifier: Apache-2.0
"""What all tests share."""

from __future__ import annotations

import signal

from hypothesis import settings

# No example has a deadline: a busy machine is no fault. Every run sees the same examples.
settings.register_profile("offramp", deadline=None, derandomize=True)
settings.load_profile("offramp")

# Whoever starts the tests behind nohup has them ignore SIGHUP, and so would every command that they start.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
