# SPDX-License-Identifier: Apache-2.0
"""Data over RDMA: a reliable queue pair for each peer and traffic class (thesis, section 5.4).

Control connections stay TCP. A receiver registers the memory of a transfer and tells its address and key; the sender
writes chunks straight into it, each followed by a message with the header that TCP connections carry, too. The class
of a queue pair is that of its coflows: the DSCP in the packets' traffic class, the switch's queue as service level.
"""
