# SPDX-License-Identifier: Apache-2.0
"""The v1model architecture in machine code."""
