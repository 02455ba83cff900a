"""Collectives that really run: over torch.distributed, a process group for each dimension, in Themis' order."""
