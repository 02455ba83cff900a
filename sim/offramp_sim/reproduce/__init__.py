# SPDX-License-Identifier: Apache-2.0
"""Figures and tables of the papers again, beside the published numbers."""
