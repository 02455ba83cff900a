# SPDX-License-Identifier: Apache-2.0
"""``p4.tmp.p4config_pb2``: the Python module that bmv2's controllers import to wrap a program for P4Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from offramp_base.errors import OfframpError
from offramp_p4.reference.process import LAUNCHER_MARK

_PACKAGE: Final = f"""\
{LAUNCHER_MARK}
from pkgutil import extend_path

__path__ = extend_path(__path__, __name__)
"""
"""Other packages below ``p4``, such as P4Runtime's own, stay visible."""
_MODULE: Final = f"""\
{LAUNCHER_MARK}
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_file = descriptor_pb2.FileDescriptorProto(name="p4/tmp/p4config.proto", package="p4.tmp", syntax="proto3")
_config = _file.message_type.add(name="P4DeviceConfig")
_extras = _config.nested_type.add(name="Extras")
_entry = _extras.nested_type.add(name="KvEntry")
_entry.options.map_entry = True
_field = descriptor_pb2.FieldDescriptorProto
for _name, _number in (("key", 1), ("value", 2)):
    _entry.field.add(name=_name, number=_number, type=_field.TYPE_STRING, label=_field.LABEL_OPTIONAL)
_names = dict(type=_field.TYPE_MESSAGE, type_name=".p4.tmp.P4DeviceConfig.Extras.KvEntry")
_extras.field.add(name="kv", number=1, label=_field.LABEL_REPEATED, **_names)
_config.field.add(name="reassign", number=1, type=_field.TYPE_BOOL, label=_field.LABEL_OPTIONAL)
_config.field.add(
    name="extras", number=2, type=_field.TYPE_MESSAGE, type_name=".p4.tmp.P4DeviceConfig.Extras",
    label=_field.LABEL_OPTIONAL,
)
_config.field.add(name="device_data", number=3, type=_field.TYPE_BYTES, label=_field.LABEL_OPTIONAL)

_pool = descriptor_pool.DescriptorPool()
_pool.AddSerializedFile(_file.SerializeToString())
DESCRIPTOR = _pool.FindFileByName("p4/tmp/p4config.proto")
_descriptor = DESCRIPTOR.message_types_by_name["P4DeviceConfig"]
if hasattr(message_factory, "GetMessageClass"):
    P4DeviceConfig = message_factory.GetMessageClass(_descriptor)
else:  # protobuf before 4.22
    P4DeviceConfig = message_factory.MessageFactory(_pool).GetPrototype(_descriptor)
"""
"""It needs protobuf alone, of the version that P4Runtime's modules are for."""


def write_config_module(folder: Path) -> list[Path]:
    """Write the package ``p4.tmp`` below a folder for ``PYTHONPATH``; files that are not ours are not replaced.

    Raises:
        OfframpError: the folder cannot be written, or has files of these names that are not ours.
    """
    files = {
        folder / "p4" / "__init__.py": _PACKAGE,
        folder / "p4" / "tmp" / "__init__.py": _PACKAGE,
        folder / "p4" / "tmp" / "p4config_pb2.py": _MODULE,
    }
    for path in files:
        if path.exists() and LAUNCHER_MARK not in path.read_text(errors="replace"):
            raise OfframpError(f"{path}: is there, and not one of ours")
    try:
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    except OSError as error:
        raise OfframpError(f"{folder}: cannot be written: {error.strerror}") from None
    return list(files)
