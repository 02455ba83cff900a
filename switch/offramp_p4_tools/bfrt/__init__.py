# SPDX-License-Identifier: Apache-2.0
"""BF-RT for Tofino programs: what a program's tables are, and a gRPC service that reads and writes them."""
