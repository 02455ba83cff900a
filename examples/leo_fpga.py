# SPDX-License-Identifier: Apache-2.0
"""A LEO request that an FPGA at the responder answers: the sum of two vectors.

The card is a model of the engines that answers in as many cycles as the RTL takes. With the extra ``fpga`` and Icarus,
``python examples/leo_fpga.py fpga:engines=reduce`` simulates the RTL itself. A board has the same name on its host:
``fpga:at=HOST:PORT``.

    [11. 22. 33. 44.] by fpga
"""

import sys
import threading

import numpy as np

from offramp.leo import Context, Dataflow, RequesterSettings, Table, Trip
from offramp.leo.functions import reduce


def main() -> None:
    """One request; requester and responder are threads of this program."""
    card = sys.argv[1] if len(sys.argv) > 1 else "fpga-model:"
    table = Table.disjoint([[10_000]], [[10_000]], types=("SUM",), paths=("fpga",))  # ns of a request on each path
    program = Dataflow(table, (((Trip(reduce.NAME, remote="fpga"),),),))
    responder, requester, done = Context(), Context(), threading.Event()
    served = responder.serve(devices={"fpga": card})

    def serve() -> None:
        while not done.is_set():
            served.step()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        requester.init(program, [served.listener.address], settings=RequesterSettings(timeout_s=60))
        vectors = np.array([[1, 2, 3, 4], [10, 20, 30, 40]], np.float32)
        requester.send(reduce.request(reduce.ElementType.FLOAT32, vectors), "SUM")
        reply = requester.recv(timeout_s=60)
        print(np.frombuffer(reply.message, np.float32), "by", reply.path)
    finally:
        done.set()
        thread.join()
        requester.close()
        responder.close()


if __name__ == "__main__":
    main()
