# SPDX-License-Identifier: Apache-2.0
"""SwitchGNN: multicast and aggregation of GNN features inside the switch (Li et al., ATC 2025)."""
