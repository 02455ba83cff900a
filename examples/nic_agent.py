# SPDX-License-Identifier: Apache-2.0
"""The smartNIC's agent as a device: a table in memory shared with it, and look-ups that its core answers.

The agent is C++ on DPDK; here it runs beside us without a port and without huge pages, and is compiled the first time
(docs/smartnic.md names the packages).

    key 7 lies at 4096
    the agent's core worked for less than a millisecond: True
"""

from offramp.leo.devices import open_device
from offramp.leo.functions import kvs
from offramp.nic import AgentProcess

BUCKETS = 1024


def main() -> None:
    """One look-up."""
    with AgentProcess() as agent:
        device = open_device(f"nic:{agent.path},table_bytes={BUCKETS * kvs.LINE}")
        kvs.KeyIndex(device.memory(kvs.NAME), BUCKETS).insert(7, 4096)
        device.submit(kvs.NAME, 1, (7).to_bytes(8, "little"))
        while not (done := device.poll()):
            device.wait(1.0)
        print("key 7 lies at", int.from_bytes(done[0].message[:8], "little"))
        print("the agent's core worked for less than a millisecond:", done[0].busy_ns < 1_000_000)
        device.close()


if __name__ == "__main__":
    main()
