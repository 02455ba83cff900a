# SPDX-License-Identifier: Apache-2.0
"""MSCCL programs as XML, in the form that MSCCL's runtime reads (``src/graph/topo.cc``)."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Final
from xml.sax.saxutils import quoteattr

from offramp.themis.msccl.program import (
    COLLECTIVES,
    MOST_CHANNELS,
    SLOTS,
    GpuBuffer,
    GpuProgram,
    MscclProgram,
    Place,
    Step,
    StepType,
    ThreadBlock,
)
from offramp_base.arguments import control_character
from offramp_base.documents import read_text
from offramp_base.errors import OfframpError
from offramp_base.numerals import whole_number

_MOST_BYTES: Final = 64 << 20
_MOST: Final = 1 << 20
"""Largest number in a file, and most steps times chunks."""
_MOST_GPUS: Final = 4096
_MOST_CHUNKS: Final = 1 << 24
"""Most chunks in the memory of all GPUs."""


def to_xml(program: MscclProgram) -> str:
    """The program as XML; it holds for every size."""
    name = next(name for name, collective in COLLECTIVES.items() if collective is program.collective)
    in_place = int(program.in_place)
    head = f'<algo name={quoteattr(program.name)} proto="{program.protocol}" nchannels="{program.channels}"'
    head += f' nchunksperloop="{program.chunks}" ngpus="{len(program.gpus)}" coll="{name}"'
    head += f' inplace="{in_place}" outofplace="{1 - in_place}" minBytes="0" maxBytes="{2**63 - 1}">'
    lines = [head]
    chunks = f'i_chunks="{program.input_chunks}" o_chunks="{program.output_chunks}"'
    for rank, gpu in enumerate(program.gpus):
        lines.append(f'  <gpu id="{rank}" {chunks} s_chunks="{gpu.scratch}">')
        for number, block in enumerate(gpu.blocks):
            peers = f'send="{block.send}" recv="{block.receive}" chan="{block.channel}"'
            lines.append(f'    <tb id="{number}" {peers}>')
            lines += [f'      <step s="{at}" {_attributes(step)}/>' for at, step in enumerate(block.steps)]
            lines.append("    </tb>")
        lines.append("  </gpu>")
    return "\n".join([*lines, "</algo>", ""])


def _attributes(step: Step) -> str:
    block, at = step.after or (-1, -1)
    source, target = step.source, step.target
    return (
        f'type="{step.type}" srcbuf="{source.buffer}" srcoff="{source.offset}" dstbuf="{target.buffer}" '
        f'dstoff="{target.offset}" cnt="{step.count}" depid="{block}" deps="{at}" hasdep="{int(step.signals)}"'
    )


def read_program(path: Path) -> MscclProgram:
    """The program in a file.

    Raises:
        OfframpError: names the file, and the element and attribute that is wrong.
    """
    try:
        return parse(read_text(path, _MOST_BYTES))
    except OfframpError as error:
        raise OfframpError(f"{path}: {error}") from None


def parse(text: str) -> MscclProgram:
    """The program that XML describes.

    Raises:
        OfframpError: names the element and attribute that is wrong.
    """
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise OfframpError("expected XML without a document type, whose entities can grow without limit")
    try:
        root = ET.fromstring(text)  # noqa: S314 - without a document type there are no entities
    except (ET.ParseError, ValueError) as error:
        raise OfframpError(f"expected XML: {error}") from None
    return _Reader(root).program()


class _Reader:
    def __init__(self, root: ET.Element) -> None:
        if root.tag != "algo":
            raise OfframpError(f"expected an element algo, not {root.tag:.40}")
        self.root = root
        self.gpus = _number(root, "ngpus", "algo", 2, _MOST_GPUS)

    def program(self) -> MscclProgram:
        root = self.root
        collective = COLLECTIVES.get(_text(root, "coll", "algo"))
        if collective is None:
            raise OfframpError(f"algo: coll {root.get('coll'):.40}: expected one of {', '.join(COLLECTIVES)}")
        protocol = _text(root, "proto", "algo")
        if protocol not in SLOTS:
            raise OfframpError(f"algo: proto {protocol:.40}: expected one of {', '.join(SLOTS)}")
        chunks = _number(root, "nchunksperloop", "algo", 1)
        if chunks % self.gpus and collective.value != "all-reduce":
            raise OfframpError(f"algo: nchunksperloop {chunks}: expected a multiple of the {self.gpus} GPUs")
        gpus: dict[int, GpuProgram] = {}
        for element in root:
            rank = _number(element, "id", "gpu", 0, self.gpus - 1)
            if rank in gpus:
                raise OfframpError(f"gpu {rank}: for a second time")
            gpus[rank] = self.gpu(element, f"gpu {rank}")
        missing = next((rank for rank in range(self.gpus) if rank not in gpus), None)
        if missing is not None:
            raise OfframpError(f"gpu {missing}: expected a program for each of {self.gpus} GPUs")
        in_place = _number(root, "inplace", "algo", 0, 1)
        name = root.get("name", "msccl")
        if control_character(name):
            raise OfframpError("algo: name: expected a text without control characters")
        program = MscclProgram(
            name, collective, protocol, chunks, bool(in_place), [gpus[rank] for rank in range(self.gpus)]
        )
        if sum(max(1, step.count) for step in program.steps()) > _MOST:
            raise OfframpError(f"expected at most {_MOST} chunks in all steps")
        self._expect_inside(program)
        self._expect_ends(program)
        return program

    def gpu(self, element: ET.Element, where: str) -> GpuProgram:
        blocks: dict[int, ThreadBlock] = {}
        for child in element:
            number = _number(child, "id", f"{where}: tb", 0)
            here = f"{where}: tb {number}"
            if number in blocks:
                raise OfframpError(f"{here}: for a second time")
            send, receive = (_number(child, key, here, -1, self.gpus - 1) for key in ("send", "recv"))
            channel = _number(child, "chan", here, -1, MOST_CHANNELS - 1)
            steps = [self.step(each, f"{here}: step {at}", at) for at, each in enumerate(child)]
            for at, step in enumerate(steps):
                if (step.type.sends and send < 0) or (step.type.receives and receive < 0):
                    raise OfframpError(f"{here}: step {at}: {step.type}: expected a peer in send or recv of the tb")
            blocks[number] = ThreadBlock(send, receive, channel, steps)
        if sorted(blocks) != list(range(len(blocks))):
            raise OfframpError(f"{where}: tb: expected numbers from 0 to {len(blocks) - 1}")
        for number, block in blocks.items():
            for at, step in enumerate(block.steps):
                if step.after is not None and not (
                    step.after[0] in blocks and step.after[1] < len(blocks[step.after[0]].steps)
                ):
                    raise OfframpError(f"{where}: tb {number}: step {at}: depid, deps {step.after}: no such step")
        return GpuProgram([blocks[number] for number in sorted(blocks)], _number(element, "s_chunks", where, 0))

    def step(self, element: ET.Element, where: str, at: int) -> Step:
        if _number(element, "s", where, 0) != at:
            raise OfframpError(f"{where}: expected steps in order, from s 0")
        name = _text(element, "type", where)
        if name not in set(StepType):
            raise OfframpError(f"{where}: type {name:.40}: expected one of {', '.join(StepType)}")
        kind = StepType(name)
        waits = kind is StepType.NOP
        count = _number(element, "cnt", where, 0 if waits else 1)
        block, step = (_number(element, key, where, -1) for key in ("depid", "deps"))
        return Step(
            kind,
            _place(element, "src", where),
            _place(element, "dst", where),
            0 if waits else count,
            None if block < 0 else (block, max(0, step)),
            bool(_number(element, "hasdep", where, 0, 1)),
        )

    @staticmethod
    def _expect_inside(program: MscclProgram) -> None:
        chunks = 2 * program.chunks * len(program.gpus) + sum(gpu.scratch for gpu in program.gpus)
        if chunks > _MOST_CHUNKS:
            raise OfframpError(f"{chunks} chunks on {len(program.gpus)} GPUs: expected at most {_MOST_CHUNKS}")
        for rank, gpu in enumerate(program.gpus):
            sizes = {
                GpuBuffer.INPUT: program.input_chunks,
                GpuBuffer.OUTPUT: program.output_chunks,
                GpuBuffer.SCRATCH: gpu.scratch,
            }
            for number, block in enumerate(gpu.blocks):
                for at, step in enumerate(block.steps):
                    used = [step.source] * step.type.reads + [step.target] * step.type.writes
                    for place in used:
                        if not 0 <= place.offset <= sizes[place.buffer] - step.count:
                            raise OfframpError(
                                f"gpu {rank}: tb {number}: step {at}: chunks {place.offset} to "
                                f"{place.offset + step.count - 1} of buffer {place.buffer}: it has "
                                f"{sizes[place.buffer]}"
                            )

    @staticmethod
    def _expect_ends(program: MscclProgram) -> None:
        """One thread block at each end of a connection, as the runtime sets them up."""
        ends: dict[tuple[str, int, int, int], int] = {}
        for rank, gpu in enumerate(program.gpus):
            for number, block in enumerate(gpu.blocks):
                if rank in (block.send, block.receive):
                    raise OfframpError(f"gpu {rank}: tb {number}: expected another GPU as its peer")
                for key, peer in (("send", block.send), ("recv", block.receive)):
                    if peer >= 0 and ends.setdefault((key, rank, peer, block.channel), number) != number:
                        raise OfframpError(
                            f"gpu {rank}: tb {number}: {key} {peer} on channel {block.channel} is tb "
                            f"{ends[key, rank, peer, block.channel]}'s"
                        )


def _text(element: ET.Element, key: str, where: str) -> str:
    value = element.get(key)
    if value is None:
        raise OfframpError(f"{where}: {key}: expected a value")
    return value


def _number(element: ET.Element, key: str, where: str, least: int, most: int = _MOST) -> int:
    text = _text(element, key, where)
    negative = text.startswith("-")
    value = whole_number(text[negative:])
    if value is None or not least <= (number := -value if negative else value) <= most:
        raise OfframpError(f"{where}: {key} {text:.40}: expected a whole number from {least} to {most}")
    return number


def _place(element: ET.Element, key: str, where: str) -> Place:
    buffer = _text(element, f"{key}buf", where)
    if buffer not in set(GpuBuffer):
        raise OfframpError(f"{where}: {key}buf {buffer:.40}: expected one of {', '.join(GpuBuffer)}")
    return Place(GpuBuffer(buffer), _number(element, f"{key}off", where, -1))
