# SPDX-License-Identifier: Apache-2.0
"""Random SwitchGNN jobs over faults of every kind: some with the workers in Python, many without any Python in them.

``python -m switchgnn_soak --help`` runs the latter.
"""

from switchgnn_soak.jobs import SIZES, SoakJob, job_of_leaves_and_spines, job_of_one_switch
from switchgnn_soak.soak import Soak

__all__ = ["SIZES", "Soak", "SoakJob", "job_of_leaves_and_spines", "job_of_one_switch"]
