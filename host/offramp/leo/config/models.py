# SPDX-License-Identifier: Apache-2.0
"""Contents of the files: hardware, paths, applications, profiles (specification section 1), checked by pydantic."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path as FilePath
from typing import Annotated, Any, Final, Generic, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, PrivateAttr, model_validator

from offramp.leo.selection.table import RequestDependency
from offramp_base.errors import OfframpError
from offramp_base.settings.source import Place, SourceFile
from offramp_base.settings.units import BYTES

T = TypeVar("T")
PROFILE: Final = "profile"
"""Stands for a number that is measured (``offramp leo profile``)."""
ANYWHERE: Final = "*"
MOST: Final = 1e15


def _number(value: object, *, over: bool) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = -1.0
    if isinstance(value, bool) or not (number > 0 if over else number >= 0) or not number <= MOST:
        raise ValueError(f"{value}: expected a number {'over 0' if over else 'of at least 0'}")
    return number


def _profiled(value: object, *, over: bool) -> float | str:
    try:
        return PROFILE if value == PROFILE else _number(value, over=over)
    except ValueError as error:
        raise ValueError(f"{error}, or profile") from None


def _bytes(value: object) -> int:
    try:
        return int(_number(value, over=False))
    except ValueError:
        pass
    try:
        return BYTES.parse(str(value))
    except ValueError:
        raise ValueError(f"{value}: expected bytes, such as 4096 or 4MiB") from None


def _name(value: object) -> str:
    text = str(value)
    if not text.replace("-", "_").isidentifier():
        raise ValueError(f"{text}: expected a name of letters, digits, - and _")
    return text


def _by_link(value: object) -> object:
    return value if isinstance(value, Mapping) else {ANYWHERE: value}


def _listed(value: object) -> object:
    return value if isinstance(value, list) else [value]


Name = Annotated[str, PlainValidator(_name)]
Positive = Annotated[float, PlainValidator(lambda v: _number(v, over=True))]
AtLeast0 = Annotated[float, PlainValidator(lambda v: _number(v, over=False))]
Profiled = Annotated[float | Literal["profile"], PlainValidator(lambda v: _profiled(v, over=True))]
ProfiledFrom0 = Annotated[float | Literal["profile"], PlainValidator(lambda v: _profiled(v, over=False))]
Size = Annotated[int, PlainValidator(_bytes)]
BytesByLink = Annotated[dict[str, Size], BeforeValidator(_by_link)]


class Strict(BaseModel):
    """Base of all models: unknown fields are errors, and instances are immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class NodeType(StrEnum):
    """Kind of a node; all but the CPU, the RDMA NIC and switches are accelerators."""

    CPU = "cpu"
    FPGA = "fpga"
    GPU = "gpu"
    NIC = "nic"  # the cores of a smartNIC
    RNIC = "rnic"
    SWITCH = "switch"

    @property
    def accelerates(self) -> bool:
        """Whether the device can take a function from the CPU."""
        return self in (NodeType.FPGA, NodeType.GPU, NodeType.NIC)


class HostDevice(Strict):
    """A device of a host; ``speed`` divides the compute times of applications."""

    kind: NodeType
    parallelism: Annotated[int, Field(ge=1, le=65536)] = 1
    memory: Size | None = None
    speed: Positive = 1.0


class PhysicalLink(Strict):
    """A physical link, full duplex; without ``mps`` its message rate is no limit."""

    id: Name
    a: Name
    b: Name
    bw_gbps: Profiled
    mps: Profiled | None = None
    latency_ns: ProfiledFrom0


class AttachmentModel(StrEnum):
    """Attachment of accelerators: beside the NIC, between CPU and NIC, behind the NIC, or some other way."""

    DIRECT = "direct"
    ON_PATH = "on-path"
    OFF_PATH = "off-path"
    CUSTOM = "custom"


class HostHardware(Strict):
    """A host; both ends have the same hardware."""

    name: Name = "host"
    model: AttachmentModel
    nodes: dict[Name, HostDevice] = Field(min_length=1)
    links: list[PhysicalLink] = Field(min_length=1)
    map: dict[str, list[str]] = {}


class PathType(StrEnum):
    """Places that process a request: at the requester's side, at the responder's side."""

    CPU_CPU = "CPU-CPU"
    CPU_ACC = "CPU-Acc"
    ACC_CPU = "Acc-CPU"
    ACC_ACC = "Acc-Acc"


class RequestPath(Strict):
    """Logical links that a request crosses; ``accelerators`` lists which ones, in order; if empty, each one alone."""

    id: Name
    type: PathType
    requester: list[str] = []
    responder: list[str] = []
    accelerators: list[Name] = []


class MessageSizes(Strict):
    """Bytes of a request and of its answer, for all logical links or for each."""

    req: BytesByLink = {ANYWHERE: 0}
    resp: BytesByLink = {ANYWHERE: 0}


class ByDevice(Strict, Generic[T]):
    """Values by device, at either end or wherever the device is."""

    anywhere: dict[str, T] = {}
    requester: dict[str, T] = {}
    responder: dict[str, T] = {}

    @model_validator(mode="before")
    @classmethod
    def _either_end(cls, value: Any) -> Any:
        """Read a mapping that names no end as one of devices at either end."""
        if isinstance(value, Mapping) and not set(value) & {"requester", "responder"}:
            return {"anywhere": value}
        return value


Compute = ByDevice[ProfiledFrom0]
"""Compute times in us; where both ends are spelled out, the requester's CPU may have one too."""
Functions = ByDevice[str]
"""Names of functions."""


ByTrip = Annotated[list[Compute], BeforeValidator(_listed), Field(min_length=1)]


class ApplicationData(Strict):
    """Bytes of a file, of an array in a ``.npy`` file, or of ``values`` of a ``type``; files lie beside the YAML."""

    file: str | None = None
    array: str | None = None
    values: list[int | float] | None = None
    type: Literal["uint8", "int8", "int16", "int32", "int64", "float32", "float64"] = "int64"

    @model_validator(mode="after")
    def _one(self) -> ApplicationData:
        if sum(each is not None for each in (self.file, self.array, self.values)) != 1:
            raise ValueError("expected one of file, array, values")
        return self


class RequestType(Strict):
    """A request type.

    ``dataflows`` are lists of round trips, each the id of a path. Lists of compute times and functions are by round
    trip, the last one for all that follow. One-sided reads return parts of the data that ``data`` names, and messages
    are parts of those that ``messages`` names.
    """

    data: str | None = None
    messages: str | None = None

    dependency: RequestDependency = RequestDependency.NONE
    reads: bool = False
    key: str | None = None
    dataflows: list[Annotated[list[Name], Field(min_length=1)]] = Field(min_length=1)
    size: dict[str, MessageSizes] = {}
    compute_us: ByTrip
    functions: Annotated[list[Functions], BeforeValidator(_listed)] = []


class ConfiguredApplication(Strict):
    """An application; ``memory``: bytes that its tables take on a device; ``data``: what requests read and send."""

    name: Name
    requests: dict[Name, RequestType] = Field(min_length=1)
    memory: dict[str, Size] = {}
    data: dict[Name, ApplicationData] = {}
    mix: dict[str, AtLeast0] = {}


class LinkProfile(Strict):
    """Measurements of a link."""

    bw_gbps: Positive
    mps: Positive
    latency_ns: AtLeast0


class MachineProfile(Strict):
    """Measurements on a machine: links by id, compute times in us by application, request type and device."""

    machine: str = ""
    links: dict[str, LinkProfile] = {}
    compute_us: dict[str, dict[str, ByTrip]] = {}


class Config(Strict):
    """One application on one host, from one file or several."""

    hardware: HostHardware
    paths: list[RequestPath]
    application: ConfiguredApplication
    profile: MachineProfile | None = None
    _sources: dict[str, SourceFile] = PrivateAttr(default_factory=dict)

    @classmethod
    def of(cls, parts: Mapping[str, Any], sources: Mapping[str, SourceFile]) -> Config:
        """Check the parts, each by itself; ``sources`` gives the file of each."""
        config = cls.model_validate(parts)
        config._sources.update(sources)
        return config

    def error(self, part: str, place: Place, problem: str) -> OfframpError:
        """An error in one line with file and line; ``place`` is relative to the part."""
        return self._sources[part].error((part, *place), problem)

    def folder(self, part: str) -> FilePath:
        """Folder of the file that gives the part."""
        return FilePath(self._sources[part].name).parent

    def with_cores(self, cores: int | None) -> Config:
        """The configuration with ``cores`` serving cores; unchanged for None.

        Raises:
            OfframpError: fewer than one.
        """
        if cores is None:
            return self
        nodes = dict(self.hardware.nodes)
        for name, node in nodes.items():
            if node.kind is NodeType.CPU:
                if cores < 1:
                    raise OfframpError(f"node {name}: {cores} at a time, expected at least 1")
                nodes[name] = node.model_copy(update={"parallelism": cores})
        return self.model_copy(update={"hardware": self.hardware.model_copy(update={"nodes": nodes})})


DEFAULT_LINKS = {
    PathType.CPU_CPU: (["CN"], ["NC"]),
    PathType.CPU_ACC: (["CN"], ["NA"]),
    PathType.ACC_CPU: (["CA", "AN"], ["NC"]),
    PathType.ACC_ACC: (["CA", "AN"], ["NA"]),
}


def links_of(path: RequestPath) -> tuple[list[str], list[str]]:
    """Logical links at the requester and at the responder."""
    requester, responder = DEFAULT_LINKS[path.type]
    return path.requester or requester, path.responder or responder
