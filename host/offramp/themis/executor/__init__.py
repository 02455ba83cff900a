# SPDX-License-Identifier: Apache-2.0
"""Real execution of collectives over torch.distributed: a process group per dimension, in Themis' order."""
