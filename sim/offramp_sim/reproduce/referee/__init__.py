# SPDX-License-Identifier: Apache-2.0
"""Whether what an item finds holds at other sizes, seeds and settings: a sweep, and a verdict on each number."""
