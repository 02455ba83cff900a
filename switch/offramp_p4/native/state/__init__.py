# SPDX-License-Identifier: Apache-2.0
"""The control plane's state as machine code sees it: NumPy arrays behind the same classes as the engine's."""
