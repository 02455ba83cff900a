# SPDX-License-Identifier: Apache-2.0
"""DGS: mini-batch training of GNNs that fetches the neighbours and features that explain the model (Wan, ch. 3)."""
