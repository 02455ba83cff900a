# SPDX-License-Identifier: Apache-2.0
"""P4Runtime for the software switch: P4Info from the IR, and the server over the switch's state."""
