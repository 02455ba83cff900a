# SPDX-License-Identifier: Apache-2.0
"""Tensors in the format of torch.distributed.checkpoint, each rank's rows in a file of its own.

``torch.distributed.checkpoint.load`` reads these folders. Its own reader and its own collectives unpickle what others
wrote; here the ranks send records (:mod:`offramp_base.wire.objects`), and a reader makes nothing but the descriptions
of tensors, whose names, types and shapes are checked before their bytes are read.
"""

from __future__ import annotations

import enum
import io
import pickle
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import torch
from torch.distributed.checkpoint.filesystem import _StorageInfo
from torch.distributed.checkpoint.metadata import (
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    TensorProperties,
    TensorStorageMetadata,
)

from offramp_base.memory import check_memory
from offramp_base.settings.error import SettingsError
from offramp_base.wire.objects import sendable

if TYPE_CHECKING:
    from offramp.train.locations import CheckpointLocation
    from offramp.workers.group import Group

METADATA: Final = ".metadata"
"""The file that describes all others; it is written last, so that a folder without it is not a checkpoint."""

_MOST_METADATA: Final = 64 << 20
_DATA_FILE: Final = re.compile(r"__\d+_\d+\.distcp")
_OVERHEAD: Final = 1 << 16
"""Most bytes of a saved tensor besides its values."""

_DESCRIPTIONS: Final = frozenset(
    (module, name)
    for module, names in {
        "torch.distributed.checkpoint.metadata": (
            "Metadata",
            "MetadataIndex",
            "TensorStorageMetadata",
            "ChunkStorageMetadata",
            "TensorProperties",
            "StorageMeta",
            "_MEM_FORMAT_ENCODING",
        ),
        "torch.distributed.checkpoint.filesystem": ("_StorageInfo",),
        "torch.serialization": ("_get_layout",),
        "torch": ("Size",),
    }.items()
    for name in names
)


@sendable
@dataclass(frozen=True)
class StoredRows:
    """Rows of one tensor in a rank's file.

    Attributes:
        name: name of the tensor.
        first, rows: first row and their number; a tensor without dimensions has one row.
        offset, length: place in the file, in bytes.
    """

    name: str
    first: int
    rows: int
    offset: int
    length: int


@sendable
@dataclass(frozen=True)
class StoredFile:
    """A rank's file.

    Attributes:
        rows: what it holds.
        own: name, type and shape of tensors that this rank alone has.
    """

    rows: list[StoredRows]
    own: list[tuple[str, str, list[int]]]


def save_tensors(
    folder: str,
    location: CheckpointLocation,
    tensors: Mapping[str, torch.Tensor],
    group: Group,
    own: Mapping[str, torch.Tensor] | None = None,
) -> None:
    """Write tensors that all ranks have alike, each rank an equal part of the rows; every rank calls it.

    Args:
        folder: name of a new folder.
        location: its place.
        tensors: tensors that all ranks have alike.
        group: the ranks.
        own: tensors of this rank alone, of other names than any other rank's.

    Raises:
        SettingsError: a file cannot be written.
    """
    content, mine = _my_rows(tensors, own or {}, group.rank, group.size)
    location.write(f"{folder}/{_file_of(group.rank)}", content)
    described = [(name, str(each.dtype).removeprefix("torch."), list(each.shape)) for name, each in (own or {}).items()]
    ranks = group.gather(StoredFile(mine, described), StoredFile)
    if ranks is not None:
        location.write(f"{folder}/{METADATA}", pickle.dumps(_described(tensors, ranks)))


def _file_of(rank: int) -> str:
    return f"__{rank}_0.distcp"


def _my_rows(
    tensors: Mapping[str, torch.Tensor], own: Mapping[str, torch.Tensor], rank: int, ranks: int
) -> tuple[bytes, list[StoredRows]]:
    file, pieces = io.BytesIO(), []
    for name, tensor in {**tensors, **own}.items():
        count = len(tensor) if tensor.dim() else 1
        first, end = (0, count) if name in own else (count * rank // ranks, count * (rank + 1) // ranks)
        if first == end and name not in own and (rank or count):  # rank 0 writes a tensor that has no rows
            continue
        offset = file.tell()
        torch.save((tensor[first:end] if tensor.dim() else tensor).detach().cpu().clone(), file)
        pieces.append(StoredRows(name, first, end - first, offset, file.tell() - offset))
    return file.getvalue(), pieces


def _described(tensors: Mapping[str, torch.Tensor], ranks: Sequence[StoredFile]) -> Metadata:
    kinds = {name: (tensor.dtype, tensor.shape) for name, tensor in tensors.items()}
    kinds |= {name: (getattr(torch, dtype), torch.Size(shape)) for file in ranks for name, dtype, shape in file.own}
    metadata: dict[str, Any] = {
        name: TensorStorageMetadata(TensorProperties(dtype), shape, []) for name, (dtype, shape) in kinds.items()
    }
    storage = {}
    for rank, file in enumerate(ranks):
        for piece in file.rows:
            shape = kinds[piece.name][1]
            offsets = torch.Size([piece.first, *[0] * (len(shape) - 1)][: len(shape)])
            sizes = torch.Size([piece.rows, *shape[1:]][: len(shape)])
            metadata[piece.name].chunks.append(ChunkStorageMetadata(offsets, sizes))
            storage[MetadataIndex(piece.name, offsets)] = _StorageInfo(_file_of(rank), piece.offset, piece.length)
    return Metadata(metadata, storage_data=storage)


class StoredTensors:
    """Tensors in a folder that someone else may have written.

    Raises:
        SettingsError: this is not such a folder.
    """

    def __init__(self, folder: str, location: CheckpointLocation) -> None:
        self._folder, self._location = folder, location
        content = location.read(f"{folder}/{METADATA}", most=_MOST_METADATA)
        try:
            metadata = _DescriptionReader(io.BytesIO(content)).load()
            described, storage = metadata.state_dict_metadata, metadata.storage_data
            sound = type(metadata) is Metadata and type(described) is dict and type(storage) is dict
        except Exception:  # whatever damaged pickles raise
            sound = False
        if not sound:
            raise self._foreign(f"{METADATA} describes no tensors")
        self._described, self._storage = described, storage

    def read(self, name: str, dtype: torch.dtype, shape: Sequence[int] | None = None, most: int = 1 << 20) -> Any:
        """A tensor of this type and shape; without a shape it is a vector of at most ``most`` values.

        Raises:
            SettingsError: it is missing, damaged, or another's.
        """
        try:
            return self._read(self._described[name], name, dtype, shape, most)
        except SettingsError:
            raise
        except Exception:  # descriptions of the right classes with other values in them
            raise self._foreign(f"{name} is missing or damaged") from None

    def _read(self, entry: Any, name: str, dtype: torch.dtype, shape: Sequence[int] | None, most: int) -> Any:
        size, actual = tuple(int(n) for n in entry.size), entry.properties.dtype
        chunks = sorted((tuple(chunk.offsets), tuple(chunk.sizes)) for chunk in entry.chunks)
        expected = size[:1] if shape is None else tuple(shape)
        if (size, actual) != (expected, dtype) or (shape is None and not (size and 0 <= size[0] <= most)):
            raise self._foreign(f"{name} is {actual} of shape {size}, not {dtype} of shape {expected}")
        self._expect_rows(name, chunks, size)
        parts = [self._rows(name, offsets, sizes, dtype) for offsets, sizes in chunks]
        return torch.cat(parts) if size else parts[0]

    def _expect_rows(self, name: str, chunks: list[tuple[Any, Any]], size: tuple[int, ...]) -> None:
        """Refuse chunks that are not all of a tensor's rows, one after another."""
        starts = [offsets[0] if size else 0 for offsets, _ in chunks]
        ends = [start + (sizes[0] if size else 1) for start, (_, sizes) in zip(starts, chunks, strict=True)]
        whole = all(not any(o[1:]) and len(o) == len(s) == len(size) and s[1:] == size[1:] for o, s in chunks)
        joined = all(end == start for (_, end), (start, _) in pairwise(zip(starts, ends, strict=True)))
        if not (chunks and whole and joined and starts[0] == 0 and ends[-1] == (size[0] if size else 1)):
            raise self._foreign(f"{name} is not in rows, each of them once")

    def _rows(self, name: str, offsets: tuple[int, ...], sizes: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        info = self._storage[MetadataIndex(name, offsets)]
        path, offset, length = info.relative_path, info.offset, info.length
        values = torch.Size(sizes).numel() * dtype.itemsize
        if not (_DATA_FILE.fullmatch(path) and offset >= 0 and 0 < length <= values + _OVERHEAD):
            raise self._foreign(f"{name} is at {length} bytes from {offset} of {str(path)[:40]!r}")
        check_memory(2 * length, f"{self._location.url}: {name}")
        content = self._location.read(f"{self._folder}/{path}", offset, offset + length)
        with zipfile.ZipFile(io.BytesIO(content)) as members:
            if any(member.compress_type != zipfile.ZIP_STORED for member in members.infolist()):
                raise self._foreign(f"{name} is compressed")
        rows = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
        if not isinstance(rows, torch.Tensor) or rows.dtype != dtype or tuple(rows.shape) != sizes:
            raise self._foreign(f"{name}: rows {offsets} are not {dtype} of shape {sizes}")
        return rows

    def _foreign(self, how: str) -> SettingsError:
        return SettingsError(self._location.field, f"expected a checkpoint: {how}", self._location.url)


class _DescriptionReader(pickle.Unpickler):
    """Unpickles descriptions of tensors and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("builtins", "getattr"):
            return _member
        if (module, name) in _DESCRIPTIONS or (module == "torch" and isinstance(_torch(name), torch.dtype)):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name}")


def _member(kind: type[enum.Enum], name: str) -> enum.Enum:
    """A member of an enumeration by its name: so some releases pickle it (Python 3.11.2)."""
    return kind.__members__[name]


def _torch(name: str) -> object:
    return getattr(torch, name, None) if name.isidentifier() else None
