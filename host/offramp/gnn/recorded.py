# SPDX-License-Identifier: Apache-2.0
"""Later passes of a model repeat what was decided in an earlier one, and decide anew where anything differs.

The model's own code runs in every pass. At each function that it calls, the pass compares the function and the
arguments with those that the recorded pass had at this place: what they stand for, their shapes and types, their
values if they are no tensors. If they are the same, the rule's decision is repeated without the rule; else the rule
decides and its decision is recorded instead.

On one rank a function of the graph's own tensors alone, such as the degrees of the vertices, returns the tensor of the
recorded pass as long as nobody has written to it or to its arguments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from offramp.gnn.mode import name_of, writes_into
from offramp.gnn.operators import METADATA, POINTWISE, RANDOM
from offramp.gnn.tags import CONSTANT, MASK, ROWS, tensors

if TYPE_CHECKING:
    from collections.abc import Callable

    from offramp.gnn.mode import Distribution
    from offramp.gnn.parts import Partition

SIZES: Final = frozenset({"get.shape", "size", "__len__", "numel", "nelement", "get.nbytes"})
"""Functions whose answers follow from the tag and the shape."""
_JOINS: Final = frozenset({"cat", "concat", "concatenate"})
_TENSORS: Final = (torch.Tensor, torch.nn.Parameter)
_SCALARS: Final = frozenset(
    {int, float, bool, complex, str, type(None), type(...), slice, torch.Size}
    | {torch.dtype, torch.device, torch.layout, torch.memory_format}
)
_KNOWN: Final = frozenset({ROWS, MASK, CONSTANT})
_LARGEST: Final = 16 << 20
"""Bytes of the largest tensor that is kept from one pass for the next."""
_MOST_KEPT: Final = 32 << 20
"""Bytes of all of them."""
_MOST_MISSES: Final = 8
"""Times that a pass may leave the recorded path, or that a call's arguments may be others, before both are left out."""


class _UnrecordableError(Exception):
    """An argument whose later values cannot be compared with this one."""


class _Sign(NamedTuple):
    """What decides about an argument: the class, and for tensors the attributes of :mod:`offramp.gnn.tags`."""

    kind: Any
    attributes: dict[str, Any] | None
    detail: Any
    more: Any = None


def _sign(value: Any) -> _Sign:
    kind = value.__class__
    if kind in _TENSORS:
        attributes = dict(value.__dict__)
        if not attributes.keys() <= _KNOWN:
            raise _UnrecordableError
        return _Sign(kind, attributes, value.shape, (value.dtype, _freshness(value, attributes)))
    if kind is list or kind is tuple:
        return _Sign(kind, None, [_sign(each) for each in value])
    if kind is slice and not {type(value.start), type(value.stop), type(value.step)} <= {int, type(None)}:
        raise _UnrecordableError
    if kind not in _SCALARS:
        raise _UnrecordableError
    return _Sign(kind, None, value)


def _freshness(value: torch.Tensor, attributes: Any) -> Any:
    """What decides whether a tensor of one value may be given other rows (:func:`offramp.gnn.rules.table.relaid`)."""
    return (value._version, value._base is None, value.requires_grad) if CONSTANT in attributes else None


def _fits(value: Any, sign: _Sign) -> bool:
    kind, attributes, detail, more = sign
    its: Any = value.__class__
    if its is not kind:
        return False
    if attributes is not None:
        if value.__dict__ != attributes or value.shape != detail or value.dtype is not more[0]:
            return False
        return more[1] is None or _freshness(value, attributes) == more[1]
    return _same(value, kind, detail)


def _same(value: Any, kind: type, detail: Any) -> bool:
    if kind is list or kind is tuple:
        return len(value) == len(detail) and all(map(_fits, value, detail))
    return bool(value == detail)


def _all_fit(args: tuple[Any, ...], kwargs: dict[str, Any], signs: tuple[list[_Sign], dict[str, _Sign]]) -> bool:
    """Like :func:`_fits` for all arguments, without a call for each."""
    by_place, named = signs
    if len(args) != len(by_place) or kwargs.keys() != named.keys():
        return False
    for each, (kind, attributes, detail, more) in zip(args, by_place, strict=True):
        its: Any = each.__class__
        if its is not kind:
            return False
        if attributes is None:
            if not _same(each, kind, detail):
                return False
        elif each.__dict__ != attributes or each.shape != detail or each.dtype is not more[0]:
            return False
        if more is not None and more[1] is not None and _freshness(each, attributes) != more[1]:
            return False
    return not kwargs or all(_fits(each, named[key]) for key, each in kwargs.items())


class _Probe:
    """A function that remembers its calls while a rule decides."""

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func, self.__name__ = func, func.__name__
        self.__self__ = getattr(func, "__self__", None)
        self.calls: list[tuple[tuple[Any, ...], dict[str, Any], Any]] = []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        out = self.func(*args, **kwargs)
        self.calls.append((args, kwargs, out))
        return out


class _PassState(NamedTuple):
    """What a rule may change of a pass besides its result."""

    pairs: int
    counted: dict[int, Any]
    others: tuple[Any, ...]

    @classmethod
    def of(cls, mode: Distribution) -> _PassState:
        return cls(len(mode.pairs), dict(mode.counted), mode.changes())


class _Kept:
    """The result of a function of constants: the tensor, and all that must not have changed since.

    Attributes:
        result: the tensor.
        given: tensors among the arguments; ``places`` are theirs, if each is an argument by itself.
        constants: all of these tensors, with their versions.
        pairs, counted: what the pass then knows besides: more edge indices, and numbers of rows.
    """

    def __init__(
        self,
        result: torch.Tensor,
        args: tuple[Any, ...],
        given: list[torch.Tensor],
        mode: Distribution,
        before: _PassState,
    ) -> None:
        self.result, self.given = result, given
        places = [place for place, each in enumerate(args) if isinstance(each, torch.Tensor)]
        self.places = places if len(places) == len(given) else None
        self.constants = [(each, each._version) for each in (*given, result)]
        self.attributes = dict(result.__dict__)
        self.default = torch.get_default_dtype()
        self.pairs = mode.pairs[before.pairs :]
        self.counted = dict(mode.counted)

    def holds(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether the arguments are the same tensors, and nobody has written to any since."""
        places = self.places
        given = list(tensors([args, kwargs])) if places is None else [args[place] for place in places]
        for each, its in zip(given, self.given, strict=True):  # the signs fit: there are as many
            if each is not its:
                return False
        for each, version in self.constants:
            if each._version != version or each.requires_grad:
                return False
        return (
            self.result.__dict__ == self.attributes
            and not torch._C._is_any_autocast_enabled()
            and torch.get_default_dtype() is self.default
        )


class _Call:
    """One call of a function, and how it is repeated: not at all, if there is neither of the following.

    Attributes:
        func: the function.
        tries: times that the call was recorded anew, as its arguments were others.
        always: whether it runs as it is, whatever its arguments.
        signs: what arguments must be.
        counted: numbers of rows that the pass must know, where the answer may depend on them.
        direct: whether the function itself gives the result.
        template: arguments in place of the call's own; None if those are given as they are.
        attributes: tags of the result, or of each of several results.
        answer: the result itself, where the signs decide it.
        kept: the result of constants.
    """

    __slots__ = ("always", "answer", "attributes", "counted", "direct", "func", "kept", "signs", "template", "tries")

    def __init__(self, func: Callable[..., Any], tries: int) -> None:
        self.func, self.tries = func, tries
        self.always = self.direct = False
        self.signs: tuple[list[_Sign], dict[str, _Sign]] | None = None
        self.counted: dict[int, Any] | None = None
        self.template: list[tuple[bool, Any]] | None = None
        self.attributes: Any = None
        self.answer: Any = None
        self.kept: _Kept | None = None

    def repeat(self, mode: Distribution, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call's result; NotImplemented if the rule has to decide."""
        if self.signs is None or not _all_fit(args, kwargs, self.signs):
            return NotImplemented
        if self.counted is not None and mode.counted != self.counted:
            return NotImplemented
        kept = self.kept
        if kept is not None:
            if kept.holds(args, kwargs):
                mode.pairs += kept.pairs
                mode.counted.update(kept.counted)
                return kept.result
            self.kept = None
        if self.answer is not None:
            return self.answer
        if not self.direct:
            return NotImplemented
        given = args if self.template is None else [args[x] if own else x for own, x in self.template]
        out = self.func(*given, **kwargs)
        if self.attributes.__class__ is dict:
            out.__dict__.update(self.attributes)
        elif self.attributes is not None:
            for each, its in zip(out, self.attributes, strict=True):
                each.__dict__.update(its)
        return out


class Recording:
    """The calls of a pass in their order; the next pass repeats them."""

    def __init__(self, part: Partition) -> None:
        self.calls: list[_Call] = []
        self._misses = 0
        # Several ranks must agree on what they exchange, so that none may leave out a function that another calls.
        self._room = _MOST_KEPT if part.comm.size == 1 else 0
        graph = [each for v in part.vertices.values() for each in (v.ids, *v.data.values())]
        graph += [each for e in part.edges.values() for each in (e.index, e.ids, *e.data.values())]
        self._constants = {id(each): each for each in graph if isinstance(each, torch.Tensor)}

    def record(
        self, mode: Distribution, place: int, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Let the rule decide about a call, and record the decision at its place."""
        calls = self.calls
        before = calls[place] if place < len(calls) else None
        if before is not None and before.func != func:
            self._misses += 1
            del calls[place:]
            before = None
        full = before is None and (place > len(calls) or self._misses > _MOST_MISSES)
        if full or (before is not None and before.tries > _MOST_MISSES):
            return mode.inspected(func, func, args, kwargs)
        name, call = name_of(func), _Call(func, 0 if before is None else before.tries + 1)
        if name in METADATA:
            out, call.always = mode.inspected(func, func, args, kwargs), True
        else:
            out = self._decided(call, mode, name, args, kwargs)
        calls[place : place + 1] = [call]
        return out

    def _decided(
        self, call: _Call, mode: Distribution, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        try:
            signs = [_sign(each) for each in args], {key: _sign(each) for key, each in kwargs.items()}
        except _UnrecordableError:
            return mode.inspected(call.func, call.func, args, kwargs)
        given = list(tensors([args, kwargs]))
        marks = [dict(each.__dict__) for each in given]
        before, probe = _PassState.of(mode), _Probe(call.func)
        out = mode.inspected(call.func, probe, args, kwargs)
        after = _PassState.of(mode)
        relaid = [each.__dict__ for each in given] != marks
        if name in RANDOM or kwargs.get("out") is not None or after.others != before.others or relaid:
            return out
        writes = writes_into(name)
        if not call.tries and not writes and "empty" not in name and self._keeps(out, given):
            call.kept = _Kept(out, args, given, mode, before)
            self._constants[id(out)] = out
        if after == before:
            if name in SIZES and isinstance(out, int | torch.Size):
                call.answer = out
            else:
                call.direct = _direct(call, name, probe, args, kwargs, out)
        if call.kept is not None or call.answer is not None or call.direct:
            call.signs = signs
            call.counted = None if name in POINTWISE and call.kept is None else before.counted
        return out

    def _keeps(self, out: Any, given: list[torch.Tensor]) -> bool:
        """Whether a result is of constants only, and small enough to be kept."""
        if out.__class__ is not torch.Tensor or ROWS not in out.__dict__ or out.requires_grad:
            return False
        if torch._C._is_any_autocast_enabled():
            return False
        if any(self._constants.get(id(each)) is not each or each.requires_grad for each in given):
            return False
        size = out.untyped_storage().nbytes()
        if size > min(_LARGEST, self._room):
            return False
        self._room -= size
        return True


def _direct(call: _Call, name: str, probe: _Probe, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> bool:
    """Whether the function itself, with arguments that follow from the call's, gives the result; notes how."""
    given = list(tensors([args, kwargs]))
    if not probe.calls:  # no rule: right as it is if nothing has rows and nothing is written
        return not any(ROWS in each.__dict__ for each in given) and not writes_into(name) and _is_plain(out, given)
    its_args, its_kwargs, its_out = probe.calls[0]
    if len(probe.calls) > 1 or its_out is not out or its_kwargs.keys() != kwargs.keys():
        return False
    if any(each is not kwargs[key] for key, each in its_kwargs.items()):
        return False
    if len(its_args) != len(args) or any(a is not b for a, b in zip(its_args, args, strict=True)):
        call.template = _template(its_args, args)
        if call.template is None:
            return False
    results = list(tensors(out))
    attributes = [{key: each.__dict__[key] for key in _KNOWN & each.__dict__.keys()} for each in results]
    known = [each.__dict__[ROWS].rows for each in given if ROWS in each.__dict__]
    layouts = [each[ROWS].rows for each in attributes if ROWS in each]
    if any(rows is not None and all(rows is not its for its in known) for rows in layouts):
        masks = [each for each in given if each.dtype in (torch.bool, torch.uint8)]
        named = name == "__getitem__" and masks and all(MASK in each.__dict__ for each in masks)
        if not named and name not in _JOINS:  # the rows of a mask without a name are others in each pass
            return False
    if isinstance(out, torch.Tensor):
        call.attributes = attributes[0] or None
    elif results:
        if len(results) != len(out):
            return False
        call.attributes = attributes
    return True


def _is_plain(out: Any, given: list[torch.Tensor]) -> bool:
    """Whether a result has no rows, nor is one of the arguments."""
    return not any(each.__dict__ or any(each is its for its in given) for each in tensors(out))


def _template(its: tuple[Any, ...], args: tuple[Any, ...]) -> list[tuple[bool, Any]] | None:
    """Arguments that are the call's own, by their place, or values; None if there are others."""
    template: list[tuple[bool, Any]] = []
    for each in its:
        place = next((place for place, arg in enumerate(args) if arg is each and isinstance(arg, torch.Tensor)), None)
        if place is not None:
            template.append((True, place))
        elif any(True for _ in tensors([each])):
            return None
        else:
            template.append((False, list(each) if isinstance(each, list) else each))
    return template


class Recordings:
    """Recordings of a module's passes over one part, by what else decides: mode, gradients, edges.

    The first pass of each kind is not recorded: batches, each of which is a part of its own, are seen once.
    """

    _MOST: Final = 8

    def __init__(self) -> None:
        self._part: Partition | None = None
        self._by_key: dict[Any, Recording | None] = {}

    def of(self, part: Partition, *, training: bool) -> Recording | None:
        """The recording for the pass that begins; None if it is the first of its kind."""
        if self._part is not part or len(self._by_key) > self._MOST:
            self._part, self._by_key = part, {}
        indices = tuple((id(each.index), each.index._version) for each in part.edges.values())
        key = training, torch.is_grad_enabled(), indices
        if key not in self._by_key:
            self._by_key[key] = None
            return None
        recording = self._by_key[key]
        if recording is None:
            recording = self._by_key[key] = Recording(part)
        return recording

    def __reduce__(self) -> Any:
        """Copies of a module have their own."""
        return Recordings, ()
