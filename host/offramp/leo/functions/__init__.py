# SPDX-License-Identifier: Apache-2.0
"""What devices compute, each function with its message format and a model that every device must equal to the bit.

Messages are little-endian. The models say what the CPU role runs, what RTL and HLS are tested against, and what the
smartNIC's agent must answer.
"""
