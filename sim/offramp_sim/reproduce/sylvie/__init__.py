# SPDX-License-Identifier: Apache-2.0
"""Sylvie's figures and tables."""
