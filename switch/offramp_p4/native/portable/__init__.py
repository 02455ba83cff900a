# SPDX-License-Identifier: Apache-2.0
"""PSA and PNA in machine code."""
