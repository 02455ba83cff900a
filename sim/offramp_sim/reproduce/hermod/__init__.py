# SPDX-License-Identifier: Apache-2.0
"""Hermod's figures and tables."""
