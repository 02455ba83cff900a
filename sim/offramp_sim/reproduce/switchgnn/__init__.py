# SPDX-License-Identifier: Apache-2.0
"""SwitchGNN's figures and tables."""
