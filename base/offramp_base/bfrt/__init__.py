# SPDX-License-Identifier: Apache-2.0
"""The messages of BF-RT, the control protocol of P4 Studio for Tofino, which client and server share."""
