# SPDX-License-Identifier: Apache-2.0
"""G3's figures and tables."""
