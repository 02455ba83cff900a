# SPDX-License-Identifier: Apache-2.0
"""The four applications of the thesis, each with its baseline and its load (specification section 9)."""
