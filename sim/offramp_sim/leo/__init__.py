# SPDX-License-Identifier: Apache-2.0
"""LEO's queue model: paths of servers, links and delays, a network with jitter, and selection rules."""
