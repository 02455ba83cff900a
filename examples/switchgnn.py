# SPDX-License-Identifier: Apache-2.0
"""SwitchGNN: Zachary's karate club is trained by three processes whose features are summed in a P4 switch.

The last lines show that the switch carries fewer bytes of payload than workers that send features to each other,
and that the model is the same.

    p2p    loss 0.…  payload … bytes
    switch loss 0.…  payload … bytes
    same loss: True
"""

from functools import partial

from offramp.train import SwitchEndpoint, SwitchFabric, TrainSettings, train_graph
from offramp_p4 import EmbeddedSwitch


def main() -> None:
    """The same run twice."""
    losses = []
    for propagator in ("p2p", "switch"):
        settings = TrainSettings(
            graph="karate", workers=3, partition="hash", epochs=5, hidden=32, propagator=propagator, codec="fixed"
        )
        with EmbeddedSwitch(None, [1, 2, 3]) as switch:  # the port of each worker
            links = list(zip(switch.port_numbers, switch.port_specs, strict=True))
            fabric = partial(SwitchFabric, SwitchEndpoint(switch.address, links), propagator, settings.target)
            result = train_graph(settings.load(), settings, open_fabric=fabric)
        numbers = result.as_dict()
        losses.append(numbers["loss"])
        print(f"{propagator:6} loss {numbers['loss']:.4f}  payload {numbers['bytes_up'] + numbers['bytes_down']} bytes")
    print("same loss:", losses[0] == losses[1])


if __name__ == "__main__":
    main()
