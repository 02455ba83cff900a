# SPDX-License-Identifier: Apache-2.0
"""Themis's figures and tables."""
