# SPDX-License-Identifier: Apache-2.0
"""AF_XDP: frames between a network interface and memory shared with the kernel (Linux's networking/af_xdp)."""
