# SPDX-License-Identifier: Apache-2.0
"""PSA in machine code."""
