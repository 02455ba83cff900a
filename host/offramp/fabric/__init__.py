# SPDX-License-Identifier: Apache-2.0
"""One model of a network, from the cluster file: what every planner and simulator of Offramp routes and counts on.

>>> from offramp.fabric import fabric_of, make_cluster
>>> fabric = fabric_of(make_cluster("leaf-spine:2x2x4", rate_bps=10**10))
>>> load = fabric.load([0, 0], [1, 7], [1e6, 1e6])
>>> float(load.max()), round(fabric.seconds(load), 6)
(2000000.0, 0.0016)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp.fabric.dimensions import derived_dimensions as derived_dimensions
    from offramp.fabric.model import Fabric as Fabric
    from offramp.fabric.model import fabric_of as fabric_of
    from offramp.fabric.model import read_fabric as read_fabric
    from offramp.fabric.paths import Paths as Paths
    from offramp.fabric.shapes import SHAPES as SHAPES
    from offramp.fabric.shapes import make_cluster as make_cluster
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "Fabric": "offramp.fabric.model",
            "Paths": "offramp.fabric.paths",
            "SHAPES": "offramp.fabric.shapes",
            "derived_dimensions": "offramp.fabric.dimensions",
            "fabric_of": "offramp.fabric.model",
            "make_cluster": "offramp.fabric.shapes",
            "read_fabric": "offramp.fabric.model",
        },
    )
