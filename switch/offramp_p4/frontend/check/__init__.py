# SPDX-License-Identifier: Apache-2.0
"""Syntax tree to typed, elaborated IR."""
