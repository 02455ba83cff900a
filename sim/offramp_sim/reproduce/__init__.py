# SPDX-License-Identifier: Apache-2.0
"""Reproductions of the papers' figures and tables, beside the published numbers."""
