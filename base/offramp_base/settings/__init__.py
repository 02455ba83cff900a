# SPDX-License-Identifier: Apache-2.0
"""Settings declared once: dataclasses whose fields say what they mean and take.

:mod:`~offramp_base.settings.field` declares a field, :mod:`~offramp_base.settings.check` refuses values,
:mod:`~offramp_base.settings.document` reads them from YAML and TOML, :mod:`~offramp_base.settings.schema` describes
them as a JSON Schema. The command line makes options of a command from the same fields.
"""
