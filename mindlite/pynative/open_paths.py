"""Ways to what was traced for open sizes: a call of a planned function with new sizes finds its operation without a signature.

    softmax(x, -1) for f32[4, 9], f32[4, 7], ..      ->  one OpenPath;  f32[4, 12]  ->  the sizes  ->  its FunctionOfSizes

A signature says all of a call, and what is known of one takes as long to write down as many operators take to compute. Where
sizes change all the time, each would be used once. functions.py asks here first; a signature that comes often gets a plan.
"""
from typing import Any

import numpy as np

from ..common.dtype import DType
from ..common.recent import Recent
from ..common.tensor import Parameter, Tensor
from .plans import Unplanned

ABOVE_AXES = 9                                   # a number of an argument that is less may be that of an axis
MOST_SIZES = 1 << 11                             # tuples of sizes of which a path knows the operation
MOST_FORMS = 64                                  # of calls of a path, with sizes of 0 and 1 at other places
MOST_PATHS, FEW_PATHS = 256, 16                  # kinds of calls of a function that have paths, and how many each
_TENSORS = frozenset((Tensor, Parameter))


class Visit:
    """What an OpenPath knows of some sizes. operation: the FunctionOfSizes, None of those that go another way; calls: how many it
    has served"""
    __slots__ = ("operation", "calls")

    def __init__(self, operation):
        self.operation, self.calls = operation, 0


class OpenPath:
    """The way to what an OpenFunction gives, for calls that differ in sizes only: a function that is written for what they share.

        def sizes_of(given, named):              # softmax(x, -1): x is f32[.., ..]
            v0, v1 = given
            if type(v0) not in TENSORS or type(v1) is not int or v1 != -1: return None
            a0 = v0.host_array
            if type(a0) is not ndarray or a0.dtype is not d0: return None
            return (a0.shape,), [v0]

    sizes_of : (what may be sizes, the Tensors) of a call; None of one that differs in other things
    visits   : {these sizes: the Visit}
    families : {which of them are no sizes, since they broadcast or may be axes: the first part of `Call.family`}
    text     : what calls share; two paths with one text are one
    raises   : Unplanned for arguments that a line of Python does not compare
    """

    def __init__(self, call):
        self.known: dict[str, Any] = {"TENSORS": _TENSORS, "ndarray": np.ndarray}
        self.lines: list[str] = []
        self.keys: list[str] = []
        self.tensors: list[str] = []
        self.unpack("given", call.given)
        self.refuse_unless(f"len(named) == {len(call.named)}", *[f"{name!r} in named" for name in call.named])
        dtypes = iter([a.dtype.numpy for a in call.abstracts])
        for i, (name, value) in enumerate(call.named.items()):
            self.lines.append(f"n{i} = named[{name!r}]")
            self.value(f"n{i}", value, is_fixed=True)
        for i, name in enumerate(self.tensors):
            self.known[f"d{i}"] = next(dtypes)
            self.lines.append(f"a{i} = {name}.host_array")
            self.refuse_unless(f"type(a{i}) is ndarray", f"a{i}.dtype is d{i}")
        keys = [*[f"a{i}.shape" for i in range(len(self.tensors))], *self.keys]
        lines = [*self.lines, f"return ({', '.join(keys)},), [{', '.join(self.tensors)}]"]
        self.text = "\n".join([*lines, *[f"{name} = {value!r}" for name, value in self.known.items() if name[0] in "cd"]])
        exec("def sizes_of(given, named):\n    " + "\n    ".join(lines), self.known)
        self.sizes_of, self.visits, self.families = self.known["sizes_of"], Recent(), Recent()

    def family(self, call, found):
        """`Call.family` of a call, with what sizes_of has found in it."""
        shapes, numbers = found[:len(self.tensors)], found[len(self.tensors):]
        form = (*[tuple([n if n < 2 else None for n in shape]) for shape in shapes],
                *[n if n < ABOVE_AXES else None for n in numbers])
        known = self.families.get(form)
        if known is None:
            self.families.put(form, call.family[0], MOST_FORMS)
            return call.family
        return known, (*[n for shape in shapes for n in shape if n >= 2], *[n for n in numbers if n >= ABOVE_AXES])

    def refuse_unless(self, *tests):
        """Other calls are none of this path."""
        self.lines.append(f"if not ({' and '.join(tests)}): return None")

    def unpack(self, name, values):
        """Names for the items of a tuple or list."""
        self.refuse_unless(f"len({name}) == {len(values)}")
        inner = [f"{name}_{i}" for i in range(len(values))]
        if inner:
            self.lines.append(f"{', '.join(inner)}, = {name}")
        for each, value in zip(inner, values):
            self.value(each, value)

    def value(self, name, value, is_fixed=False):
        """The tests of an argument, as `emptied` gave it. is_fixed: no number in it is a size"""
        constant = f"c{len(self.known)}"
        if value is Tensor:
            self.refuse_unless(f"type({name}) in TENSORS")
            self.tensors.append(name)
        elif type(value) in (tuple, list) and not is_fixed:
            self.refuse_unless(f"type({name}) is {type(value).__name__}")
            self.unpack(name, value)
        elif type(value) is int and value >= ABOVE_AXES and not is_fixed:
            self.refuse_unless(f"type({name}) is int")
            self.keys.append(name)
        elif value is None or value is ... or type(value) in (bool, DType):
            self.known[constant] = value
            self.refuse_unless(f"{name} is {constant}")
        elif type(value) in (int, str) or type(value) is float and value and value == value:
            self.known[constant] = value
            self.refuse_unless(f"type({name}) is {type(value).__name__}", f"{name} == {constant}")
        elif type(value) is slice:
            self.known[constant] = repr(value)
            self.refuse_unless(f"type({name}) is slice", f"repr({name}) == {constant}")
        else:
            raise Unplanned(f"an argument of class {type(value).__name__}")


def kind_of_call(given, named):
    """What paths are found by: hashable, and little work. given: the arguments, or what `emptied` makes of them"""
    return len(given), *[value for value in given if type(value) is int and value < ABOVE_AXES], *named


def add_path(entry, call):
    """Calls that differ from this one in sizes only have an OpenPath from now on."""
    try:
        made = OpenPath(call)
    except Unplanned:
        return
    paths = entry.paths = entry.paths or {}
    kind = kind_of_call(call.given, call.named)
    known = paths.get(kind, ())
    if len(paths) < MOST_PATHS and not any([path.text == made.text for path in known]):
        paths[kind] = (made, *known)[:FEW_PATHS]


def visited(entry, given, named, make):
    """(the Visit of a call by an OpenPath, its Tensors); (None, ()) where there is none. make: (entry, the arguments, those by
    name, Tensors, the path, sizes) -> the Visit of sizes that are new, None where there may be one later"""
    for path in entry.paths.get(kind_of_call(given, named), ()):
        found = path.sizes_of(given, named)
        if found is None:
            continue
        visit = path.visits.get(found[0])
        if visit is None:
            visit = make(entry, given, named, found[1], path, found[0])
            if visit is None:
                return None, ()
            path.visits.put(found[0], visit, MOST_SIZES)
        return (None, ()) if visit.operation is None else (visit, found[1])
    return None, ()
