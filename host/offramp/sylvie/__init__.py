# SPDX-License-Identifier: Apache-2.0
"""Sylvie: boundary features and gradients in 1, 2, 4 or 8 bits (specification part 1)."""
