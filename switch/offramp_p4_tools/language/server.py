# SPDX-License-Identifier: Apache-2.0
"""The language server: LSP over standard input and output, by pygls."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import unquote, urlparse

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

from offramp_p4.source import NOWHERE, Pos
from offramp_p4_tools.language.document import Analysis, EditorProblem, Sources, analyse, completions
from offramp_p4_tools.language.symbols import Symbol

PAUSE_S: Final = 0.2
"""Seconds that typing must pause before a program is analysed again."""
_NAME: Final = re.compile(r"[A-Za-z_]\w*")
_NEIGHBOURS: Final = 64
"""Programs beside a file that are asked whether they include it."""

_SYMBOLS: Final = {
    "header": lsp.SymbolKind.Struct,
    "header union": lsp.SymbolKind.Struct,
    "struct": lsp.SymbolKind.Struct,
    "enum": lsp.SymbolKind.Enum,
    "member": lsp.SymbolKind.EnumMember,
    "field": lsp.SymbolKind.Field,
    "parameter": lsp.SymbolKind.Variable,
    "variable": lsp.SymbolKind.Variable,
    "instance": lsp.SymbolKind.Object,
    "constant": lsp.SymbolKind.Constant,
    "function": lsp.SymbolKind.Function,
    "method": lsp.SymbolKind.Method,
    "action": lsp.SymbolKind.Function,
    "table": lsp.SymbolKind.Array,
    "state": lsp.SymbolKind.Event,
    "parser": lsp.SymbolKind.Class,
    "control": lsp.SymbolKind.Class,
    "extern": lsp.SymbolKind.Interface,
    "package": lsp.SymbolKind.Package,
    "type": lsp.SymbolKind.TypeParameter,
    "type parameter": lsp.SymbolKind.TypeParameter,
}
_OUTLINED: Final = frozenset(_SYMBOLS) - {"parameter", "type parameter"}


class _AtPosition(Protocol):
    """A request about the name at a place."""

    text_document: lsp.TextDocumentIdentifier
    position: lsp.Position


class P4Server(LanguageServer):
    """Programs that an editor has open, each analysed when it has changed."""

    def __init__(self, include: Sequence[Path] = (), defines: Mapping[str, str] | None = None) -> None:
        super().__init__("offramp-p4", "1")
        self.include, self.defines = list(include), dict(defines or {})
        self._known: dict[str, Analysis] = {}
        self._pending: dict[str, asyncio.Task[None]] = {}
        self._published: set[str] = set()

    def configure(self, options: Any) -> None:
        """Take what the editor's configuration says: ``include``, a list, and ``defines``, a table."""
        given = options if isinstance(options, dict) else {}
        include, defines = given.get("include"), given.get("defines")
        if isinstance(include, list):
            self.include += [Path(each) for each in include if isinstance(each, str)]
        if isinstance(defines, dict):
            self.defines |= {str(name): str(value) for name, value in defines.items()}

    # --- documents -----------------------------------------------------------------------------------------

    @property
    def sources(self) -> Sources:
        """The present sources of programs."""
        opened = {str(_path(uri).resolve()): doc.source for uri, doc in self.workspace.text_documents.items()}
        return Sources(self.include, self.defines, opened)

    def analysis(self, uri: str) -> Analysis:
        """The analysis of the program that the file belongs to."""
        if uri not in self._known:
            self._known[uri] = self._analyse(_path(uri))
        return self._known[uri]

    def _analyse(self, path: Path) -> Analysis:
        """The analysis of the file or, where it is only part of a program, of a program beside it that includes it."""
        analysis = analyse(path, self.text(path), self.sources)
        if analysis.whole:
            return analysis
        for root in self._roots(path):
            whole = analyse(root, self.text(root), self.sources)
            if whole.whole and whole.resolver and any(s.pos.file == str(path) for s in whole.resolver.symbols):
                return whole
        return analysis

    def _roots(self, path: Path) -> list[Path]:
        """Programs that may include ``path``: open ones, then those beside and above it."""
        opened = [_path(uri) for uri in self.workspace.text_documents]
        folders = (path.parent, path.parent.parent)
        beside = [each for folder in folders for each in sorted(folder.glob("*.p4"))][:_NEIGHBOURS]
        return [each for each in dict.fromkeys([*opened, *beside]) if each != path and path.name in self.text(each)]

    def text(self, path: Path) -> str:
        """A file as the editor has it, or as it is on disk; nothing where it cannot be read."""
        doc = self.workspace.text_documents.get(path.as_uri())
        if doc is not None:
            return str(doc.source)
        try:
            return path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def changed(self, uri: str, *, at_once: bool = False) -> None:
        """Forget what was known of programs, and tell what is wrong with this one once typing pauses."""
        self._known.clear()
        waiting = self._pending.pop(uri, None)
        if waiting is not None:
            waiting.cancel()
        self._pending[uri] = asyncio.ensure_future(self._tell_later(uri, 0.0 if at_once else PAUSE_S))

    async def _tell_later(self, uri: str, pause_s: float) -> None:
        await asyncio.sleep(pause_s)
        if uri in self.workspace.text_documents:
            self.tell(uri)

    def tell(self, uri: str) -> None:
        """Publish what is wrong with the program of a file: in it, and in the files that it includes."""
        by_file: dict[str, list[EditorProblem]] = {uri: []}
        for problem in self.analysis(uri).problems:
            file = _uri(problem.pos) or uri
            by_file.setdefault(file, []).append(problem)
        for gone in self._published - by_file.keys():
            self._publish(gone, [])
        self._published = {file for file, problems in by_file.items() if problems}
        for file, problems in by_file.items():
            self._publish(file, problems)

    def _publish(self, uri: str, problems: Sequence[EditorProblem]) -> None:
        severities = {"error": lsp.DiagnosticSeverity.Error, "warning": lsp.DiagnosticSeverity.Warning}
        diagnostics = [
            lsp.Diagnostic(
                self.range(problem.pos, self._length(problem.pos)),
                problem.message,
                severities[problem.severity],
                code=problem.rule or None,
                source="offramp",
            )
            for problem in problems
        ]
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, diagnostics))

    # --- places --------------------------------------------------------------------------------------------

    def _line(self, file: str, line: int) -> str:
        lines = self.text(Path(file)).split("\n")
        return lines[line - 1] if 1 <= line <= len(lines) else ""

    def _length(self, pos: Pos) -> int:
        match = _NAME.match(self._line(pos.file, pos.line), max(0, pos.column - 1))
        return len(match[0]) if match else 1

    def range(self, pos: Pos, length: int) -> lsp.Range:
        """``length`` characters from a place, in the editor's units."""
        line = self._line(pos.file, pos.line)
        first = _units(line[: pos.column - 1])
        last = first + max(_units(line[pos.column - 1 : pos.column - 1 + length]), length if not line else 0)
        row = max(0, pos.line - 1)
        return lsp.Range(lsp.Position(row, first), lsp.Position(row, last))

    def place(self, uri: str, position: lsp.Position) -> Pos:
        """Position of the editor's cursor."""
        file = str(_path(uri))
        line, units, column = self._line(file, position.line + 1), 0, 0
        while column < len(line) and units < position.character:
            units += _units(line[column])
            column += 1
        return Pos(file, position.line + 1, column + 1)

    def symbol(self, params: _AtPosition) -> tuple[Symbol, Pos] | None:
        """The symbol under the cursor."""
        at = self.place(params.text_document.uri, params.position)
        return self.analysis(params.text_document.uri).symbol(at.file, at.line, at.column)

    def location(self, pos: Pos, name: str) -> lsp.Location | None:
        """A name as a place that the editor can open."""
        uri = _uri(pos)
        return None if uri is None else lsp.Location(uri, self.range(pos, len(name)))

    def locations(self, symbol: Symbol, *, declaration: bool = True) -> list[lsp.Location]:
        """Everywhere that a symbol is used."""
        places = [*([symbol.pos] if declaration else []), *symbol.uses]
        return [place for pos in dict.fromkeys(places) if (place := self.location(pos, symbol.name))]


def make_language_server(include: Sequence[Path] = (), defines: Mapping[str, str] | None = None) -> P4Server:
    """A server with every request registered; ``start_io`` runs it."""
    server = P4Server(include, defines)
    for method, handler in _HANDLERS.items():
        server.feature(method, *_OPTIONS.get(method, ()))(handler)
    return server


# --- requests ----------------------------------------------------------------------------------------------


def _initialized(server: P4Server, params: lsp.InitializeParams) -> None:
    server.configure(params.initialization_options)


def _opened(server: P4Server, params: lsp.DidOpenTextDocumentParams) -> None:
    server.changed(params.text_document.uri, at_once=True)


def _changed(server: P4Server, params: lsp.DidChangeTextDocumentParams) -> None:
    server.changed(params.text_document.uri)


def _saved(server: P4Server, params: lsp.DidSaveTextDocumentParams) -> None:
    server.changed(params.text_document.uri, at_once=True)


def _definition(server: P4Server, params: lsp.DefinitionParams) -> lsp.Location | None:
    target = server.symbol(params)
    return server.location(target[0].pos, target[0].name) if target else None


def _references(server: P4Server, params: lsp.ReferenceParams) -> list[lsp.Location]:
    target = server.symbol(params)
    return server.locations(target[0], declaration=params.context.include_declaration) if target else []


def _highlight(server: P4Server, params: lsp.DocumentHighlightParams) -> list[lsp.DocumentHighlight]:
    target = server.symbol(params)
    uri = params.text_document.uri
    return (
        [lsp.DocumentHighlight(each.range) for each in server.locations(target[0]) if each.uri == uri] if target else []
    )


def _hover(server: P4Server, params: lsp.HoverParams) -> lsp.Hover | None:
    target = server.symbol(params)
    if target is None:
        return None
    symbol, pos = target
    within = f"\n\nin {symbol.within.kind} `{symbol.within.name}`" if symbol.within else ""
    text = f"```p4\n{symbol.shown}\n```\n{symbol.kind}{within}"
    return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text), server.range(pos, len(symbol.name)))


def _prepare_rename(server: P4Server, params: lsp.PrepareRenameParams) -> lsp.Range | None:
    target = server.symbol(params)
    return server.range(target[1], len(target[0].name)) if target and _own(target[0]) else None


def _rename(server: P4Server, params: lsp.RenameParams) -> lsp.WorkspaceEdit | None:
    target = server.symbol(params)
    if target is None or not _own(target[0]) or not _NAME.fullmatch(params.new_name):
        return None
    changes: dict[str, list[lsp.TextEdit]] = {}
    for each in server.locations(target[0]):
        changes.setdefault(each.uri, []).append(lsp.TextEdit(each.range, params.new_name))
    return lsp.WorkspaceEdit(changes)


def _own(symbol: Symbol) -> bool:
    """Whether a name may be changed: it stands in a file of the user's, not in a macro or a built-in header."""
    from offramp_p4.frontend.syntax.includes import SYSTEM_INCLUDE

    file = Path(symbol.pos.file)
    return symbol.written and file.is_file() and SYSTEM_INCLUDE not in file.resolve().parents


def _completion(server: P4Server, params: lsp.CompletionParams) -> lsp.CompletionList:
    at = server.place(params.text_document.uri, params.position)
    path = Path(at.file)
    names = completions(path, server.text(path), at.line, at.column, server.sources)
    return lsp.CompletionList(is_incomplete=False, items=[_item(name, symbol) for name, symbol in names.items()])


def _item(name: str, symbol: Symbol | None) -> lsp.CompletionItem:
    if symbol is None:
        return lsp.CompletionItem(name, kind=lsp.CompletionItemKind.Keyword)
    kinds = {
        "field": lsp.CompletionItemKind.Field,
        "method": lsp.CompletionItemKind.Method,
        "function": lsp.CompletionItemKind.Function,
        "action": lsp.CompletionItemKind.Function,
        "constant": lsp.CompletionItemKind.Constant,
        "member": lsp.CompletionItemKind.EnumMember,
        "header": lsp.CompletionItemKind.Struct,
        "struct": lsp.CompletionItemKind.Struct,
        "type": lsp.CompletionItemKind.Class,
        "extern": lsp.CompletionItemKind.Interface,
    }
    return lsp.CompletionItem(
        name, kind=kinds.get(symbol.kind, lsp.CompletionItemKind.Variable), detail=symbol.shown or None
    )


def _outline(server: P4Server, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
    uri = params.text_document.uri
    analysis, file = server.analysis(uri), str(_path(uri))
    inside: dict[Symbol, list[lsp.DocumentSymbol]] = {}
    top: list[lsp.DocumentSymbol] = []
    for symbol in analysis.resolver.symbols if analysis.resolver else ():
        if symbol.pos.file != file or symbol.kind not in _OUTLINED:
            continue
        where, children = server.range(symbol.pos, len(symbol.name)), inside.setdefault(symbol, [])
        node = lsp.DocumentSymbol(symbol.name, _SYMBOLS[symbol.kind], where, where, symbol.shown, children=children)
        (inside.get(symbol.within, top) if symbol.within else top).append(node)
    return top


_HANDLERS: Final[dict[str, Callable[..., object]]] = {
    lsp.INITIALIZE: _initialized,
    lsp.TEXT_DOCUMENT_DID_OPEN: _opened,
    lsp.TEXT_DOCUMENT_DID_CHANGE: _changed,
    lsp.TEXT_DOCUMENT_DID_SAVE: _saved,
    lsp.TEXT_DOCUMENT_DEFINITION: _definition,
    lsp.TEXT_DOCUMENT_REFERENCES: _references,
    lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT: _highlight,
    lsp.TEXT_DOCUMENT_HOVER: _hover,
    lsp.TEXT_DOCUMENT_PREPARE_RENAME: _prepare_rename,
    lsp.TEXT_DOCUMENT_RENAME: _rename,
    lsp.TEXT_DOCUMENT_COMPLETION: _completion,
    lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: _outline,
}
_OPTIONS: Final[dict[str, tuple[object, ...]]] = {
    lsp.TEXT_DOCUMENT_COMPLETION: (lsp.CompletionOptions(trigger_characters=["."]),),
    lsp.TEXT_DOCUMENT_RENAME: (lsp.RenameOptions(prepare_provider=True),),
}


def _path(uri: str) -> Path:
    """The file of a URI; another scheme's name, which no file has, for documents that were never saved."""
    parsed = urlparse(uri)
    return Path(unquote(parsed.path)) if parsed.scheme == "file" else Path(f"<{uri}>")


def _uri(pos: Pos) -> str | None:
    """The URI of the file that holds a place; None where there is no file."""
    if pos == NOWHERE or not pos.file or pos.file.startswith("<"):
        return None
    return Path(pos.file).absolute().as_uri()


def _units(text: str) -> int:
    """UTF-16 code units, in which editors count."""
    return len(text.encode("utf-16-le")) // 2
