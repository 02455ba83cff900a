# SPDX-License-Identifier: Apache-2.0
"""How fast the transports are: frames over one link, and SwitchGNN's exchange through the embedded switch."""
