"""Every operator x every rule: the tables are walked, so an operator cannot be forgotten.

    infer(ints) = infer(Dims) at the ints = the actual types        gradients = central differences, <v, Jw> = <J'v, w>
    vmap = the stacked loop        gather(f(split)) = f for each SBP signature        kernel = eval        expand = eval
"""
import numpy as np
import pytest
from operator_checks import (abstracts_of, batch_axes, difference, fresh, graph_of, in_float32, inner, is_float, local_meaning,
                             lower_attrs, meaning, normal_form, random_like, results_of, run_kernel, variants,
                             with_symbols)
from samples import SAMPLES, TWICE

import mindlite as ms
from mindlite.ad import jvp_graph, vjp_graph
from mindlite.common import dtype as dt
from mindlite.common.dim import Dim, bounds, compare, evaluate, symbols_of
from mindlite.common.errors import ArgumentError, DTypeError, ShapeError
from mindlite.common.sbp import Broadcast, Partial, Split
from mindlite.common.tensor import Tensor
from mindlite.graph_kernel import lowering
from mindlite.mindir.abstract import AbstractTensor
from mindlite.mindir.builder import constant, typed
from mindlite.mindir.constraints import collecting
from mindlite.mindir.evaluate import run
from mindlite.mindir.primitive import (PRIMITIVES, TABLES, bprop_rule, expand_rule, infer_rule, interpreting,
                                       kernel_rule, sbp_rule_table, vmap_rule)
from mindlite.ops.evaluate import NumpyInterpreter
from mindlite.ops.sbp import index_string, same_parts, signatures
from mindlite.optim import optimise
from mindlite.pynative.operation import FEW_NODES, Operation

OPERATORS = sorted(name for name, prim in PRIMITIVES.items()
                   if not prim.traits & {"control", "scalar", "message"} and "tests" not in prim.origin[0])
CASES = [(name, k) for name in OPERATORS for k in range(len(SAMPLES.get(name, ())))]
COMPLEX_ONLY = {"real", "imag", "conj", "complex"}
NO_DERIVATIVE = {"assign": "it writes", "stop_gradient": "it hides",
                 "stored": "its gradient is that of a leaf", "unique": "it has no gradient by definition",
                 "eigenpairs": "of what does not depend on phases: test_factors",
                 "sgd_update": "it asks whether a float operand is 0"}
OF_ANOTHER_FORM = {"singular_decomposition": "of what does not depend on phases: test_complex_matrices",
                   "symmetric_eigenpairs": "of what does not depend on phases: test_complex_matrices"}
KNOWN_SIZES = {"gather_nd": [(1, 1), (1, 2)], "scatter_nd_add": [(1, 1)], "scatter_nd_update": [(1, 1)],   # depth
               **dict.fromkeys(("scatter_nd_max", "scatter_nd_min", "scatter_nd_mul", "scatter_nd_div"), [(1, 1)]),
               "random_advance": [(0, 0)], "random_integers": [(0, 0)], "random_uniform": [(0, 0)],
               "gamma_numbers": [(0, 0), (1, 0)]}   # seed, offset


def cases_of(chosen, samples=None):
    """Parameters for each sample (or the first `samples`) of the operators that `chosen` accepts."""
    picked = [(name, k) for name, k in CASES if chosen(PRIMITIVES[name]) and (samples is None or k < samples)]
    return pytest.mark.parametrize("name, k", picked, ids=[f"{name}-{k}" for name, k in picked])


def case(name, k):
    """The primitive and its k-th sample in normal form."""
    prim = PRIMITIVES[name]
    return (prim, *normal_form(prim, *SAMPLES[name][k]))


def close(got, want, rtol, atol, what=""):
    """Assert that two arrays agree, also in dtype and shape."""
    assert got.shape == want.shape and got.dtype == want.dtype, (what, got.shape, got.dtype, want.shape, want.dtype)
    np.testing.assert_allclose(got, want, rtol=rtol, atol=atol, err_msg=what)


# ---------------------------------------------------------------- completeness

@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_has_a_sample_and_a_docstring(name):
    assert SAMPLES.get(name), f"tests/ops/samples: no sample of {name}"
    assert PRIMITIVES[name].__doc__


def test_no_operator_is_sampled_twice_and_no_sample_is_of_nothing():
    assert TWICE == []
    assert sorted(SAMPLES.keys() - set(OPERATORS)) == []


def _not_needed(prim, kind):
    """Why `prim` needs no rule of this kind; None if it does need one."""
    traits = prim.traits
    if kind == "expand":
        return None if "composite" in traits else "only composites expand"
    if "composite" in traits and kind in ("bprop", "jvp", "vmap", "kernel"):
        return "comes from its expansion"
    if not prim.inputs and kind in ("jvp", "vmap"):
        return "nothing to map or to differentiate"
    if prim.name == "scalar_to_tensor" and kind == "jvp":
        return "numbers have no tangent"
    if "dynamic" in traits and kind in ("vmap", "sbp", "kernel"):
        return "the size of its result depends on data"
    if prim.name == "masked_put" and kind in ("vmap", "sbp"):
        return "the number of its values depends on data"
    if prim.name == "barrier" and kind == "kernel":
        return "it is the memory of its operand, and no kernel may look through it"
    if prim.name in ("as_pairs", "as_complex") and kind == "kernel":
        return "it is the memory of its operand, read as numbers of another kind"
    if traits & {"library"} and kind == "kernel":
        return "a library or NumPy computes it"
    if prim.name in COMPLEX_ONLY and kind == "kernel":
        return "kernels do not compute complex numbers"
    if "collective" in traits and kind in ("kernel", "sbp"):
        return "the ranks compute it together; boxing (mindlite/parallel) writes it behind the choice of SBP"
    if prim.name in ("print_values", "summary_value") and kind in ("jvp", "sbp", "kernel"):
        return "its only result is what is printed"
    return "cost is optional" if kind == "cost" else None


@pytest.mark.parametrize("kind", sorted(TABLES))
def test_every_operator_has_every_rule_that_applies(kind):
    missing = [name for name in OPERATORS
               if PRIMITIVES[name] not in TABLES[kind] and _not_needed(PRIMITIVES[name], kind) is None]
    assert missing == [], f"without {kind} rule"


# ---------------------------------------------------------------- types

@cases_of(lambda prim: True)
def test_infer_tells_the_types_that_eval_gives(name, k):
    prim, args, attrs = case(name, k)
    told = results_of(infer_rule[prim](*abstracts_of(args), **attrs))
    outs = meaning(prim, args, attrs)
    assert len(told) == len(outs)
    for abstract, out in zip(told, outs):
        assert abstract.dtype.numpy == out.dtype
        assert len(abstract.shape) == out.ndim
        for size, actual in zip(abstract.shape, out.shape):
            if isinstance(size, Dim):
                low, high = bounds(size)
                assert "dynamic" in prim.traits and low <= actual and (high is None or actual <= high)
            else:
                assert size == actual


@cases_of(lambda prim: prim.inputs and prim.name != "scalar_to_tensor")
def test_inferred_dims_are_the_sizes_at_run_time(name, k):
    prim, args, attrs = case(name, k)
    abstracts, env = with_symbols(args, KNOWN_SIZES.get(name, ()))
    with collecting() as constraints:
        told = results_of(infer_rule[prim](*abstracts, **attrs))
    for c in constraints:
        assert compare(c.op, evaluate(c.left, env), evaluate(c.right, env)), c
    for abstract, out in zip(told, meaning(prim, args, attrs)):
        assert abstract.dtype.numpy == out.dtype
        for size, actual in zip(abstract.shape, out.shape):
            if symbols_of(size) <= env.keys():
                assert evaluate(size, env) == actual
            else:
                assert "dynamic" in prim.traits


def _check_open_sizes(name, k):
    prim, args, attrs = case(name, k)
    want, tensors = meaning(prim, args, attrs), [Tensor(a) if isinstance(a, np.ndarray) else a for a in fresh(args)]
    made = ms.jit(lambda *operands: prim(*operands, **attrs), dynamic=1, fullgraph=True, jit_level="O0")(*tensors)
    made = made if isinstance(made, tuple) else (made,)
    assert len(made) == len(want)
    for got, expected in zip(made, want):
        close(got.asnumpy(), expected, 1e-6, 1e-6)


@cases_of(lambda prim: True, samples=1)
def test_a_graph_with_open_sizes_gives_the_same(name, k):
    _check_open_sizes(name, k)


@pytest.mark.slow
@cases_of(lambda prim: True)
def test_a_graph_with_open_sizes_gives_the_same_for_every_sample(name, k):
    _check_open_sizes(name, k)


# ---------------------------------------------------------------- derivatives

def _differentiable(prim):
    return prim.inputs and prim.name not in NO_DERIVATIVE and "random" not in prim.traits


def _derivatives(prim, args, attrs, rng):
    """The graph, its float parameters and outputs, random tangents and cotangents; None where there are no floats."""
    graph, arrays = graph_of(prim, args, attrs)
    wrt = tuple(i for i, a in enumerate(arrays) if is_float(a))
    seeds = tuple(i for i, o in enumerate(graph.outputs) if o.abstract.dtype.kind in "fc")
    if not wrt or not seeds:
        return None
    outs = run(graph, *arrays)
    tangents, cotangents = ([random_like(xs[i], rng) for i in chosen] for xs, chosen in ((arrays, wrt), (outs, seeds)))
    return graph, arrays, wrt, seeds, tangents, cotangents


def _along(function, arrays, wrt, tangents):
    every = [None] * len(arrays)
    for i, t in zip(wrt, tangents):
        every[i] = t
    return difference(function, arrays, every)


@cases_of(_differentiable)
def test_gradients_are_central_differences_and_transposes(name, k):
    _check_gradients(k, *case(name, k))


@cases_of(_differentiable, samples=1)
def test_gradients_of_complex_operands_are_too(name, k):
    prim, args, attrs = case(name, k)
    rng = np.random.default_rng(k)
    args = tuple(a + 1j * rng.normal(0, 0.3, a.shape) if isinstance(a, np.ndarray) and a.dtype == np.float64 else a for a in args)
    if prim.name not in OF_ANOTHER_FORM and _takes(prim, args, attrs):
        _check_gradients(k, prim, args, attrs)


def _takes(prim, args, attrs):
    try:
        infer_rule[prim](*abstracts_of(args), **attrs)
        meaning(prim, args, attrs)
    except (DTypeError, ArgumentError, TypeError):
        return False
    return True


def _check_gradients(k, prim, args, attrs):
    found = _derivatives(prim, args, attrs, np.random.default_rng(k))
    if found is None:
        assert not any(map(is_float, args)) or not any(map(is_float, meaning(prim, args, attrs)))
        return
    graph, arrays, wrt, seeds, tangents, cotangents = found
    numeric = _along(lambda *xs: run(graph, *xs), arrays, wrt, tangents)
    outs = run(jvp_graph(graph, wrt), *arrays, *tangents)
    forward = outs[len(graph.outputs):]
    for i in seeds:
        close(forward[i], numeric[i].astype(forward[i].dtype), 2e-5, 2e-7, "jvp")
    gradients = run(vjp_graph(graph, wrt, seeds), *arrays, *cotangents)[len(graph.outputs):]
    for i, gradient in zip(wrt, gradients):
        assert gradient.shape == arrays[i].shape and gradient.dtype == arrays[i].dtype
    left = sum(inner(v, forward[i]) for i, v in zip(seeds, cotangents))
    right = sum(inner(g, w) for g, w in zip(gradients, tangents))
    assert left == pytest.approx(right, rel=1e-9, abs=1e-9), "<v, Jw> = <J'v, w>"


@cases_of(lambda prim: _differentiable(prim) and prim in bprop_rule)
def test_bprop_gives_the_same_eagerly_as_in_a_graph(name, k):
    prim, args, attrs = case(name, k)
    found = _derivatives(prim, args, attrs, np.random.default_rng(k))
    if found is None:
        return
    graph, arrays, wrt, seeds, _, cotangents = found
    want = run(vjp_graph(graph, wrt, seeds), *arrays, *cotangents)[len(graph.outputs):]
    with interpreting(NumpyInterpreter()):
        outs = [Tensor.wrap(o) for o in meaning(prim, args, attrs)]
        douts = [Tensor.wrap(o.array * 0) for o in outs]
        for i, v in zip(seeds, cotangents):
            douts[i] = Tensor.wrap(v)
        single = isinstance(infer_rule[prim](*abstracts_of(args), **attrs), AbstractTensor)
        out, dout = (outs[0], douts[0]) if single else (tuple(outs), tuple(douts))
        got = bprop_rule[prim](*(Tensor.wrap(a) if isinstance(a, np.ndarray) else a for a in fresh(args)),
                               out=out, dout=dout, **attrs)
    got = got if isinstance(got, tuple) else (got,)
    got = [g for g, a in zip(got, args) if isinstance(a, np.ndarray)]
    for i, expected in zip(wrt, want):
        g = np.zeros_like(arrays[i]) if got[i] is None else got[i].array
        close(g, expected, 1e-12, 1e-12)


@cases_of(_differentiable)
def test_second_derivatives_are_differences_of_first_ones(name, k):
    prim, args, attrs = case(name, k)
    found = _derivatives(prim, args, attrs, np.random.default_rng(k))
    if found is None:
        return
    graph, arrays, wrt, seeds, tangents, cotangents = found
    first = vjp_graph(graph, wrt, seeds)
    n = len(graph.outputs)
    inputs = arrays + cotangents
    both = wrt + tuple(range(len(arrays), len(inputs)))
    rng = np.random.default_rng(k + 1)
    directions = tangents + [random_like(v, rng) for v in cotangents]
    numeric = _along(lambda *xs: run(first, *xs), inputs, both, directions)
    weights = [random_like(arrays[i], rng) for i in wrt]
    last = tuple(range(n, n + len(wrt)))
    second = run(vjp_graph(first, both, last), *inputs, *weights)[len(first.outputs):]
    left = sum(inner(u, numeric[i]) for i, u in zip(last, weights))
    right = sum(inner(g, w) for g, w in zip(second, directions))
    assert left == pytest.approx(right, rel=1e-4, abs=1e-6)


@cases_of(_differentiable)
def test_the_matrix_of_second_derivatives_is_symmetric_forward_over_reverse_and_reverse_over_reverse(name, k):
    prim, args, attrs = case(name, k)
    found = _derivatives(prim, args, attrs, np.random.default_rng(k))
    if found is None or any(a.dtype.kind == "c" for a in found[1]):
        return
    graph, arrays, wrt, seeds, ws, cotangents = found
    first, n = vjp_graph(graph, wrt, seeds), len(graph.outputs)
    rng = np.random.default_rng(k + 2)
    vs = [random_like(w, rng) for w in ws]
    forward, last = jvp_graph(first, wrt), tuple(range(n, n + len(wrt)))
    hw, hv = [run(forward, *arrays, *cotangents, *x)[len(first.outputs) + n:] for x in (ws, vs)]
    left, right = (sum(inner(a, b) for a, b in zip(*pair)) for pair in ((vs, hw), (ws, hv)))
    assert left == pytest.approx(right, rel=1e-7, abs=1e-8), "<v, Hw> = <Hv, w>"
    back = run(vjp_graph(first, wrt, last), *arrays, *cotangents, *vs)[len(first.outputs):]
    for a, b in zip(back, hv):
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-8)


# ---------------------------------------------------------------- vmap

BATCH = 3


@cases_of(lambda prim: prim in vmap_rule and prim.inputs and not prim.traits & {"effect", "random"}
          and prim.name != "scalar_to_tensor")
def test_vmap_is_the_stacked_loop(name, k):
    prim, args, attrs = case(name, k)
    items = [variants(a, BATCH) for a in args]
    for dims in batch_axes(args):
        rows = [[item[b] if d is not None else a for item, a, d in zip(items, args, dims)] for b in range(BATCH)]
        looped = zip(*(meaning(prim, row, attrs) for row in rows))
        stacked = [np.ascontiguousarray(np.stack(item, d)) if d is not None else a
                   for item, a, d in zip(items, args, dims)]
        with interpreting(NumpyInterpreter()):
            outs, out_dims = vmap_rule[prim](tuple(Tensor.wrap(a) for a in stacked), dims, BATCH, **attrs)
        outs, out_dims = (outs, out_dims) if isinstance(outs, tuple) else ((outs,), (out_dims,))
        for out, axis, want in zip(outs, out_dims, looped):
            want = np.stack(want)
            got = np.broadcast_to(out.array, want.shape) if axis is None else np.moveaxis(out.array, axis, 0)
            close(got, want, 1e-9, 1e-12, f"in_dims {dims}")


# ---------------------------------------------------------------- composites

@cases_of(lambda prim: prim in expand_rule)
def test_the_expansion_computes_what_eval_computes(name, k):
    prim, args, attrs = case(name, k)
    graph = typed(lambda *xs: expand_rule[prim](*xs, **attrs), *abstracts_of(args), name=name)
    assert all(node.fn is not prim for node in graph.nodes)
    for got, want, told in zip(run(graph, *args), meaning(prim, args, attrs), graph.outputs):
        close(got, want, 1e-12, 1e-12)
        assert told.abstract.dtype.numpy == want.dtype and tuple(told.abstract.shape) == want.shape


# ---------------------------------------------------------------- SBP

RANKS = 2
FOLDS = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum, "any": np.logical_or,
         "all": np.logical_and}


def _scatter(array, sbp, rng):
    if isinstance(sbp, Split):
        return np.array_split(array, RANKS, sbp.axis)
    if isinstance(sbp, Broadcast):
        return [array] * RANKS
    part = random_like(array, rng) if array.dtype.kind in "fc" else np.asarray(array // 2, array.dtype)
    return [part, np.asarray(array - part, array.dtype)]


def _gather(parts, sbp):
    if isinstance(sbp, Split):
        return np.concatenate(parts, sbp.axis)
    if isinstance(sbp, Partial):
        return FOLDS[sbp.reduction](*parts)
    np.testing.assert_allclose(parts[0], parts[1])
    return parts[0]


@cases_of(lambda prim: prim in sbp_rule_table and "effect" not in prim.traits)
def test_each_sbp_signature_gathers_to_the_whole(name, k):
    prim, args, attrs = case(name, k)
    rule, rng = sbp_rule_table[prim], np.random.default_rng(k)
    abstracts = abstracts_of(args)
    ins, outs = index_string(prim, abstracts, attrs)
    whole = meaning(prim, args, attrs)
    assert len(outs) == len(whole) and all(len(o) == w.ndim for o, w in zip(outs, whole))
    for signature in signatures(prim, abstracts, attrs):
        if any(isinstance(s, Partial) and np.asarray(a).dtype.kind == "b" for s, a in zip(signature.ins, args)):
            continue                                                        # a bool has no addends
        if not same_parts((*ins, *outs), [np.shape(a) for a in (*args, *whole)], signature.letter, RANKS):
            continue
        scattered = [_scatter(a, s, rng) if isinstance(a, np.ndarray) else [a] * RANKS
                     for a, s in zip(args, signature.ins)]
        shapes = [[w.shape if not isinstance(s, Split) else p.shape for p in _scatter(w, s, rng)]
                  for w, s in zip(whole, signature.outs)] if rule.local else None
        parts = []
        for rank in range(RANKS):
            axis, of_values = attrs.get("axis"), scattered[0] if scattered else ()
            split = signature.ins and isinstance(axis, int) and signature.ins[0] == Split(axis)
            parts.append(local_meaning(prim, tuple(s[rank] for s in scattered), attrs, signature,
                                       [tuple(s[rank]) for s in shapes] if rule.local else None,
                                       sum(part.shape[axis] for part in of_values[:rank]) if split else 0,
                                       args[0].shape[axis] if split else 0))
        for i, want in enumerate(whole):
            got = _gather([np.asarray(p[i]) for p in parts], signature.outs[i])
            tolerance = 1e-9 if want.dtype.itemsize >= 8 else 1e-6
            close(got.astype(want.dtype), want, tolerance, tolerance, str(signature))


# ---------------------------------------------------------------- kernels

@cases_of(lambda prim: prim in kernel_rule and prim.inputs and prim.name not in ("scalar_to_tensor", "assign"))
def test_kernels_compute_what_eval_computes(name, k):
    prim, args, attrs = case(name, k)
    if any(isinstance(a, np.ndarray) and a.dtype.kind == "c" for a in args):
        return
    args, attrs = in_float32(args), lower_attrs(attrs)
    graph, arrays = graph_of(prim, args, attrs)
    for got, want in zip(run_kernel(lowering(graph), arrays), meaning(prim, args, attrs)):
        close(got, want, 1e-5, 1e-5)


SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 2.5, 88.0, -88.0, 104.0, -104.0, 1e-30, -1e-30, 1e30,
                    -1e30, np.inf, -np.inf, np.nan], np.float32)


@cases_of(lambda prim: "elementwise" in prim.traits and prim in kernel_rule and len(prim.inputs) == 1
          and prim.name not in ("cast", "logical_not", "bitwise_not", "bounded_indices", "probabilities"), samples=1)
def test_kernels_treat_special_numbers_as_eval_does(name, k):
    prim, args, attrs = case(name, k)
    graph, arrays = graph_of(prim, (SPECIAL,), attrs)
    got, = run_kernel(lowering(graph), arrays)
    want, = meaning(prim, (SPECIAL,), attrs)
    tame = np.abs(SPECIAL) < 1e20 if name in ("sin", "cos", "tan", "bessel_j", "bessel_y") else np.ones(SPECIAL.shape, bool)
    close(got[tame], want[tame], 1e-5, 1e-37)


@cases_of(lambda prim: "elementwise" in prim.traits and prim in kernel_rule and len(prim.inputs) == 2, samples=1)
def test_kernels_of_two_operands_treat_special_numbers_as_eval_does(name, k):
    prim, args, attrs = case(name, k)
    if args[0].dtype.kind == "f":
        values = np.array([0.0, 1.0, -1.0, 2.5, -2.5, np.inf, -np.inf, np.nan], np.float32)
    else:
        values = np.array([0, 1, 2, 7], np.int64)                # zero divisors among them
    grid = tuple(np.ascontiguousarray(a.ravel()) for a in np.meshgrid(values, values))
    graph, arrays = graph_of(prim, grid, attrs)
    got, = run_kernel(lowering(graph), arrays)
    close(got, meaning(prim, grid, attrs)[0], 1e-6, 1e-6)


def _elementwise_composite(prim, args):
    """Whether a composite takes one or two float tensors and works element by element."""
    if not 1 <= len(args) <= 2 or not all(map(is_float, args)):
        return False
    try:
        told = results_of(infer_rule[prim](*[AbstractTensor(dt.float32, (7,)) for _ in args]))
    except ShapeError:                                       # it wants matrices
        return False
    return len(told) == 1 and told[0].shape == (7,)


@cases_of(lambda prim: "composite" in prim.traits and "random" not in prim.traits and not prim.attrs, samples=1)
def test_composites_of_special_numbers_in_single_precision_are_those_in_double_precision_rounded(name, k):
    prim, args, attrs = case(name, k)
    if not _elementwise_composite(prim, args):
        return
    points = (SPECIAL,) if len(args) == 1 else tuple(a.ravel() for a in np.meshgrid(SPECIAL, SPECIAL))
    got, = meaning(prim, points, attrs)
    want, = meaning(prim, tuple(p.astype(np.float64) for p in points), attrs)
    np.testing.assert_allclose(got, want.astype(np.float32), rtol=1e-4, atol=1e-30)


@pytest.mark.parametrize("dtype", [dt.float16, dt.bfloat16], ids=lambda d: d.name)
@cases_of(lambda prim: prim.traits & {"elementwise", "reduction"} and prim in kernel_rule and prim.name != "cast"
          and SAMPLES[prim.name][0][0][-1].dtype.kind == "f", samples=1)
def test_kernels_store_and_load_16_bit_floats(name, k, dtype):
    prim, args, attrs = case(name, k)
    args = tuple(a.astype(dtype.numpy) if a.dtype.kind == "f" else a for a in args)
    graph, arrays = graph_of(prim, args, attrs)
    got, = run_kernel(lowering(graph), arrays)
    want, = meaning(prim, args, attrs)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got.astype(np.float64), want.astype(np.float64), rtol=2e-2, atol=2e-2)


def test_every_integer_division_by_zero_is_zero_in_kernels_too():
    by_zero = np.array([5, -5, 0]), np.array([0, 0, 0])
    for name in ("floor_divide", "remainder", "fmod"):
        graph, arrays = graph_of(PRIMITIVES[name], by_zero, {})
        assert run_kernel(lowering(graph), arrays)[0].tolist() == [0, 0, 0]


# ---------------------------------------------------------------- dtypes

@cases_of(lambda prim: prim.traits & {"elementwise", "reduction"} and prim.name not in ("cast", "identity"), samples=1)
def test_every_dtype_is_taken_and_kept_as_infer_says_or_refused(name, k):
    prim, args, attrs = case(name, k)
    args = tuple(np.nan_to_num(a, posinf=2, neginf=2) if a.dtype.kind == "f" else a for a in args)
    taken = 0
    for dtype in dt.ALL:
        typed_args = tuple(a if a.dtype == bool and name == "where" else np.abs(a).astype(dtype.numpy) for a in args)
        try:
            told = results_of(infer_rule[prim](*abstracts_of(typed_args), **attrs))
        except DTypeError as error:
            assert dtype.name in str(error) or "complex" in str(error)
            continue
        taken += 1
        for abstract, out in zip(told, meaning(prim, typed_args, attrs)):
            assert abstract.dtype.numpy == out.dtype, dtype
            assert out.shape == abstract.shape
    assert taken


@cases_of(lambda prim: prim in bprop_rule and prim.name not in NO_DERIVATIVE, samples=2)
def test_no_pass_changes_a_derivative_of_few_nodes(name, k):
    """Eager mode leaves such a one as the rule has written it. (The first sample of `cast` is to its own dtype.)"""
    prim, args, attrs = case(name, k)
    abstracts = tuple([constant(a).abstract for a in args])
    operation = Operation(prim, abstracts, attrs, infer_rule[prim](*abstracts, **attrs))
    wrt = tuple([i for i, a in enumerate(args) if is_float(a)])
    if wrt and operation.differentiable:
        graph, steps = operation.derive(wrt)[2], []
        if len(graph.nodes) <= FEW_NODES:
            optimise(graph, steps=steps)
            assert not steps or (name, k) == ("cast", 0)
