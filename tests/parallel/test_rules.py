"""Every signature of every rule on three ranks: gather(f(split)) = f, as boxing splits and gathers; false rules are caught."""
import numpy as np
import pytest
from operator_checks import abstracts_of, local_meaning, meaning, normal_form
from samples import SAMPLES

from mindlite.common.dim import Symbol
from mindlite.common.dtype import float32
from mindlite.common.sbp import Partial, Split
from mindlite.mindir.abstract import AbstractTensor
from mindlite.mindir.primitive import find_primitive, sbp_rule_table
from mindlite.ops.sbp import SbpRule, elementwise_spec, index_string, same_parts, signatures
from mindlite.parallel import Mesh, Placement
from mindlite.parallel.boxing import parts

LINE = Mesh((3,), ("x",), (0, 1, 2))
FOLDS = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum, "any": np.logical_or, "all": np.logical_and}
CASES = [(name, k) for name in sorted(SAMPLES) for k in range(len(SAMPLES[name]))
         if find_primitive(name) in sbp_rule_table and "effect" not in find_primitive(name).traits]


def fits(array, sbp):
    return not isinstance(sbp, Split) or array.shape[sbp.axis] >= len(LINE.ranks)


def wrong_signatures(prim, args, attrs):
    """The signatures of prim's rule that do not give what the whole operator gives, and how many were tried."""
    abstracts = abstracts_of(args)
    whole, wrong, tried = meaning(prim, args, attrs), [], 0
    ins, outs = index_string(prim, abstracts, attrs)
    for signature in signatures(prim, abstracts, attrs):
        if not same_parts((*ins, *outs), [np.shape(a) for a in (*args, *whole)], signature.letter, len(LINE.ranks)):
            continue
        arrays = [a for a in args if isinstance(a, np.ndarray)]
        if not all(fits(a, s) for a, s in zip(args, signature.ins) if isinstance(a, np.ndarray)) or not all(
                map(fits, whole, signature.outs)) or any(isinstance(s, Partial) and np.asarray(a).dtype.kind in "biu"
                                                         for a, s in zip(args, signature.ins)) or not arrays:
            continue
        made = []
        for rank in LINE.ranks:
            local = [parts(a, Placement(LINE, (s,)), rank, np.random.default_rng(i)) if isinstance(a, np.ndarray) else a
                     for i, (a, s) in enumerate(zip(args, signature.ins))]
            shapes = [Placement(LINE, (s,)).local_shape(w.shape, rank) for w, s in zip(whole, signature.outs)]
            axis = attrs.get("axis")
            split = isinstance(axis, int) and signature.ins[0] == Split(axis)
            first = Placement(LINE, (signature.ins[0],)).bounds(args[0].shape, rank)[axis][0] if split else 0
            made.append(local_meaning(prim, tuple(local), attrs, signature, shapes, first, args[0].shape[axis] if split else 0))
        tried += 1
        for i, want in enumerate(whole):
            results, sbp = [np.asarray(m[i]) for m in made], signature.outs[i]
            if isinstance(sbp, Split):
                got = np.concatenate(results, sbp.axis)
            elif isinstance(sbp, Partial):
                got = results[0]
                for result in results[1:]:
                    got = FOLDS[sbp.reduction](got, result)
            else:
                got = results[0]
            tolerance = 1e-9 if want.dtype.itemsize >= 8 else 1e-5
            if got.shape != want.shape or not np.allclose(got, want, tolerance, tolerance, equal_nan=True):
                wrong.append(str(signature))
                break
    return wrong, tried


@pytest.mark.parametrize("name, k", CASES, ids=[f"{name}-{k}" for name, k in CASES])
def test_no_signature_is_wrong_on_three_ranks(name, k):
    prim = find_primitive(name)
    assert wrong_signatures(prim, *normal_form(prim, *SAMPLES[name][k]))[0] == []


FALSE = {                                        # operator: a rule that is not true
    "relu": SbpRule(elementwise_spec, (frozenset({0}),), "sum", None),                       # relu is not linear
    "exp": SbpRule(elementwise_spec, (frozenset({0}),), "sum", None),
    "mul": SbpRule(elementwise_spec, (frozenset({0, 1}),), "sum", None),                     # linear in each, not in both
    "add": SbpRule(elementwise_spec, (frozenset({0}), frozenset({1})), "sum", None),         # linear in both, not in each
    "reduce_max": None,                                                                      # the largest is no sum
}


@pytest.mark.parametrize("name", sorted(FALSE))
def test_a_false_rule_is_caught(name, monkeypatch):
    prim, true = find_primitive(name), sbp_rule_table[find_primitive(name)]
    false = FALSE[name] or SbpRule(true.spec, true.linear, "sum", true.local)
    monkeypatch.setitem(sbp_rule_table.rules, prim, false)
    cases = [normal_form(prim, *sample) for sample in SAMPLES[name]]
    assert any(wrong_signatures(prim, *case)[0] for case in cases)


RESHAPES = [((12, 5), (3, 4, 5)), ((3, 4, 5), (12, 5)), ((6, 4), (4, 6)), ((2, 6, 10), (12, 5, 2)), ((9, 4), (9, 2, 2)),
            ((8, 3), (24,)), ((4, 1, 6), (4, 6)), ((1, 4, 6), (4, 1, 2, 3)), ((5, 1), (1, 5)), ((6, 2, 3), (2, 3, 6)),
            ((24,), (2, 3, 4)), ((7, 8), (7, 4, 2)), ((2, 3, 8), (2, 3, 2, 4)), ((6, 6), (36,)), ((1, 1), (1,)), ((5, 4), (20,))]


@pytest.mark.parametrize("before, after", RESHAPES, ids=[f"{a} -> {b}" for a, b in RESHAPES])
def test_a_reshape_splits_the_first_of_joined_axes_wherever_parts_are_the_same_elements(before, after):
    """Each axis of the operand with each of the result, on 2, 3, 4 and 6 ranks: where the parts are the same elements, there is a
    signature, and nowhere else."""
    prim, x = find_primitive("reshape"), np.arange(np.prod(before, dtype=int)).reshape(before)
    words = index_string(prim, abstracts_of((x,)), {"shape": after})
    (of_x,), (made,) = words
    for count in (2, 3, 4, 6):
        told = {(of_x.index(c), made.index(c)) for c in set(of_x) - {"_"}
                if same_parts((of_x, made), (before, after), c, count)}
        for i, j in np.ndindex(len(before), len(after)):
            if before[i] >= count <= after[j]:
                line = Mesh((count,), ("x",), tuple(range(count)))
                mine, theirs = [[parts(a, Placement(line, (Split(axis),)), rank).reshape(-1) for rank in range(count)]
                                for a, axis in ((x, i), (x.reshape(after), j))]
                assert ((i, j) in told) == all(map(np.array_equal, mine, theirs)), (count, i, j)


@pytest.mark.parametrize("before, after, letters", [
    (lambda n, m: (n, m, 4), lambda n, m: (n * m, 4), "N_4 -> N4"),
    (lambda n, m: (n * m, 4), lambda n, m: (n, m, 2, 2), "N4 -> N_4_"),
    (lambda n, m: (n, 6, m), lambda n, m: (n, 2, 3, m), "N6M -> N6_M"), (lambda n, m: (n, m), lambda n, m: (m, n), "N_ -> N_"),
    (lambda n, m: (8, n), lambda n, m: (4, 2 * n), "8_ -> 8_"),
    (lambda n, m: (n + 1, m, 3), lambda n, m: (n + 1, 3, m), "NM_ -> NM_")],
    ids=lambda value: value if isinstance(value, str) else "")
def test_a_reshape_of_open_sizes_has_letters(before, after, letters):
    n, m = Symbol("N").dim, Symbol("M").dim
    (of_x,), (made,) = index_string(find_primitive("reshape"), [AbstractTensor(float32, before(n, m))], {"shape": after(n, m)})
    names = {letter: letters.split(" -> ")[0][of_x.index(letter)] for letter in set(of_x) - {"_"}}
    assert " -> ".join("".join(names.get(c, c) for c in word) for word in (of_x, made)) == letters


def test_most_operators_can_be_split():
    """How many of the rules have a signature besides: whole on each rank."""
    split = {name for name, k in CASES
             if wrong_signatures(find_primitive(name), *normal_form(find_primitive(name), *SAMPLES[name][k]))[1] > 1}
    assert len(split) > 0.7 * len({name for name, _ in CASES})
