# SPDX-License-Identifier: Apache-2.0
"""LEO's figures and tables."""
