# SPDX-License-Identifier: Apache-2.0
"""Recursive descent over declarations (P4-16 specification, sections 7, 10, 13 to 16)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_p4.frontend.syntax import ast
from offramp_p4.frontend.syntax.statements import StatementParser
from offramp_p4.source import P4Error, Pos

if TYPE_CHECKING:
    from collections.abc import Sequence

    from offramp_p4.frontend.syntax.lexer import Lexeme


class Parser(StatementParser):
    """A whole program."""

    def __init__(self, tokens: Sequence[Lexeme]) -> None:
        super().__init__(tokens)
        self._inner: list[ast.Decl] = []  # types declared inside the declaration at hand

    def program(self) -> list[ast.Decl]:
        """All top-level declarations."""
        out: list[ast.Decl] = []
        while self.token.kind != "eof":
            if self.accept(";"):
                continue
            decl = self._top()
            if decl is not None:
                out += [*self._inner, decl]
                self._inner = []
        return out

    def _top(self) -> ast.Decl | None:
        annotations = self.annotations()
        t = self.token
        match t.text if t.kind in ("id", "op") else "":
            case "const":
                return self.constant(annotations)
            case "extern":
                return self._extern(annotations)
            case "action" if self.ahead().kind == "id":
                return self._action(annotations)
            case "parser":
                return self._parser(annotations)
            case "control":
                return self._control(annotations)
            case "package":
                return self._package(annotations)
            case "struct" | "header" | "header_union":
                return self._struct(annotations)
            case "enum":
                return self._enum(annotations)
            case "typedef" | "type" if t.text == "typedef" or self.ahead().kind == "id":
                return self._typedef(annotations)
            case "match_kind":
                return self._names(annotations)
            case "error" if self.ahead().text == "{":
                return self._names(annotations)
        if self.at_type():
            return self._typed(annotations)
        if t.kind == "id" and self.ahead().kind == "id" and self.ahead(2).text == "<":
            return self._generic_function(annotations)
        if t.kind == "id":
            raise P4Error(t.pos, f"'{t.text}' is neither a declaration keyword nor a type")
        raise P4Error(t.pos, f"expected a declaration, found {t}")

    def _typed(self, annotations: list[ast.Annot]) -> ast.Decl:
        """An instance, a function or a variable: all begin with a type."""
        node = self.type()
        if self.at("("):
            args, names = self.arguments()
            return self.instance_tail(node, args, names, annotations)
        pos = self.pos
        name = self.name("a name")
        if self.at("(", "<"):
            self.declare(name, is_type=False)
            return self.function_tail(pos, annotations, node, name, self._type_parameters())
        raise P4Error(self.pos, f"expected '(' after '{name}': variables cannot be declared at top level")

    def _generic_function(self, annotations: list[ast.Annot]) -> ast.FunctionDecl:
        """``T f<T>(T x) { ... }``: the return type is a type parameter that is declared behind it."""
        mark = self.mark()
        _, type_params = self._prototype_head(skip_type=True)
        self.reset(mark)
        with self.scope(type_params):
            returns = self.type()
        pos = self.pos
        name, _ = self._prototype_head(skip_type=False)
        self.declare(name, is_type=False)
        return self.function_tail(pos, annotations, returns, name, type_params)

    def _type_parameters(self) -> list[str]:
        if not self.accept("<"):
            return []
        out = [self.name("a type parameter")]
        while self.accept(","):
            out.append(self.name("a type parameter"))
        self.expect(">", "after type parameters")
        return out

    def _declare_type(self, what: str) -> tuple[Lexeme, str]:
        token = self.token
        name = self.name(what)
        self.declare(name, is_type=True)
        return token, name

    # --- types ---------------------------------------------------------------------------------------------

    def _struct(self, annotations: list[ast.Annot]) -> ast.StructDecl:
        kind = self.next().text
        token, name = self._declare_type(f"the name of a {kind}")
        type_params = self._type_parameters()
        fields: list[ast.FieldDecl] = []
        self.expect("{", "to begin the fields")
        with self.scope(type_params):
            while not self.accept("}"):
                notes = self.annotations()
                node = self.type()
                pos = self.pos
                field = self.name("a field name")
                fields.append(ast.FieldDecl(pos, notes, self._array_suffix(node), field))
                self.expect(";", "after a field")
        return ast.StructDecl(token.pos, annotations, name, kind, type_params, fields)

    def _enum(self, annotations: list[ast.Annot]) -> ast.EnumDecl:
        self.next()
        base = None
        if self.at_type() and self.ahead().text != "{":
            base = self.type()
        token, name = self._declare_type("the name of an enum")
        self.expect("{", "to begin the members")
        members: list[tuple[str, ast.Expr | None, Pos]] = []
        while not self.at("}"):
            self.annotations()
            pos = self.pos
            member = self.name("an enum member")
            members.append((member, self.expression() if self.accept("=") else None, pos))
            if not self.accept(","):
                break
        self.expect("}", "after the members")
        return ast.EnumDecl(token.pos, annotations, name, base, members)

    def _typedef(self, annotations: list[ast.Annot]) -> ast.Decl:
        fresh = self.next().text == "type"
        if self.at("struct", "header", "header_union", "enum"):
            declared = self._enum([]) if self.at("enum") else self._struct([])
            self._inner.append(declared)
            node: ast.TypeNode = ast.NamedType(declared.pos, declared.name)
        else:
            node = self.type()
        token, name = self._declare_type("a type name")
        node = self._array_suffix(node)
        self.expect(";", "after a type name")
        return ast.TypedefDecl(token.pos, annotations, name, node, fresh)

    def _names(self, annotations: list[ast.Annot]) -> ast.NamesDecl:
        t = self.next()
        self.expect("{")
        members: list[tuple[str, Pos]] = []
        while not self.at("}"):
            pos = self.pos
            members.append((self.name("a name"), pos))
            if not self.accept(","):
                break
        self.expect("}")
        return ast.NamesDecl(t.pos, annotations, t.text, members)

    # --- externs and packages ------------------------------------------------------------------------------

    def _extern(self, annotations: list[ast.Annot]) -> ast.Decl:
        self.next()
        if self.token.kind == "id" and self.ahead().text in ("{", "<", ";") and not self._extern_is_function():
            token, name = self._declare_type("the name of an extern")
            type_params = self._type_parameters()
            methods: list[ast.FunctionDecl] = []
            if not self.accept(";"):
                self.expect("{", "to begin the methods")
                with self.scope(type_params):
                    while not self.accept("}"):
                        methods.append(self._method(name))
            return ast.ExternDecl(token.pos, annotations, name, type_params, methods)
        return self._prototype(annotations, abstract=False)

    def _extern_is_function(self) -> bool:
        """Whether ``name <...`` is a return type (``T<X> f(...)``) rather than a new extern type."""
        mark = self.mark()
        self.next()
        if self.at("<"):
            depth = 0
            while self.token.kind != "eof":
                text = self.next().text
                depth += (text == "<") - (text == ">")
                if depth == 0:
                    break
        is_type = self.at("{", ";")
        self.reset(mark)
        return not is_type

    def _method(self, owner: str) -> ast.FunctionDecl:
        annotations = self.annotations()
        abstract = self.accept("abstract")
        if self.at("void") and self.ahead().text == owner:
            raise P4Error(self.pos, f"the constructor of '{owner}' has no return type")
        if self.token.text == owner and self.ahead().text == "(":
            pos = self.next().pos
            with self.scope():
                params = self.parameters()
            self.expect(";", "after a constructor")
            return ast.FunctionDecl(pos, annotations, owner, [], params, ast.BaseType(pos, "void"), None)
        return self._prototype(annotations, abstract)

    def _prototype(self, annotations: list[ast.Annot], abstract: bool) -> ast.FunctionDecl:
        mark = self.mark()
        name, type_params = self._prototype_head(skip_type=True)
        self.reset(mark)
        with self.scope(type_params):  # the return type may name the type parameters that follow it
            returns = self.type()
            pos = self.pos
            self._prototype_head(skip_type=False)
            params = self.parameters()
            self.expect(";", "after an extern function")
        self.declare(name, is_type=False)
        return ast.FunctionDecl(pos, annotations, name, type_params, params, returns, None, abstract)

    def _prototype_head(self, skip_type: bool) -> tuple[str, list[str]]:
        if skip_type:
            # "T name<T>(": the type cannot be parsed yet, so skip to the name before "(" or "<...>(".
            depth = 0
            while self.token.kind != "eof":
                text = self.token.text
                if depth == 0 and self.token.kind == "id" and self.ahead().text in ("(", "<"):
                    here = self.mark()
                    self.next()
                    if self.at("("):
                        self.reset(here)
                        break
                    params = self._try_type_parameters()
                    if params is not None and self.at("("):
                        self.reset(here)
                        break
                    self.reset(here)
                depth += (text == "<") - (text == ">")
                self.next()
        name = self.name("the name of a function")
        return name, self._type_parameters()

    def _try_type_parameters(self) -> list[str] | None:
        try:
            return self._type_parameters()
        except P4Error:
            return None

    def _package(self, annotations: list[ast.Annot]) -> ast.PackageDecl:
        self.next()
        token, name = self._declare_type("the name of a package")
        type_params = self._type_parameters()
        with self.scope(type_params):
            params = self.parameters()
        self.expect(";", "after a package")
        return ast.PackageDecl(token.pos, annotations, name, type_params, params)

    # --- parsers -------------------------------------------------------------------------------------------

    def _parser(self, annotations: list[ast.Annot]) -> ast.ParserDecl:
        self.next()
        token, name = self._declare_type("the name of a parser")
        type_params = self._type_parameters()
        with self.scope(type_params):
            params = self.parameters()
            if self.accept(";"):
                return ast.ParserDecl(token.pos, annotations, name, type_params, params, [], [], None)
            ctor = self.parameters() if self.at("(") else []
            self.expect("{", "to begin the parser")
            local: list[ast.Decl] = []
            states: list[ast.StateDecl] = []
            while not self.at("}"):
                notes = self.annotations()
                if self.at("state"):
                    states.append(self._state(notes))
                else:
                    local.append(self._element(notes, "parser"))
            self.next()
        return ast.ParserDecl(token.pos, annotations, name, type_params, params, ctor, local, states)

    def _element(self, annotations: list[ast.Annot], where: str) -> ast.Decl:
        """A local declaration of a parser or control."""
        if self.at("const"):
            return self.constant(annotations)
        if self.at("value_set"):
            return self._value_set(annotations)
        if where == "control":
            if self.at("action"):
                return self._action(annotations)
            if self.at("table"):
                return self._table(annotations)
        if not self.at_type():
            raise P4Error(self.pos, f"expected a declaration in this {where}, found {self.token}")
        node = self.type()
        if self.at("("):
            args, names = self.arguments()
            return self.instance_tail(node, args, names, annotations)
        return self.variable(node, annotations)

    def _value_set(self, annotations: list[ast.Annot]) -> ast.ValueSetDecl:
        self.next()
        self.expect("<")
        node = self.type()
        self.expect(">")
        self.expect("(", "before the size of a value set")
        size = self.expression()
        self.expect(")")
        pos = self.pos
        name = self.name("the name of a value set")
        self.declare(name, is_type=False)
        self.expect(";", "after a value set")
        return ast.ValueSetDecl(pos, annotations, name, node, size)

    def _state(self, annotations: list[ast.Annot]) -> ast.StateDecl:
        self.next()
        pos = self.pos
        name = self.name("the name of a state")
        body: list[ast.Stmt] = []
        select: list[ast.Expr] = []
        cases: list[ast.CaseDecl] = []
        self.expect("{", "to begin the state")
        with self.scope():
            while not self.at("transition", "}"):
                body.append(self.statement())
            if self.accept("transition"):
                if self.at("select"):
                    select, cases = self._select()
                else:
                    at = self.pos
                    cases = [ast.CaseDecl(at, ast.WildcardExpr(at), self.name("a state"))]
                    self.expect(";", "after a transition")
            else:
                cases = [
                    ast.CaseDecl(self.pos, ast.WildcardExpr(self.pos), "reject")
                ]  # section 13.5: no transition rejects
        self.expect("}", "to end the state")
        return ast.StateDecl(pos, annotations, name, body, select, cases)

    def _select(self) -> tuple[list[ast.Expr], list[ast.CaseDecl]]:
        self.next()
        select, _ = self.arguments()
        self.expect("{", "to begin the cases of select")
        cases: list[ast.CaseDecl] = []
        while not self.accept("}"):
            pos = self.pos
            keys = self.key_set()
            self.expect(":", "after a key")
            cases.append(ast.CaseDecl(pos, keys, self.name("a state")))
            self.expect(";", "after a case of select")
        return select, cases

    # --- controls ------------------------------------------------------------------------------------------

    def _control(self, annotations: list[ast.Annot]) -> ast.ControlDecl:
        self.next()
        token, name = self._declare_type("the name of a control")
        type_params = self._type_parameters()
        with self.scope(type_params):
            params = self.parameters()
            if self.accept(";"):
                return ast.ControlDecl(token.pos, annotations, name, type_params, params, [], [], None)
            ctor = self.parameters() if self.at("(") else []
            self.expect("{", "to begin the control")
            local: list[ast.Decl] = []
            while not self.at("apply"):
                local.append(self._element(self.annotations(), "control"))
            self.next()
            body = self.block()
            self.expect("}", "after the apply block")
        return ast.ControlDecl(token.pos, annotations, name, type_params, params, ctor, local, body)

    def _action(self, annotations: list[ast.Annot]) -> ast.ActionDecl:
        self.next()
        pos = self.pos
        name = self.name("the name of an action")
        with self.scope():
            params = self.parameters()
            body = self.block()
        self.declare(name, is_type=False)
        return ast.ActionDecl(pos, annotations, name, params, body)

    def _table(self, annotations: list[ast.Annot]) -> ast.TableDecl:
        self.next()
        pos = self.pos
        table = ast.TableDecl(pos, annotations, self.name("the name of a table"))
        self.declare(table.name, is_type=False)
        self.expect("{", "to begin the table")
        while not self.accept("}"):
            self._property(table)
        return table

    def _property(self, table: ast.TableDecl) -> None:
        annotations = self.annotations()
        const = self.accept("const")
        pos = self.pos
        if self.token.kind != "id":
            raise P4Error(pos, f"expected a table property, found {self.token}")
        name = self.next().text
        self.expect("=", f"after '{name}'")
        match name:
            case "key":
                self.expect("{")
                while not self.accept("}"):
                    at, expr = self.pos, self.expression()
                    self.expect(":", "before the match kind")
                    kind = self.name("a match kind")
                    table.keys.append(ast.KeyElement(at, expr, kind, self.annotations()))
                    self.expect(";", "after a key element")
            case "actions":
                table.has_actions = True
                self.expect("{")
                while not self.accept("}"):
                    table.actions.append(self._action_ref(self.annotations()))
                    self.expect(";", "after an action")
            case "default_action":
                table.default, table.const_default = self._action_ref([]), const
                self.expect(";", "after the default action")
            case "entries":
                if not table.keys and self.ahead().text != "}":
                    raise P4Error(pos, "the entries of a table stand behind its key")
                table.const_entries = const
                self.expect("{")
                while not self.accept("}"):
                    table.entries.append(self._entry())
            case _:
                value = self.expression()
                self.expect(";", f"after the property '{name}'")
                table.properties.append(ast.Property(pos, name, value, const, annotations))

    def _action_ref(self, annotations: list[ast.Annot]) -> ast.ActionRef:
        absolute = self.accept(".")
        pos = self.pos
        name = self.name("an action name")
        while self.accept("."):
            name += "." + self.name("an action name")
        args, names = self.arguments() if self.at("(") else ([], [])
        return ast.ActionRef(pos, annotations, name, absolute, args, names)

    def _entry(self) -> ast.EntryDecl:
        leading = self.annotations()
        const = self.accept("const")
        pos = self.pos
        priority = None
        if self.at("priority") and self.ahead().text == "=":
            self.next()
            self.next()
            priority = self.expression()
            self.expect(":", "after a priority")
        keys = self.key_set()
        self.expect(":", "after the keys of an entry")
        action = self._action_ref(self.annotations())
        annotations = leading + self.annotations()
        self.expect(";", "after an entry")
        items: list[ast.Expr] = list(keys.items) if isinstance(keys, ast.TupleKey | ast.ListExpr) else [keys]
        return ast.EntryDecl(pos, items, action, priority, const, annotations)
