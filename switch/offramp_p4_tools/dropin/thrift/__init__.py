# SPDX-License-Identifier: Apache-2.0
"""bmv2's run-time services over Thrift: what ``simple_switch_CLI`` and scripts of bmv2's users speak.

The protocol is Thrift's binary one over a plain connection, multiplexed by service; it is small enough that a library
for it would be more code than ours, and its reader is bounded.
"""
