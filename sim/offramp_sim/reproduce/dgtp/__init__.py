# SPDX-License-Identifier: Apache-2.0
"""DGTP's figures and tables."""
