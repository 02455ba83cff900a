# SPDX-License-Identifier: Apache-2.0
"""BF-RT, the control protocol of Intel's P4 Studio for Tofino, over gRPC. Never run on hardware."""
