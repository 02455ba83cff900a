# SPDX-License-Identifier: Apache-2.0
"""The agent of SoC smartNICs as the host sees it: control socket, shared memory, queues (``docs/smartnic.md``)."""
