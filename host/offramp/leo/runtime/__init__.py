# SPDX-License-Identifier: Apache-2.0
"""LEO's runtime: requests from a requester to a responder, over the path that the selector chooses for each."""
