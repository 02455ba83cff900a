# SPDX-License-Identifier: Apache-2.0
"""P4Runtime entities over the switch's state: one handler for each kind (P4Runtime specification, section 9)."""
