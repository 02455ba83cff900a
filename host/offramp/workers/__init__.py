# SPDX-License-Identifier: Apache-2.0
"""The processes of a job: groups, launching, mailboxes, sums, rates, and counters."""
