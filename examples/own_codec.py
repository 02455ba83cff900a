# SPDX-License-Identifier: Apache-2.0
"""A feature codec of one's own: what travels between workers is bfloat16, half the bytes of float32.

Worker processes import this file again, so that they know the codec too; a package names it in an entry point
(docs/extending.md).

    fp32     loss … payload 2… bytes
    bfloat16 loss … payload 1… bytes
    half of the bytes: True
"""

import torch

from offramp.codecs import CODECS, FeatureCodec
from offramp.train import TrainSettings, train_graph


@CODECS.register("bfloat16")
class BFloat16(FeatureCodec):
    """Two bytes for each value."""

    bits = 16

    @classmethod
    def of(cls, settings, plan, rank):
        """It needs to know nothing."""
        return cls()

    def encode(self, x, message, key):
        """Features of the message's vertices as bytes."""
        return x[message.rows].to(torch.bfloat16).view(torch.uint8).view(-1)

    def decode(self, payload, message, key, out, *, add=False):
        """And back."""
        values = payload.view(torch.bfloat16).view(len(message.rows), out.shape[1]).to(out.dtype)
        out[message.rows] = out[message.rows] + values if add else values


def main() -> None:
    """The same run with either codec."""
    sent = []
    for codec in ("fp32", "bfloat16"):
        settings = TrainSettings(graph="karate", workers=2, partition="hash", epochs=5, hidden=16, propagator="p2p",
                                 schedule="g3", codec=codec)  # fmt: skip
        numbers = train_graph(settings.load(), settings).as_dict()
        sent.append(numbers["bytes_up"])
        print(f"{codec:8} loss {numbers['loss']:.4f} payload {numbers['bytes_up']} bytes")
    print("half of the bytes:", sent[1] * 2 == sent[0])


if __name__ == "__main__":
    main()
