# SPDX-License-Identifier: Apache-2.0
"""What RTL test benches share; imported in the simulator's process."""
