# SPDX-License-Identifier: Apache-2.0
"""The folder is put on the path of processes that tests start."""
