# SPDX-License-Identifier: Apache-2.0
"""UniTG's figures and tables."""
