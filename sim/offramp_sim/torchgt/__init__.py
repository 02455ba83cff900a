"""Measurements of TorchGT's attention on this machine."""
