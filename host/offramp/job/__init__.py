# SPDX-License-Identifier: Apache-2.0
"""One job on a cluster: what to offload, putting it there, running it, taking it away again (docs/jobs.md)."""
