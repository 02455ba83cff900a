# SPDX-License-Identifier: Apache-2.0
"""Functions that devices compute, each with its message format and a model that every device must match to the bit.

Messages are little-endian. The models are what the CPU role runs, what RTL and HLS are tested against, and what the
smartNIC's agent must answer.
"""
