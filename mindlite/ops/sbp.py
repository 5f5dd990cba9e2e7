"""Index strings: one line per operator from which all its SBP signatures are derived.

    sbp_rule(batch_matmul, "mk,kn->mn", linear=[{0}, {1}])

    m is in a and out      S0, B  -> S0           a letter that is in the output: split there
    n is in b and out      B,  S1 -> S1
    k is contracted        S1, S0 -> P            a letter that is not: each device has an addend (or a maximum, ..)
    linear in a            P,  B  -> P            a set of operands in which the operator is jointly linear
    always                 B,  B  -> B
    lookup: an axis from which indices choose         S0, B -> P      each device reads what it has, and zero elsewhere

The string is Einstein's notation as einsum writes it; "_" is an axis that cannot be split, and several outputs are
separated by commas. It is a function of the operands where it depends on ranks or attributes. Signatures hold for one
axis of the device mesh. Source: OneFlow (Yuan et al. 2021, section 3.2) lists signatures by hand; GSPMD (Xu et al.
2021) propagates along such letters.
"""

from typing import Any

from ..common.errors import InternalError
from ..common.records import dataclass
from ..common.sbp import REDUCTIONS, Broadcast, Partial, Split
from ..mindir.primitive import sbp_rule_table


@dataclass(frozen=True)
class SbpRule:
    """What sbp_rule was given: spec, linear, reduction, local, lookup, unread (see there)."""
    spec: Any
    linear: tuple
    reduction: Any
    local: Any
    lookup: Any = None
    unread: tuple = ()


@dataclass(frozen=True)
class Signature:
    """One way to place an operator: an SBP per operand and per result; `letter` is the index that is split, if any."""
    ins: tuple
    outs: tuple
    letter: str = ""

    def __str__(self):
        return f"{', '.join(map(str, self.ins))} -> {', '.join(map(str, self.outs))}"


def sbp_rule(prim, spec, *, linear=(), reduction="sum", local=None, lookup=None, unread=()):
    """Give `prim` its index string.

    spec     : "mk,kn->mn", or a function (*abstracts, **attrs) of it
    linear   : sets of operand numbers; the operator is linear in each set jointly, the others held fixed; or a function
               (*abstracts, **attrs) of them
    reduction: what folds the parts of a contracted letter (sum, prod, max, min, any, all); None forbids to split it
    local    : a function (attrs, out_shapes) -> attrs for the shapes of one device's results, for operators whose
               attributes say their result's shape
    lookup   : of an operator that reads (or adds to) operand 0 at the indices of operand 1 along the axis `axis`: a function
               (args, attrs, first, size) that computes it on a device that has the elements from `first` on of the `size`
               along it. Operand 0 is then split along that axis, all others are whole
    unread   : numbers of operands whose elements are not read: they may lie in any way, whatever the index string says
    """
    if reduction is not None and reduction not in REDUCTIONS:
        raise InternalError(f"{prim.name}: no reduction {reduction!r}")
    rule = SbpRule(spec, linear if callable(linear) else tuple(map(frozenset, linear)), reduction, local, lookup, tuple(unread))
    sbp_rule_table(prim)(rule)
    return rule


def local_shape(attrs, out_shapes):
    """The `local` of operators whose attribute `shape` is their result's shape."""
    return {**attrs, "shape": tuple(out_shapes[0])}


def index_string(prim, abstracts, attrs):
    """The letters of each operand and of each result: two tuples of strings."""
    rule = sbp_rule_table[prim]
    spec = rule.spec(*abstracts, **attrs) if callable(rule.spec) else rule.spec
    left, right = spec.split("->")
    ins = tuple(left.split(",")) if left or abstracts else ()
    outs = tuple(right.split(","))
    if len(ins) != len(abstracts) or any(len(i) != len(shape_of(a)) for i, a in zip(ins, abstracts)):
        raise InternalError(f"{prim.name}: the index string {spec!r} does not fit {', '.join(map(str, abstracts))}")
    return ins, outs


def signatures(prim, abstracts, attrs):
    """All Signatures of prim(*abstracts, **attrs) on one mesh axis; the first is Broadcast everywhere."""
    rule = sbp_rule_table[prim]
    ins, outs = index_string(prim, abstracts, attrs)
    whole = Broadcast()
    found = [Signature((whole,) * len(ins), (whole,) * len(outs))]
    for letter in sorted(set("".join(ins + outs)) - {"_"}):
        partial = [letter not in out for out in outs]
        if any(partial) and rule.reduction is None:
            continue
        found.append(Signature(tuple(Split(s.index(letter)) if letter in s else whole for s in ins),
                               tuple(Partial(rule.reduction) if p else Split(s.index(letter))
                                     for p, s in zip(partial, outs)), letter))
    for group in rule.linear(*abstracts, **attrs) if callable(rule.linear) else rule.linear:
        found.append(Signature(tuple(Partial() if i in group else whole for i in range(len(ins))),
                               (Partial(),) * len(outs)))
    if rule.lookup is not None:
        split, reads = Split(attrs["axis"]), len(ins) == 2   # what reads computes all its points on each device
        found.append(Signature((split, *[whole] * (len(ins) - 1)), (Partial() if reads else split,), "" if reads else "lookup"))
    return tuple(found)


def same_parts(words, shapes, letter, count):
    """True if `count` parts of each axis that a letter names have the same elements: one size, or `count` divides each of them.

    words, shapes : of all operands and results. In [b, s] -> [b * s] the first axes have one letter and two sizes
    """
    sizes = {size for word, shape in zip(words, shapes) for c, size in zip(word, shape) if c == letter}
    return len(sizes) < 2 or all(isinstance(size, int) and size % count == 0 for size in sizes)


def shape_of(abstract):
    """The shape of an operand; () for a Python number."""
    return getattr(abstract, "shape", ())


def letters(n, skip=0):
    """`n` index letters, after the first `skip`."""
    alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return alphabet[skip:skip + n]


def elementwise_spec(*abstracts, **attrs):
    """The index string of operators that work element by element: trailing axes align, axes of size 1 are repeated."""
    rank = max((len(a.shape) for a in abstracts), default=0)
    out = letters(rank)
    sizes = [[a.shape[i - rank + len(a.shape)] for a in abstracts if i - rank + len(a.shape) >= 0] for i in range(rank)]
    ones = {i for i, axis in enumerate(sizes) if all(is_one(s) for s in axis)}
    out = "".join("_" if i in ones else letter for i, letter in enumerate(out))
    ins = ("".join("_" if is_one(s) else letter for s, letter in zip(a.shape, out[rank - len(a.shape):]))
           for a in abstracts)
    return ",".join(ins) + "->" + out


def is_one(size):
    """True for a size that is known to be 1."""
    return isinstance(size, int) and size == 1
