"""Why a function is compiled again: what differs from the calls before, in the function's own names, and the cure.

    another number: n: 1 -> 2; it is a run-time value from now on      cure: pass mutable(n), or a Tensor
"""
from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..common.dim import Symbol
from ..common.records import dataclass
from .signature import ObjectSpec, Part, SameSpec, ScalarSpec, Signature, TensorSpec, TreeSpec, is_number, show_signature

CURES = {
    "size": "declare it open: set_inputs(..) or input_signature with None in its place, or jit(dynamic=1)",
    "number": "pass mutable({path}), or a Tensor: it is a run-time value from the first call on",
    "type": "pass {path} as one type of number",
    "constant": "{path} is a constant of the graph: one variant for each value",
    "dtype": "cast {path} to one dtype before the call",
    "axes": "one variant for each number of axes: give {path} the same number each time",
    "object": "{path} is known by its identity: pass the same object each time, or what it holds",
    "same": "one variant for arguments that are the same Tensor, one for those that are not: pass a copy for {path}",
    "structure": "one variant for each structure: stack the items of {path} into a Tensor, or pad them to one length",
}
KNOWN_NUMBER = "it must be known when the function is compiled, as an axis or a shape is: one variant for each value"
KNOWN_OUTSIDE = "pass it as an argument, or keep it in a Tensor or a Parameter"


@dataclass(frozen=True)
class Reason:
    """text: what is new;   cure: what to do where that happens too often, one line or nothing."""
    text: str
    cure: str = ""

    def and_then(self, text: str, cure: str | None = None) -> Reason:
        """The Reason with more to say."""
        return Reason(f"{self.text}; {text}", self.cure if cure is None else cure)


@dataclass(frozen=True)
class Difference:
    """One place in which two signatures differ. kind: a key of CURES; path: `x.shape[0]`, `items[2]`."""
    kind: str
    path: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.path}: {self.before} -> {self.after}"

    @property
    def cure(self) -> str:
        """What to do about it."""
        return CURES[self.kind].format(path=self.path.partition(".shape[")[0])


def parameter_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the positional parameters of a function or Cell, without `self`; () where it does not say."""
    try:
        parameters = inspect.signature(getattr(function, "construct", function)).parameters.values()
    except (TypeError, ValueError):
        return ()
    names = []
    for p in parameters:
        if p.kind is p.VAR_POSITIONAL:
            names += [f"{p.name}[{i}]" for i in range(64)]
        elif p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            names.append(p.name)
    return tuple(names)


def arguments_in(signature: Signature, names: tuple[str, ...]) -> Iterator[tuple[str, Part]]:
    """(name, signature) of each argument of a call."""
    _, args, kwargs = signature
    for number, part in enumerate(args[1:]):
        yield names[number] if number < len(names) else f"argument {number}", part
    for _, (_, name), part in kwargs[1:]:
        yield name, part


def show_call(signature: Signature, names: tuple[str, ...]) -> str:
    """A call's signature as text: (x: f32[2, 3], n: int, axis=1)."""
    def one(name: str, part: Part) -> str:
        return f"{name}: {part}" if isinstance(part, (TensorSpec, ScalarSpec)) else f"{name}={show_signature(part)}"
    return "(" + ", ".join(one(*item) for item in arguments_in(signature, names)) + ")"


def differences(before: Signature, after: Signature, names: tuple[str, ...]) -> list[Difference]:
    """[Difference] between the signatures of two calls."""
    old, new = dict(arguments_in(before, names)), dict(arguments_in(after, names))
    if list(old) != list(new):
        return [Difference("structure", "arguments", ", ".join(old) or "none", ", ".join(new) or "none")]
    return [d for name in new for d in _differences(name, old[name], new[name])]


def _differences(path: str, a: Part, b: Part) -> Iterator[Difference]:
    if a == b:
        return
    if isinstance(a, TensorSpec) and isinstance(b, TensorSpec):
        if a.dtype is not b.dtype:
            yield Difference("dtype", path, str(a), str(b))
        elif len(a.shape) != len(b.shape):
            yield Difference("axes", path, str(a), str(b))
        else:
            for axis, (m, n) in enumerate(zip(a.shape, b.shape)):
                if m != n and not isinstance(m, Symbol):
                    yield Difference("size", f"{path}.shape[{axis}]", str(m), str(n))
    elif is_number(a) and is_number(b):
        kinds = [s.type if isinstance(s, ScalarSpec) else type(s[1]) for s in (a, b)]
        if kinds[0] is not kinds[1]:
            yield Difference("type", path, *[f"{show_signature(s)} ({k.__name__})" for s, k in zip((a, b), kinds)])
        elif not isinstance(a, ScalarSpec):
            yield Difference("number", path, show_signature(a), show_signature(b))
    elif _is_container(a) and _is_container(b):
        if a[0] != b[0] or len(a) != len(b) or a[0] == "dict" and [k for k, _ in a[1:]] != [k for k, _ in b[1:]]:
            yield Difference("structure", path, _shape_of(a), _shape_of(b))
            return
        for number, (x, y) in enumerate(zip(a[1:], b[1:])):
            where, x, y = (f"[{x[0]!r}]", x[1], y[1]) if a[0] == "dict" else (f"[{number}]", x, y)
            yield from _differences(path + where, x, y)
    elif isinstance(a, ObjectSpec) and isinstance(b, ObjectSpec):
        same = type(a.keep) is type(b.keep)
        yield Difference("object", path, show_signature(a), f"another {show_signature(b)}" if same else show_signature(b))
    elif isinstance(a, TreeSpec) or isinstance(b, TreeSpec):
        yield Difference("structure", path, show_signature(a), show_signature(b))
    elif isinstance(a, SameSpec) or isinstance(b, SameSpec):
        yield Difference("same", path, str(a), str(b))
    else:
        yield Difference("constant", path, show_signature(a), show_signature(b))


def _is_container(signature: Part) -> bool:
    return isinstance(signature, tuple) and bool(signature) and (
        signature[0] in ("tuple", "list", "dict") or isinstance(signature[0], ObjectSpec))


def _shape_of(signature: Signature) -> str:
    word = signature[0] if isinstance(signature[0], str) else signature[0].keep.__name__
    return f"a {word} of {len(signature) - 1}"


def nearest(signatures: Iterable[Signature], signature: Signature, names: tuple[str, ...]) -> list[Difference]:
    """The differences from the one of some signatures that is most like it."""
    return min((differences(each, signature, names) for each in signatures), key=len)


def reason_of(found: Iterable[Difference], word: str) -> Reason:
    """The Reason for differences, as in "another size: x.shape[0]: 2 -> 3"."""
    cures = list(dict.fromkeys(d.cure for d in found))
    return Reason(f"{word}: " + ", ".join(map(str, found)), "; ".join(cures))
