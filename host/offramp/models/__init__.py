# SPDX-License-Identifier: Apache-2.0
"""Models by name; each consists of layers over views of a graph (:mod:`offramp.models.view`).

Names are known without importing PyTorch: models, Offramp's own included, are entry points.

>>> from offramp.models import MODELS, make_model, model_widths
>>> from offramp.train import TrainSettings
>>> settings = TrainSettings(graph="karate", workers=1, model="gcn", layers=2, hidden=8)
>>> model_widths(settings, features=34, classes=4)
[34, 8, 4]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp.models.base import Model as Model
    from offramp.models.registry import MODELS as MODELS
    from offramp.models.registry import ModelSettings as ModelSettings
    from offramp.models.registry import expect_model as expect_model
    from offramp.models.registry import make_model as make_model
    from offramp.models.registry import model_widths as model_widths
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "MODELS": "offramp.models.registry",
            "Model": "offramp.models.base",
            "ModelSettings": "offramp.models.registry",
            "expect_model": "offramp.models.registry",
            "make_model": "offramp.models.registry",
            "model_widths": "offramp.models.registry",
        },
    )
