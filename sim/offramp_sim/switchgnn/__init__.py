# SPDX-License-Identifier: Apache-2.0
"""SwitchGNN without a network: the reference model of its switch and the in-process driver."""
