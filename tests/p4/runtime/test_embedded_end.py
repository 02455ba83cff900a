# SPDX-License-Identifier: Apache-2.0
"""An embedded switch that ends says so before its ports close, so that whoever relies on them can tell why."""

from __future__ import annotations

import os
import select
import signal
from contextlib import closing

import pytest

from offramp_base.ending import reliance
from offramp_base.transport import open_io
from offramp_p4.embedded import EmbeddedSwitch

pytestmark = pytest.mark.full


@pytest.mark.parametrize(
    ("number", "afterwards_s"),
    [
        (signal.SIGTERM, 0.0),
        (signal.SIGINT, 0.0),
        # Nothing of the switch runs any more: in which order its files close is up to the kernel.
        (signal.SIGKILL, 10.0),
    ],
)
def test_the_end_is_heard_before_the_ports_close(number: signal.Signals, afterwards_s: float) -> None:
    with EmbeddedSwitch(None, 1) as switch, closing(open_io(switch.port_specs[0])) as io:
        assert not select.select(reliance.descriptors(), [], [], 0)[0]
        os.kill(switch.pid, number)
        descriptor = io._socket.fileno()
        assert select.select([descriptor], [], [], 30)[0], "the port is still open"
        heard = select.select(reliance.descriptors(), [], [], afterwards_s)[0]
        assert heard
        assert reliance.death(heard[0]).startswith("the switch ")
