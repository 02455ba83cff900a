# SPDX-License-Identifier: Apache-2.0
"""Recursive descent over statements (P4-16 specification, section 12)."""

from __future__ import annotations

from offramp_p4.frontend.syntax import ast
from offramp_p4.frontend.syntax.expressions import OPERAND, ExpressionParser
from offramp_p4.source import P4Error, Pos

_COMPOUND = ("+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", "|+|=", "|-|=")


class StatementParser(ExpressionParser):
    """Statements and the declarations that stand among them."""

    def block(self) -> ast.BlockStmt:
        """``{ statements }``."""
        annotations = self.annotations()
        pos = self.expect("{").pos
        body: list[ast.Stmt] = []
        with self.scope():
            while not self.at("}"):
                if self.token.kind == "eof":
                    raise P4Error(pos, "this '{' is never closed")
                body.append(self.statement())
        self.next()
        return ast.BlockStmt(pos, body, annotations)

    def statement(self) -> ast.Stmt:
        """A statement or a local declaration."""
        if self.at("@"):
            mark = self.mark()
            self.annotations()
            brace = self.at("{")
            self.reset(mark)
            if brace:
                return self.block()
            annotations = self.annotations()
            if self.at("if", "switch", "for"):
                return self.statement()
            return self._local(annotations)
        t = self.token
        if t.kind == "op":
            if t.text == "{":
                return self.block()
            if t.text == ";":
                self.next()
                return ast.JumpStmt(t.pos, "")
        match t.text if t.kind == "id" else "":
            case "if":
                return self._if()
            case "switch":
                return self._switch()
            case "for" if self.ahead().text == "(":
                return self._for()
            case "break" | "continue" if self.ahead().text == ";":
                return self._jump()
            case "exit":
                return self._jump()
            case "return":
                self.next()
                value = None if self.at(";") else self.expression()
                self.expect(";", "after return")
                return ast.ReturnStmt(t.pos, value)
            case "const":
                return ast.DeclStmt(t.pos, self.constant([]))
        return self._local([])

    def _jump(self) -> ast.JumpStmt:
        t = self.next()
        self.expect(";", f"after {t.text}")
        return ast.JumpStmt(t.pos, t.text)

    def _local(self, annotations: list[ast.Annot]) -> ast.Stmt:
        pos = self.pos
        if self.at("const"):
            return ast.DeclStmt(pos, self.constant(annotations))
        if self.at_type() and not self.at("error"):
            mark = self.mark()
            node = self.type()
            if self.at_word():
                return ast.DeclStmt(pos, self.variable(node, annotations))
            if self.at("("):
                close = self.mark()
                args, names = self.arguments()
                if self.at_word():
                    return ast.DeclStmt(pos, self.instance_tail(node, args, names, annotations))
                self.reset(close)
            self.reset(mark)
        elif self.at("error") and self.ahead().kind == "id":
            return ast.DeclStmt(pos, self.variable(self.type(), annotations))
        return self.simple_statement(";")

    def simple_statement(self, end: str | None) -> ast.Stmt:
        """An assignment or a call; ``end`` is what must follow."""
        pos = self.pos
        place = self.expression(OPERAND)
        node: ast.Stmt
        if self.at("="):
            self.next()
            node = ast.AssignStmt(pos, place, self.expression())
        elif self.at(*_COMPOUND):
            op = self.next().text[:-1]
            node = ast.AssignStmt(pos, place, self.expression(), op)
        elif self.at(">") and self.ahead().text == ">=":
            self.next()
            self.next()
            node = ast.AssignStmt(pos, place, self.expression(), ">>")
        elif isinstance(place, ast.CallExpr):
            node = ast.CallStmt(pos, place)
        else:
            raise P4Error(self.pos, f"expected an assignment or a call, found {self.token}")
        if end:
            self.expect(end, "at the end of the statement")
        return node

    def _if(self) -> ast.IfStmt:
        pos = self.next().pos
        self.expect("(", "after if")
        condition = self.expression()
        self.expect(")", "after the condition")
        then = self.statement()
        otherwise = self.statement() if self.accept("else") else None
        return ast.IfStmt(pos, condition, then, otherwise)

    def _switch(self) -> ast.SwitchStmt:
        pos = self.next().pos
        self.expect("(", "after switch")
        subject = self.expression()
        self.expect(")", "after the subject of switch")
        self.expect("{", "to begin the cases of switch")
        cases: list[tuple[ast.Expr, ast.Stmt | None]] = []
        while not self.accept("}"):
            label = self.expression()
            self.expect(":", "after a case label")
            cases.append((label, self.block() if self.at("{", "@") else None))
        return ast.SwitchStmt(pos, subject, cases)

    def _for(self) -> ast.Stmt:
        pos = self.next().pos
        self.expect("(")
        with self.scope():
            mark = self.mark()
            self.annotations()
            kind = None
            if self.at_type() and self.ahead().text not in (".", "="):
                kind = self.type()
            if self.token.kind == "id" and self.ahead().text == "in" and not self.at("in"):
                name = self.name("a loop variable")
                if kind is None:
                    raise P4Error(pos, f"the loop variable '{name}' needs a type")
                self.declare(name, is_type=False)
                self.next()
                low = self.expression()
                high = self.expression() if self.accept("..") else None
                self.expect(")", "after the range of for")
                return ast.ForInStmt(pos, kind, name, low, high, self.statement())
            self.reset(mark)
            init = self._for_list(";")
            condition = self.expression()
            self.expect(";", "after the condition of for")
            update = self._for_list(")")
            return ast.ForStmt(pos, init, condition, update, self.statement())

    def _for_list(self, end: str) -> list[ast.Stmt]:
        out: list[ast.Stmt] = []
        while not self.at(end):
            self.annotations()
            if self.at_type() and self.ahead().text not in (".", "="):
                pos = self.pos
                node = self.type()
                out.append(ast.DeclStmt(pos, self._declarator(node, [])))
            else:
                out.append(self.simple_statement(None))
            if not self.accept(","):
                break
        self.expect(end, "in for")
        return out

    # --- local declarations --------------------------------------------------------------------------------

    def constant(self, annotations: list[ast.Annot]) -> ast.ConstDecl:
        """``const T name = value;``."""
        self.expect("const")
        node = self.type()
        pos = self.pos
        name = self.name("the name of a constant")
        node = self._array_suffix(node)
        self.expect("=", "after the name of a constant")
        value = self.expression()
        self.expect(";", "after a constant")
        self.declare(name, is_type=False)
        return ast.ConstDecl(pos, annotations, name, node, value)

    def variable(self, node: ast.TypeNode, annotations: list[ast.Annot]) -> ast.VarDecl:
        """``name = value;`` behind a type."""
        decl = self._declarator(node, annotations)
        self.expect(";", "after a variable")
        return decl

    def _declarator(self, node: ast.TypeNode, annotations: list[ast.Annot]) -> ast.VarDecl:
        pos = self.pos
        name = self.name("a variable name")
        node = self._array_suffix(node)
        value = self.expression() if self.accept("=") else None
        self.declare(name, is_type=False)
        return ast.VarDecl(pos, annotations, name, node, value)

    def _array_suffix(self, node: ast.TypeNode) -> ast.TypeNode:
        while self.at("["):
            pos = self.next().pos
            node = ast.StackType(pos, node, self.expression())
            self.expect("]")
        return node

    def instance_tail(
        self,
        node: ast.TypeNode,
        args: list[ast.Expr],
        names: list[str | None],
        annotations: list[ast.Annot],
    ) -> ast.Instantiation:
        """``name;`` or ``name = { methods };`` behind ``T(args)``."""
        pos = self.pos
        name = self.name("the name of an instance")
        size = None
        if self.accept("["):
            size = self.expression()
            self.expect("]")
        self.declare(name, is_type=False)
        body = None
        if self.accept("="):
            body = self._initializer()
        self.expect(";", "after an instance")
        return ast.Instantiation(pos, annotations, name, node, args, names, body, size)

    def _initializer(self) -> list[ast.Decl]:
        self.expect("{", "to begin the implementation of abstract methods")
        out: list[ast.Decl] = []
        with self.scope():
            while not self.accept("}"):
                annotations = self.annotations()
                pos = self.pos
                node = self.type()
                if self.at("("):
                    args, names = self.arguments()
                    out.append(self.instance_tail(node, args, names, annotations))
                    continue
                name = self.name("the name of an abstract method")
                out.append(self.function_tail(pos, annotations, node, name, []))
        return out

    # --- functions -----------------------------------------------------------------------------------------

    def function_tail(
        self, pos: Pos, annotations: list[ast.Annot], returns: ast.TypeNode, name: str, type_params: list[str]
    ) -> ast.FunctionDecl:
        """Parameters and body, behind the name and type parameters."""
        with self.scope(type_params):
            params = self.parameters()
            body = self.block()
        return ast.FunctionDecl(pos, annotations, name, type_params, params, returns, body)

    def parameters(self) -> list[ast.Param]:
        """``(in T a, out T b = default)``; the names are declared in the current scope."""
        self.expect("(", "to begin the parameters")
        out: list[ast.Param] = []
        while not self.at(")"):
            annotations = self.annotations()
            direction = self.next().text if self.at("in", "out", "inout") else ""
            node = self.type()
            pos = self.pos
            name = self.name("a parameter name")
            default = self.expression() if self.accept("=") else None
            out.append(ast.Param(pos, annotations, direction, node, name, default))
            if not self.accept(","):
                break
        self.expect(")", "after the parameters")
        for p in out:
            self.declare(p.name, is_type=False)
        return out
