# SPDX-License-Identifier: Apache-2.0
"""DGS's figures and tables."""
