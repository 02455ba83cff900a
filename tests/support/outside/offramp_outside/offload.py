# SPDX-License-Identifier: Apache-2.0
"""An offload of another package, as docs/extending.md shows it."""

from offramp.torch.offload import Offload


class Alone(Offload):
    """Sums of groups of one rank, which need no network."""

    kinds = ("all_reduce",)

    def takes(self, request):
        """Whether the group has one rank."""
        return super().takes(request) and request.ranks == 1

    def all_reduce(self, values, call):
        """The values themselves."""
        return values
