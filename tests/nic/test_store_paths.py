# SPDX-License-Identifier: Apache-2.0
"""Keys of LEO's store by way of a smartNIC's agent, while others write them by redis' protocol."""

from __future__ import annotations

from offramp.leo.applications.remote import open_responder
from offramp.leo.applications.store import application
from store_lab import a_store
from store_paths import Reader, check_against_writers


def test_the_agent_is_never_behind_what_somebody_knows(agent) -> None:
    with a_store(listen="127.0.0.1:0") as store:
        made = application({"cpu": f"store:{store.addresses['listen']}", "nic": f"nic:{agent.path}"})
        process = open_responder(made, "127.0.0.1:0", requesters=2, restarts=0, insecure=False)
        try:
            with Reader(made, process.address, ("nic",)) as reader:
                found = check_against_writers(reader, store.addresses["listen"], seconds=2.0)
        finally:
            process.close()
    assert found.reads > 100
    assert found.by_copies > 0.3 * found.reads
