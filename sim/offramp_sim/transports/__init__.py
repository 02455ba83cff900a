# SPDX-License-Identifier: Apache-2.0
"""Speed of the transports: frames over one link, and SwitchGNN's exchange through the embedded switch."""
