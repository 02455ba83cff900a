# SPDX-License-Identifier: Apache-2.0
"""Hosts and applications described in YAML: read, checked, and resolved to physical links and tables."""

from offramp_base.errors import OfframpError
from offramp_base.extras import needs

try:
    import pydantic as pydantic
except ImportError:
    raise OfframpError(f"LEO's configuration {needs('pydantic')}") from None

from offramp.leo.config.files import builtin, load_config
from offramp.leo.config.models import Config
from offramp.leo.config.resolve import Resolved, resolve

__all__ = ["Config", "Resolved", "builtin", "load_config", "resolve"]
