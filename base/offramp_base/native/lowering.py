# SPDX-License-Identifier: Apache-2.0
"""Translation of the functions marked in the run-time system (:mod:`offramp_base.native.subset`) to LLVM."""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from offramp_base.native.expressions import NativeExpressions, kind_of, llvm_type
from offramp_base.native.llvm import AliasTags, Value, i64, ll
from offramp_base.native.templates import Draft, Place, TemplateBody, Templates, filled, function_at


@cache
def _definitions(file: str) -> dict[int, ast.FunctionDef]:
    """The functions of a module by their first lines: read at once, as to find each by itself takes longer."""
    body = ast.parse("".join(linecache.getlines(file))).body
    functions = [node for node in body if isinstance(node, ast.FunctionDef)]
    return {min([node.lineno, *(mark.lineno for mark in node.decorator_list)]): node for node in functions}


@cache
def _definition(function: Callable[..., object]) -> ast.FunctionDef:
    code = function.__code__
    known = _definitions(code.co_filename).get(code.co_firstlineno)
    if known is not None:
        return known
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body  # a function within another
    assert isinstance(node, ast.FunctionDef)
    return node


class RuntimeLibrary:
    """The run-time system in one module: functions are translated when they are first asked for.

    Args:
        module: the LLVM module that the functions are added to.
        fields: offset and bytes of each :class:`subset.Field`, by name.
        supplied: functions of the compiled program, by name; or marked functions that take their place.
        templates: translations that other modules share; None: every function is translated here.
    """

    def __init__(
        self,
        module: Any,
        tags: AliasTags,
        fields: Mapping[str, tuple[int, int]] | None = None,
        supplied: Mapping[str, Value | Callable[..., Any]] | None = None,
        templates: Templates | None = None,
    ) -> None:
        self.module, self.tags = module, tags
        self.fields = {} if fields is None else fields
        self.supplied = {} if supplied is None else supplied
        self.templates = templates
        self._functions: dict[Callable[..., object], Value] = {}

    def function(self, python: Callable[..., Any], *, exported: bool = False) -> Value:
        """The LLVM function of a marked function."""
        if python.__dict__.get("native") == "supplied":
            supplied = self.supplied[python.__name__]
            return supplied if isinstance(supplied, ll.Function) else self.function(supplied)
        if python not in self._functions:
            function = self._functions[python] = _declared(self.module, python)
            if self.templates is None:
                _FunctionBody(self, python, _definition(python), function).write()
            else:
                function.blocks.append(self._from_template(python, self.templates))
        function = self._functions[python]
        if exported:
            function.linkage = "external"
        return function

    def _from_template(self, python: Callable[..., Any], templates: Templates) -> TemplateBody:
        """The body of a function that programs share."""

        def type_of(place: Place) -> str:
            return str(self.function(function_at(place)).ftype)

        template = templates.find(python, self.fields, type_of)
        if template is None:
            library = _DraftLibrary(self)
            function = _declared(library.module, python)
            _FunctionBody(library, python, _definition(python), function).write()
            template = library.draft.template(function)
            templates.add(python, template)
        for place in template.callees:
            self.function(function_at(place))
        names = {
            name: str(self.function(function_at((module, name))).get_reference()) for module, name in template.supplied
        }
        return filled(template, self.module, self.tags, self.fields, names)

    def call(self, builder: Any, python: Callable[..., Any], *args: Value | int) -> Value:
        """Call a marked function from elsewhere; ints become constant words."""
        values = [i64(a) if isinstance(a, int) else a for a in args]
        return builder.call(self.function(python), values)


class _DraftLibrary(RuntimeLibrary):
    """The module of one function, for a template; what the function calls is declared only."""

    def __init__(self, real: RuntimeLibrary) -> None:
        self.draft = Draft(real.fields)
        super().__init__(self.draft.module, self.draft.tags, self.draft.fields)
        self._real = real

    def function(self, python: Callable[..., Any], *, exported: bool = False) -> Value:
        """A function that is called."""
        del exported
        supplied = python.__dict__.get("native") == "supplied"
        return self.draft.callee(python, self._real.function(python).ftype if supplied else _type_of(python))


def _type_of(python: Callable[..., Any]) -> Any:
    """The LLVM type of a marked function."""
    code, names = python.__code__, python.__globals__
    notes = {name: note if isinstance(note, str) else note.__name__ for name, note in python.__annotations__.items()}
    params = [llvm_type(kind_of(notes[name], names)) for name in code.co_varnames[: code.co_argcount]]
    return ll.FunctionType(llvm_type(kind_of(notes["return"], names)), params)


def _declared(module: Any, python: Callable[..., Any]) -> Any:
    """The LLVM function of a marked function, without its body."""
    function = ll.Function(module, _type_of(python), f"rt.{python.__name__}")
    function.linkage = "internal"
    if python.__dict__.get("native") == "inlined":
        function.attributes.add("alwaysinline")
    return function


def _annotation(node: ast.expr | None) -> str:
    if isinstance(node, ast.Name):
        return node.id
    assert isinstance(node, ast.Constant), node
    return str(node.value)


class _FunctionBody(NativeExpressions):
    """The statements of one function."""

    def __init__(
        self, library: RuntimeLibrary, python: Callable[..., object], node: ast.FunctionDef, function: Value
    ) -> None:
        super().__init__(library, python, function)
        self.node = node
        self.loops: list[tuple[Any, Any]] = []

    def write(self) -> None:
        for arg, value in zip(self.node.args.args, self.llvm.args, strict=True):
            self._assign(arg.arg, (value, kind_of(_annotation(arg.annotation), self.globals)))
        self._statements(self.node.body)
        if not self.b.block.is_terminated:
            if isinstance(self.llvm.function_type.return_type, ll.VoidType):
                self.b.ret_void()
            else:
                self.b.unreachable()

    # --- statements

    def _statements(self, body: list[ast.stmt]) -> None:
        for statement in body:
            if self.b.block.is_terminated:
                return
            rule = getattr(self, f"_do_{type(statement).__name__.lower()}")
            rule(statement)

    def _do_expr(self, s: ast.Expr) -> None:
        if not isinstance(s.value, ast.Constant):  # a docstring
            self.value(s.value)

    def _do_assign(self, s: ast.Assign) -> None:
        (target,) = s.targets
        self._store(target, self.value(s.value))

    def _do_annassign(self, s: ast.AnnAssign) -> None:
        assert s.value is not None
        self._store(s.target, self.value(s.value))

    def _do_augassign(self, s: ast.AugAssign) -> None:
        as_value = ast.copy_location(ast.parse(ast.unparse(s.target), mode="eval").body, s.target)
        self._store(s.target, self._binary(s.op, self.value(as_value), self.value(s.value)))

    def _do_return(self, s: ast.Return) -> None:
        if s.value is None:
            self.b.ret_void()
        else:
            self.b.ret(self.value(s.value)[0])

    def _do_if(self, s: ast.If) -> None:
        then, otherwise, end = (self.llvm.append_basic_block(n) for n in ("then", "else", "end"))
        self.b.cbranch(self._condition(s.test), then, otherwise)
        for block, body in ((then, s.body), (otherwise, s.orelse)):
            self.b.position_at_end(block)
            self._statements(body)
            if not self.b.block.is_terminated:
                self.b.branch(end)
        self.b.position_at_end(end)

    def _do_while(self, s: ast.While) -> None:
        test, body, end = (self.llvm.append_basic_block(n) for n in ("test", "body", "end"))
        self.b.branch(test)
        self.b.position_at_end(test)
        self.b.cbranch(self._condition(s.test), body, end)
        self._loop(body, s.body, test, end)

    def _do_for(self, s: ast.For) -> None:
        assert isinstance(s.target, ast.Name)
        assert isinstance(s.iter, ast.Call)
        bounds = [self.value(a)[0] for a in s.iter.args]
        start, stop = (i64(0), bounds[0]) if len(bounds) == 1 else (bounds[0], bounds[1])
        step = bounds[2] if len(bounds) == 3 else i64(1)
        test, body, more, end = (self.llvm.append_basic_block(n) for n in ("test", "body", "more", "end"))
        self._assign(s.target.id, (start, "int"))
        self.b.branch(test)
        self.b.position_at_end(test)
        counter = self._load(s.target.id)[0]
        descending = isinstance(step, ll.Constant) and step.constant >> 63
        self.b.cbranch(self.b.icmp_signed(">" if descending else "<", counter, stop), body, end)
        self._loop(body, s.body, more, end)
        self.b.position_at_end(more)
        self._assign(s.target.id, (self.b.add(self._load(s.target.id)[0], step), "int"))
        self.b.branch(test)
        self.b.position_at_end(end)

    def _loop(self, block: Any, body: list[ast.stmt], again: Any, end: Any) -> None:
        self.loops.append((again, end))
        self.b.position_at_end(block)
        self._statements(body)
        if not self.b.block.is_terminated:
            self.b.branch(again)
        self.loops.pop()
        self.b.position_at_end(end)

    def _do_break(self, s: ast.Break) -> None:
        del s
        self.b.branch(self.loops[-1][1])

    def _do_continue(self, s: ast.Continue) -> None:
        del s
        self.b.branch(self.loops[-1][0])
