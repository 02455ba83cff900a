# SPDX-License-Identifier: Apache-2.0
"""Common parts of the RTL test benches; imported in the simulator's process."""
