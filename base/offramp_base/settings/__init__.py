# SPDX-License-Identifier: Apache-2.0
"""Settings declared once: dataclasses whose fields say what they mean and take.

:mod:`~offramp_base.settings.field` declares a field, :mod:`~offramp_base.settings.check` refuses values,
:mod:`~offramp_base.settings.document` reads them from YAML and TOML, :mod:`~offramp_base.settings.schema` describes
them as a JSON Schema. The command line makes options of a command from the same fields.

>>> from offramp_base.settings import BYTES, json_schema
>>> BYTES.parse("4KiB")
4096
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp_base.settings.check import check as check_settings
    from offramp_base.settings.check import expect_choice as expect_choice
    from offramp_base.settings.document import read_settings as read_settings
    from offramp_base.settings.error import SettingsError as SettingsError
    from offramp_base.settings.field import Declared as Declared
    from offramp_base.settings.field import Field as Field
    from offramp_base.settings.schema import json_schema as json_schema
    from offramp_base.settings.units import BITS_PER_SECOND as BITS_PER_SECOND
    from offramp_base.settings.units import BYTES as BYTES
    from offramp_base.settings.units import Unit as Unit
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "BITS_PER_SECOND": "offramp_base.settings.units",
            "BYTES": "offramp_base.settings.units",
            "Declared": "offramp_base.settings.field",
            "Field": "offramp_base.settings.field",
            "SettingsError": "offramp_base.settings.error",
            "Unit": "offramp_base.settings.units",
            "check_settings": "offramp_base.settings.check:check",
            "expect_choice": "offramp_base.settings.check",
            "json_schema": "offramp_base.settings.schema",
            "read_settings": "offramp_base.settings.document",
        },
    )
