# SPDX-License-Identifier: Apache-2.0
"""Source text to syntax tree."""
