# SPDX-License-Identifier: Apache-2.0
"""A folder in which Python finds a stand-in of XRT's ``pyxrt``."""
