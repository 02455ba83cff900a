# SPDX-License-Identifier: Apache-2.0
"""Full-graph GNN training by several workers, with interchangeable transports of boundary features."""

import os

# Threads that wait for each other must not spin: on a machine whose cores are shared (with the switch, with other
# workers) spinning was measured to make a run fifteen times longer. OpenMP reads this when PyTorch loads it.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
