# SPDX-License-Identifier: Apache-2.0
"""Keys of LEO's store by way of a simulated FPGA card (RTL), while others write them by redis' protocol."""

from __future__ import annotations

import pytest

from offramp.leo.applications.remote import open_responder
from offramp.leo.applications.store import application
from offramp_sim.rtl.build import missing
from store_lab import a_store
from store_paths import Reader, check_against_writers


@pytest.mark.rtl
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_card_is_never_behind_what_somebody_knows() -> None:
    if lacking := missing("icarus"):
        pytest.skip(f"needs {lacking}")
    with a_store(listen="127.0.0.1:0") as store:
        made = application({"cpu": f"store:{store.addresses['listen']}", "fpga": "fpga:"})
        process = open_responder(made, "127.0.0.1:0", requesters=2, restarts=0, insecure=False)
        try:
            with Reader(made, process.address, ("fpga",)) as reader:
                found = check_against_writers(reader, store.addresses["listen"], seconds=4.0)
        finally:
            process.close()
    assert found.reads > 20
    assert found.by_copies > 0.2 * found.reads
