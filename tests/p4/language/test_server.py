# SPDX-License-Identifier: Apache-2.0
"""A recorded session of an editor with the language server, over the command's standard input and output.

Blind to editors' own behaviour: the client is pygls's.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.full

lsp = pytest.importorskip("lsprotocol.types")
client = pytest.importorskip("pygls.lsp.client")

PROGRAM = """\
#include <core.p4>
#include <v1model.p4>
#include "headers.p4"
#define PORT(n) 9w##n
struct headers_t { eth_t eth; eth_t[3] more; }
struct meta_t { bit<8> hops; }
parser P(packet_in p, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { p.extract(hdr.eth); transition select(hdr.eth.kind) { KIND: more; default: accept; } }
    state more { p.extract(hdr.more.next); transition accept; }
}
control V(inout headers_t hdr, inout meta_t meta) { apply { } }
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    register<bit<32>>(8) seen;
    action drop() { mark_to_drop(std); }
    action send(bit<9> port) { std.egress_spec = port; }
    table hosts {
        key = { hdr.eth.dst: exact; }
        actions = { send; drop; }
        default_action = send(PORT(3));
        size = 64;
    }
    apply {
        bit<32> count;
        seen.read(count, 0);
        /* é𝄞 */ seen.write(0, count + 1);
        if (hosts.apply().hit) { hdr.eth.dst = hdr.more[0].dst; }
    }
}
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) { apply { } }
control C(inout headers_t hdr, inout meta_t meta) { apply { } }
control D(packet_out p, in headers_t hdr) { apply { p.emit(hdr); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
"""
COMMAND = ("switch", "language-server")
HEADERS = """\
#ifndef HEADERS
#define HEADERS
header eth_t { bit<48> dst; bit<48> src; bit<16> kind; }
const bit<16> KIND = 0x88B5;
#endif
"""


class Editor:
    """An editor with both files, and what the server told it of faults."""

    def __init__(self, folder: Path) -> None:
        self.client = client.LanguageClient("editor", "1")
        self.texts = {"program.p4": PROGRAM, "headers.p4": HEADERS}
        self.folder = folder
        self.published_by_server: asyncio.Queue[lsp.PublishDiagnosticsParams] = asyncio.Queue()

        @self.client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def _(params: lsp.PublishDiagnosticsParams) -> None:
            self.published_by_server.put_nowait(params)

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    async def start(self) -> None:
        for name, text in self.texts.items():
            (self.folder / name).write_text(text)
        await self.client.start_io(sys.executable, "-m", "offramp", *COMMAND)
        await self.client.initialize_async(lsp.InitializeParams(capabilities=lsp.ClientCapabilities()))
        self.client.initialized(lsp.InitializedParams())
        self.open("program.p4")
        assert (await self.faults("program.p4")) == []

    def open(self, name: str) -> None:
        item = lsp.TextDocumentItem(self.uri(name), "p4", 1, self.texts[name])
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))

    def change(self, name: str, old: str, new: str) -> None:
        assert old in self.texts[name]
        self.texts[name] = self.texts[name].replace(old, new, 1)
        whole = lsp.TextDocumentContentChangeWholeDocument(self.texts[name])
        known = lsp.VersionedTextDocumentIdentifier(2, self.uri(name))
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(known, [whole]))

    async def faults(self, name: str) -> list[str]:
        while True:
            published = await asyncio.wait_for(self.published_by_server.get(), 60)
            if published.uri == self.uri(name):
                return [f"{each.range.start.line + 1}: {each.message}" for each in published.diagnostics]

    def at(self, name: str, text: str, inside: int = 0) -> dict[str, object]:
        """The place ``inside`` characters into the first occurrence of ``text``."""
        before = self.texts[name][: self.texts[name].index(text) + inside]
        line = before[before.rfind("\n") + 1 :]
        place = lsp.Position(before.count("\n"), len(line.encode("utf-16-le")) // 2)
        return {"text_document": lsp.TextDocumentIdentifier(self.uri(name)), "position": place}

    def shown(self, locations: list[lsp.Location]) -> list[tuple[str, str]]:
        """File and what stands there, of each location."""
        texts = []
        for each in locations:
            name = each.uri.rsplit("/", 1)[1]
            line = self.texts[name].split("\n")[each.range.start.line].encode("utf-16-le")
            span = line[2 * each.range.start.character : 2 * each.range.end.character]
            texts.append((name, span.decode("utf-16-le")))
        return texts

    async def complete(self, name: str, text: str) -> list[str]:
        asked = lsp.CompletionParams(**self.at(name, text, len(text)))
        completions = await self.client.text_document_completion_async(asked)
        return [item.label for item in completions.items]


def session(folder: Path, script: Callable[[Editor], Awaitable[None]]) -> None:
    async def run() -> None:
        editor = Editor(folder)
        await editor.start()
        try:
            await script(editor)
        finally:
            await editor.client.shutdown_async(None)
            editor.client.exit(None)
            await editor.client.stop()

    asyncio.run(asyncio.wait_for(run(), 180))


def test_definitions_references_hover_and_outline(tmp_path: Path) -> None:
    async def script(editor: Editor) -> None:
        ask = editor.client
        target = await ask.text_document_definition_async(
            lsp.DefinitionParams(**editor.at("program.p4", "eth.kind", 5))
        )
        assert editor.shown([target]) == [("headers.p4", "kind")]
        assert target.range.start.line == 2
        context = lsp.ReferenceContext(include_declaration=True)
        asked = lsp.ReferenceParams(context=context, **editor.at("headers.p4", "dst", 1))
        editor.open("headers.p4")  # a part: its program is found beside it
        assert editor.shown(await ask.text_document_references_async(asked)) == [
            ("headers.p4", "dst"),
            ("program.p4", "dst"),
            ("program.p4", "dst"),
            ("program.p4", "dst"),
        ]
        for text, inside, expected in (
            ("hdr.more[0].dst", 12, "bit<48> dst"),
            ("std.egress_spec", 5, "bit<9> egress_spec"),
            ("seen.read", 6, "void read(out T result, in bit<32> index)"),
            ("mark_to_drop(std)", 3, "mark_to_drop(inout standard_metadata_t"),
            ("hosts.apply", 1, "table hosts"),
            ("count + 1", 0, "bit<32> count"),
        ):
            hover = await ask.text_document_hover_async(lsp.HoverParams(**editor.at("program.p4", text, inside)))
            assert expected in hover.contents.value, text
        document = lsp.TextDocumentIdentifier(editor.uri("program.p4"))
        outline = await ask.text_document_document_symbol_async(lsp.DocumentSymbolParams(document))
        names = {each.name: [child.name for child in each.children] for each in outline}
        assert names["I"] == ["seen", "drop", "send", "hosts", "count"]
        assert names["P"] == ["start", "more"]

    session(tmp_path, script)


def test_faults_while_typing_and_what_may_be_written(tmp_path: Path) -> None:
    async def script(editor: Editor) -> None:
        editor.change("program.p4", "hdr.eth.dst: exact", "hdr.eth.dts: exact")
        (fault,) = await editor.faults("program.p4")
        assert fault.startswith("17: ")
        assert "dts" in fault
        editor.change("program.p4", "hdr.eth.dts: exact", "hdr.eth.")
        (fault,) = await editor.faults("program.p4")
        assert fault.startswith("17: ")
        assert {"dst", "src", "kind", "isValid"} == set(await editor.complete("program.p4", "key = { hdr.eth.")) - {
            "setValid", "setInvalid", "minSizeInBits", "minSizeInBytes", "maxSizeInBits", "maxSizeInBytes",
        }  # fmt: skip
        assert {"next", "last"} <= set(await editor.complete("program.p4", "p.extract(hdr.more."))
        offered = await editor.complete("program.p4", "actions = { s")
        assert {"send", "drop", "std", "bit"} <= set(offered)
        assert "port" not in offered
        editor.change("program.p4", "hdr.eth.; }", "hdr.eth.dst: exact; }")
        assert await editor.faults("program.p4") == []

    session(tmp_path, script)


def test_renaming_changes_every_use_and_nothing_that_is_not_ours(tmp_path: Path) -> None:
    async def script(editor: Editor) -> None:
        async def rename(name: str, text: str, inside: int, new: str) -> lsp.WorkspaceEdit | None:
            return await editor.client.text_document_rename_async(
                lsp.RenameParams(new_name=new, **editor.at(name, text, inside))
            )

        assert await rename("program.p4", "mark_to_drop(std)", 2, "x") is None  # v1model's
        assert await rename("program.p4", "seen;", 0, "1x") is None
        edit = await rename("program.p4", "seen;", 0, "visits")
        for uri, changes in edit.changes.items():
            name = uri.rsplit("/", 1)[1]
            lines = [line.encode("utf-16-le") for line in editor.texts[name].split("\n")]
            for change in sorted(changes, key=lambda each: -each.range.start.character):
                row, first, last = change.range.start.line, change.range.start.character, change.range.end.character
                new = change.new_text.encode("utf-16-le")
                lines[row] = lines[row][: 2 * first] + new + lines[row][2 * last :]
            text = "\n".join(line.decode("utf-16-le") for line in lines)
            assert text == editor.texts[name].replace("seen", "visits")
            editor.texts[name] = text
        editor.change(name, "visits", "visits")
        assert await editor.faults("program.p4") == []

    session(tmp_path, script)
