# SPDX-License-Identifier: Apache-2.0
"""An NCCL tuner plug-in that chooses as the model of NCCL's calls does.

>>> from offramp.themis import load_network
>>> from offramp.themis.tuner import tuner_choices, tuner_source
>>> choices = tuner_choices(load_network("2D-SW_SW").by_nccl())
>>> "ncclTunerPlugin_v5" in tuner_source(choices)
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp.themis.tuner.choices import TunerChoice as TunerChoice
    from offramp.themis.tuner.choices import tuner_choices as tuner_choices
    from offramp.themis.tuner.source import tuner_source as tuner_source
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "TunerChoice": "offramp.themis.tuner.choices",
            "tuner_choices": "offramp.themis.tuner.choices",
            "tuner_source": "offramp.themis.tuner.source",
        },
    )
