# SPDX-License-Identifier: Apache-2.0
"""Collectives that really run: over torch.distributed, a process group for each dimension, in Themis' order."""
