# SPDX-License-Identifier: Apache-2.0
from both_engines import cache_home

__all__ = ["cache_home"]
