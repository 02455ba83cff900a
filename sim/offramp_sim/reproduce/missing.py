# SPDX-License-Identifier: Apache-2.0
"""Figures and tables with data that are not reproduced, and why; drawings and tables of notation are not listed."""

from __future__ import annotations

from typing import Final

_GPU: Final = "SM activity over time: reproduce gpu, where there is a GPU; epochs were measured on an H200, not here"
_CLUSTER: Final = "measured in a production cluster"
_SIZES: Final = "sizes of data sets and hyper-parameters, which are inputs"

MISSING: Final = {
    "dgs/table3.1": _SIZES,
    "dgtp/fig6": "losses of the same mini-batches: what is placed where does not change them",
    "g3/fig4.13 (traces)": _GPU,
    "g3/table4.2": _SIZES,
    "hermod/fig5.2": _CLUSTER,
    "leo/table6.3": "resources of a VU35P board; make's reports of open FPGA tools are in docs/fpga.md",
    "switchgnn/fig14 (traces)": _GPU,
    "sylvie/table3.1": "accuracy of sampled GraphSAGE by fan-out; offramp train dgs samples, but not with that model",
    "sylvie/tables 3.4 and 3.5": _SIZES,
    "sylvie/table3.6 (SAR)": "train --as-published sar sums alone; the table's attention fetches rows again",
    "torchgt/table4.1 (ZINC, PCQM4M)": "no message-passing network here takes sets of graphs",
    "torchgt/table4.3": _SIZES,
    "torchgt/table4.6": "epochs on A100s; what TorchGT gains there depends on their tensor cores: an H200 is not one",
    "unitg/fig5.1": "accuracy of deep networks on ogbn-arxiv and -products, which are not here",
    "unitg/fig5.2": _GPU,
    "unitg/fig5.3": "times of methods that are not implemented; fig5.9 has those of two by a model",
    "unitg/figs 5.13 and 5.14 (SM activity)": _GPU,
    "unitg/table5.3": _SIZES,
    "unitg/table5.5 (GLEM, accuracies)": "GLEM's rounds are not given; accuracies need pretrained models and the texts",
}
"""Reasons by item, or by the part of an item that is missing, as ``offramp reproduce list`` prints them."""
