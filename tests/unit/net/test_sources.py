# SPDX-License-Identifier: Apache-2.0
"""When sources of frames begin and end."""

from __future__ import annotations

from offramp_sim.net.sources import _until


def test_a_source_ends_before_its_last_moment() -> None:
    times = [0, 5, 9, 10, 11]
    assert [*_until(10, iter(times), b"f")] == [(0, b"f"), (5, b"f"), (9, b"f")]
    assert [at for at, _ in _until(None, iter(times), b"f")] == times
