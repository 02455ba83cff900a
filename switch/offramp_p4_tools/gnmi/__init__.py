# SPDX-License-Identifier: Apache-2.0
"""gNMI: the ports of the switch as OpenConfig's interfaces, and the service over the same state."""
