"""DGS: mini-batch training of GNNs that fetches only the neighbours and features that explain the model (Wan, ch. 3)."""
