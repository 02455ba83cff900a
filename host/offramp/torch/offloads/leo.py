# SPDX-License-Identifier: Apache-2.0
"""LEO's sums: the devices beside every rank add its part, over all paths at once."""

from __future__ import annotations

import torch

from offramp.leo.applications.sums import LeoSums
from offramp.leo.functions import reduce
from offramp.torch.offload import OFFLOADS, CollectiveCall, CollectiveRequest, Offload, Result
from offramp.torch.place import OffloadGroup
from offramp.torch.settings import NetworkSettings


@OFFLOADS.register("leo")
class LeoOffload(Offload):
    """Sums of float32 over up to eight ranks; the bits do not depend on the device that adds."""

    kinds = ("all_reduce",)
    dtypes = (torch.float32,)

    def __init__(self, settings: NetworkSettings) -> None:
        super().__init__(settings)
        self.sums: LeoSums | None = None

    def takes(self, request: CollectiveRequest) -> bool:
        """Whether the group has at most as many ranks as a device can add at a time."""
        return super().takes(request) and request.ranks <= reduce.MOST

    def open(self, place: OffloadGroup) -> None:
        """Start the devices of the settings."""
        devices = dict(each.split("=", 1) for each in self.settings.devices)
        self.sums = LeoSums(devices, place.control)

    def close(self) -> None:
        """Close the devices."""
        if self.sums is not None:
            self.sums.close()

    def all_reduce(self, values: torch.Tensor, call: CollectiveCall) -> Result:  # noqa: ARG002
        """Sum in chunks, each as a balanced tree."""
        assert self.sums is not None
        return self.sums.all_reduce(values.clone())
