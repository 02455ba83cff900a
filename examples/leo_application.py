# SPDX-License-Identifier: Apache-2.0
"""A LEO application in Python: requests for which the runtime chooses between the host's processor and an accelerator.

Both sides are in this program, each in a thread; across machines the responder is a process of its own (docs/leo.md).
The table says what a request takes on each path: the accelerator is twice as fast, so a single request goes there.

    HELLO by acc
    read back: b'persistent'
"""

import threading

import numpy as np

from offramp.leo import READ, WRITE, Context, Dataflow, RequesterSettings, Table, Trip


def main() -> None:
    """One request, and one-sided access to the responder's memory."""
    responder, requester = Context(), Context()
    for role in ("cpu", "acc"):
        responder.reg_app_func(bytes.upper, "shout", role)
    times_ns = [[20_000, 10_000], [10_000, np.nan], [10_000, np.nan]]  # of each type by each path; NaN: not that way
    table = Table.disjoint(times_ns, times_ns, types=("SHOUT", READ, WRITE), paths=("cpu", "acc"))
    flows = ((Trip("shout"),), (Trip("shout", remote="acc"),)), ((Trip(READ),), None), ((Trip(WRITE),), None)
    served, done = responder.serve(), threading.Event()

    def serve() -> None:
        while not done.is_set():
            served.step()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        requester.init(Dataflow(table, flows), [served.listener.address], settings=RequesterSettings(stride=64))
        requester.send(b"hello", "SHOUT")
        reply = requester.recv(timeout_s=10)
        print(reply.message.decode(), "by", reply.path)
        requester.write(b"persistent", 40)
        print("read back:", requester.read(40, 10))
    finally:
        done.set()
        thread.join()
        requester.close()
        responder.close()


if __name__ == "__main__":
    main()
