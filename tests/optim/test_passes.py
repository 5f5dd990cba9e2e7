"""Every pass: a program before, and the program after."""

import numpy as np
import pytest
from passes import apply, check_pass, f32, i64, text

from mindlite import ops
from mindlite.common import dtype as dt
from mindlite.common.dim import Symbol
from mindlite.mindir.abstract import AbstractTensor, AbstractTuple
from mindlite.mindir.builder import building, typed
from mindlite.mindir.control import call, cond, make_tuple, tape_new, tape_push, tuple_getitem, while_loop
from mindlite.mindir.evaluate import run
from mindlite.mindir.graph import FuncGraph
from mindlite.mindir.primitive import eval_rule, infer_rule, Primitive
from mindlite.ops.basic import broadcast_to, cast, reduce_sum, reshape, transpose
from mindlite.ops.linalg import batch_matmul
from mindlite.optim import (count_nodes, drop_dead, fold_constants, hoist_invariants, inline_calls, merge_equal_nodes,
                            optimise, prune_control, simplify_arithmetic, simplify_shapes)


shout = Primitive("shout", ("x",), {}, traits={"effect"})     # gives x, which `heard` records
heard = []
infer_rule(shout)(lambda x: x)
eval_rule(shout)(lambda x: heard.append(x) or x)


# ---------------------------------------------------------------- equations

def test_multiplying_by_one_vanishes():
    def before(x): return ops.tanh(1 * (x * 1))
    def after(x): return ops.tanh(x)
    check_pass(simplify_arithmetic, before, after)


def test_adding_and_subtracting_zero_vanishes_of_ints():
    def before(x): return ops.abs(0 + (x + 0) - 0)
    def after(x): return ops.abs(x)
    check_pass(simplify_arithmetic, before, after, AbstractTensor(dt.int32, (2,)))


def test_of_floats_what_keeps_the_sign_of_zero_vanishes():
    def before(x): return ops.tanh(-0.0 + (x + -0.0) - 0.0)
    def after(x): return ops.tanh(x)
    check_pass(simplify_arithmetic, before, after)


@pytest.mark.parametrize("change", [lambda x: x + 0, lambda x: 0.0 + x, lambda x: x - -0.0])
def test_of_floats_what_makes_minus_zero_zero_stays(change):
    check_pass(simplify_arithmetic, lambda x: ops.tanh(change(x)), lambda x: ops.tanh(change(x)))


def test_a_zero_that_was_broadcast_is_a_zero():
    def before(x): return ops.tanh(x - broadcast_to(np.float32(0), shape=(2,)))
    def after(x): return ops.tanh(x)
    check_pass(simplify_arithmetic, before, after)


def test_products_of_many_matrices_over_one_number_are_elementwise():
    column, row, n = AbstractTensor(dt.float32, (2, 3, 1)), AbstractTensor(dt.float32, (2, 1, 4)), Symbol("n").dim
    check_pass(simplify_shapes, lambda x, y: batch_matmul(x, y), lambda x, y: x * y + 0, column, row)
    check_pass(simplify_shapes, lambda x, y: batch_matmul(x, y, transpose_a=True, transpose_b=True),
               lambda x, y: reshape(x, shape=(2, n, 1)) * reshape(y, shape=(2, 1, 4)) + 0,
               AbstractTensor(dt.float32, (2, 1, n)), AbstractTensor(dt.float32, (2, 4, 1)))
    check_pass(simplify_shapes, lambda x, y: batch_matmul(x, y), lambda x, y: batch_matmul(x, y),
               AbstractTensor(dt.float32, (n, 1)), AbstractTensor(dt.float32, (1, 4)))          # eager mode joins single ones
    check_pass(simplify_shapes, lambda x, y: batch_matmul(x, y), lambda x, y: batch_matmul(x, y), row, AbstractTensor(
        dt.float32, (2, 4, 1)))


def test_the_running_sum_of_one_number_vanishes():
    x = AbstractTensor(dt.float32, (4, 1, 3))
    check_pass(simplify_shapes, lambda x: ops.cumsum(ops.tanh(x), 1), lambda x: ops.tanh(x), x)
    check_pass(simplify_shapes, lambda x: ops.cumsum(x, 2), lambda x: ops.cumsum(x, 2), x)


def test_minus_minus_vanishes():
    def before(x, y): return -(-x), x - (-y), x + (-y), (-x) + y
    def after(x, y): return x, x + y, x - y, y - x
    check_pass(simplify_arithmetic, before, after)


def test_a_one_that_broadcasts_stays():
    def before(x): return x * np.ones((3, 2), np.float32)
    check_pass(simplify_arithmetic, before, before)


def test_floats_minus_themselves_stay_because_of_nan():
    def before(x): return x - x, x * 0
    check_pass(simplify_arithmetic, before, before)


def test_integers_minus_themselves_are_zero():
    def before(x): return x - x
    def after(x): return broadcast_to(np.int64(0), shape=(2,))
    check_pass(simplify_arithmetic, before, after, i64(2))


def test_transposes_compose():
    def before(x): return transpose(transpose(x, perm=(1, 2, 0)), perm=(2, 0, 1)), \
        transpose(transpose(x, perm=(1, 2, 0)), perm=(1, 2, 0))

    def after(x): return x, transpose(x, perm=(2, 0, 1))
    check_pass(simplify_shapes, before, after, f32(2, 3, 4))


def test_reshapes_compose():
    def before(x): return reshape(reshape(x, shape=(6,)), shape=(2, 3)), reshape(reshape(x, shape=(6,)), shape=(3, 2))
    def after(x): return x, reshape(x, shape=(3, 2))
    check_pass(simplify_shapes, before, after, f32(2, 3))


def test_a_cast_there_and_back_vanishes_where_nothing_is_lost():
    def through(x, dtype): return cast(cast(x, dtype=dtype), dtype=dt.float32)
    def before(x): return through(x, dt.float64), through(x, dt.float16)
    def after(x): return x, through(x, dt.float16)
    check_pass(simplify_shapes, before, after)


def test_broadcasts_compose_and_vanish_in_elementwise_operators():
    def before(x, y):
        return broadcast_to(broadcast_to(x, shape=(1, 2)), shape=(3, 2)), broadcast_to(x, shape=(3, 2)) * y

    def after(x, y): return broadcast_to(x, shape=(3, 2)), x * y
    check_pass(simplify_shapes, before, after, f32(2), f32(3, 2))


def test_a_sum_over_axes_of_size_one_is_a_reshape():
    def before(x): return reduce_sum(x, axis=1)
    def after(x): return reshape(x, shape=(2,))
    check_pass(simplify_shapes, before, after, f32(2, 1))


def test_a_transposed_operand_is_a_flag_of_the_product():
    def before(a, b): return batch_matmul(transpose(a, perm=(1, 0)), b)
    def after(a, b): return batch_matmul(a, b, transpose_a=True)
    check_pass(simplify_shapes, before, after, f32(3, 2), f32(3, 4))


# ---------------------------------------------------------------- values

def test_constants_are_computed():
    def before(x): return x * ops.exp(np.zeros(2, np.float32))
    def after(x): return x * np.ones(2, np.float32)
    check_pass(fold_constants, before, after)


def test_a_constant_is_not_made_larger():
    def before(x): return x * broadcast_to(np.float32(3), shape=(2,))
    check_pass(fold_constants, before, before)


def test_effects_are_not_computed_early():
    def before(x): return shout(np.float32(1)) * x
    check_pass(fold_constants, before, before)


def test_a_branch_on_a_constant_is_inlined():
    def double(x): return x * 2
    def before(x): return cond(True, x, true=typed(double, f32(2)), false=typed(lambda x: x, f32(2)))
    check_pass(fold_constants, before, double)


def test_equal_nodes_are_merged():
    def before(x): return ops.tanh(x) * 2 + ops.tanh(x) * 2

    def after(x):
        a = ops.tanh(x) * 2
        return a + a
    check_pass(merge_equal_nodes, before, after)


def test_effects_and_tapes_are_not_merged():
    def before(x): return shout(x), shout(x), tape_push(tape_new(), x), tape_push(tape_new(), x)
    check_pass(merge_equal_nodes, before, before)


def test_constants_that_differ_only_in_sign_or_type_are_not_merged():
    def before(x): return x * 0.0, x * -0.0, cast(x, dtype=dt.float64) * np.float64(0)
    check_pass(merge_equal_nodes, before, before)


def test_dead_nodes_are_dropped_but_not_effects():
    def before(x):
        ops.tanh(x)
        shout(x)
        return x

    def after(x):
        shout(x)
        return x
    check_pass(drop_dead, before, after)


def test_a_branch_with_an_effect_is_kept():
    side = typed(lambda x: shout(x), f32(2))
    graph = typed(lambda x: (cond(True, x, true=side, false=side), x)[1], f32(2))
    assert [n.fn for n in apply(drop_dead, graph).nodes] == [cond]


def test_calls_are_inlined_unless_they_recurse():
    inner = typed(lambda x: ops.tanh(x), f32(2))
    check_pass(inline_calls, lambda x: call(x, graph=inner)[0] * 2, lambda x: ops.tanh(x) * 2)
    recursive = FuncGraph("r")
    x = recursive.add_parameter("x", f32(2))
    node = recursive.add(call, x, graph=recursive, abstract=AbstractTuple((f32(2),)))
    recursive.set_outputs([recursive.add(tuple_getitem, node, index=0, abstract=f32(2))], make_tuple)
    assert inline_calls(recursive) == 0


# ---------------------------------------------------------------- control flow

def sides(true, false, n=2):
    return dict(true=typed(true, *[f32(2)] * n), false=typed(false, *[f32(2)] * n))


def test_a_value_is_given_to_a_branch_once():
    def before(x, y):
        return cond(reduce_sum(x) > 0, x, y, x, y, **sides(lambda a, b, c, d: a * c + b, lambda a, b, c, d: c - d * b, n=4))

    def after(x, y): return cond(reduce_sum(x) > 0, x, y, **sides(lambda x, y: x * x + y, lambda x, y: x - y * y))
    check_pass(prune_control, before, after)


def test_unused_results_and_operands_of_a_branch_are_taken_out():
    def before(x, y): return cond(reduce_sum(x) > 0, x, y, **sides(lambda x, y: (x * 2, y * 3), lambda x, y: (x, y)))[0]
    def after(x, y): return cond(reduce_sum(x) > 0, x, **sides(lambda x: x * 2, lambda x: x, n=1))[0]
    check_pass(prune_control, before, after)


def test_what_both_sides_hand_through_is_read_outside():
    def before(x, y): return cond(reduce_sum(x) > 0, x, y, **sides(lambda x, y: (x * 2, y), lambda x, y: (x, y)))
    def after(x, y): return cond(reduce_sum(x) > 0, x, **sides(lambda x: x * 2, lambda x: x, n=1))[0], y
    check_pass(prune_control, before, after)


def positive(s, *others):
    return reduce_sum(s) > 0


def looping(state, test, body, *inits, invariants=0):
    kinds = [f32(2)] * state
    return while_loop(*inits, cond=typed(test, *kinds), body=typed(body, *kinds), invariants=invariants)


def test_state_that_nothing_reads_is_taken_out_of_a_loop():
    def before(x, y): return looping(2, lambda s, t: reduce_sum(s) > 0, lambda s, t: (s - 1, t * s), x, y)[0]
    def after(x, y): return looping(1, lambda s: reduce_sum(s) > 0, lambda s: (s - 1,), x)[0]
    check_pass(prune_control, before, after)


def test_state_that_other_state_reads_stays():
    def before(x, y): return looping(2, lambda s, t: reduce_sum(s) > 0, lambda s, t: (s - t, t * 2), x, y)[0]
    check_pass(prune_control, before, before)


def test_state_that_does_not_change_becomes_an_invariant():
    def before(x, y): return looping(2, lambda s, t: reduce_sum(s) > 0, lambda s, t: (s - t, t), x, y)
    def after(x, y): return looping(2, lambda s, t: reduce_sum(s) > 0, lambda s, t: (s - t,), x, y, invariants=1)[0], y
    check_pass(prune_control, before, after)


def test_a_constant_invariant_moves_into_the_loop():
    three = np.full(2, 3, np.float32)

    def before(x): return looping(2, lambda s, t: reduce_sum(s) > 0, lambda s, t: (s - t,), x, three, invariants=1)
    def after(x): return looping(1, lambda s: reduce_sum(s) > 0, lambda s: (s - three,), x)
    check_pass(prune_control, before, after)


def test_what_a_loop_computes_alike_at_every_turn_moves_out():
    def before(x, y): return looping(2, positive, lambda s, t: (s - ops.exp(t),), x, y, invariants=1)

    def after(x, y):
        test, body = typed(positive, *[f32(2)] * 3), typed(lambda s, t, e: (s - e,), *[f32(2)] * 3)
        return while_loop(x, y, ops.exp(y), cond=test, body=body, invariants=2)
    check_pass(hoist_invariants, before, after)


def test_what_depends_on_the_state_stays_in_the_loop():
    def before(x, y): return looping(2, positive, lambda s, t: (s - ops.exp(s * t),), x, y, invariants=1)
    check_pass(hoist_invariants, before, before)


# ---------------------------------------------------------------- the pipeline

def test_the_graph_that_is_optimised_is_left_as_it_is():
    graph = typed(lambda x: ops.tanh(x * 1) + ops.tanh(x), f32(2))
    before = text(graph)
    assert text(optimise(graph)) == text(typed(lambda x: (lambda t: t + t)(ops.tanh(x)), f32(2)))
    assert text(graph) == before


def test_steps_tell_what_each_pass_did():
    steps = []
    optimise(typed(lambda x: ops.tanh(x * 1) + ops.tanh(x), f32(2)), steps=steps)
    assert [s.name for s in steps] == ["simplify_arithmetic", "merge_equal_nodes"]
    assert steps[0].before == 4 and steps[-1].after == 2


def test_effects_keep_their_order_and_number():
    side = typed(lambda x: shout(x * 1), f32(2))
    graph = typed(lambda x: (shout(x), cond(reduce_sum(x) > 0, x, true=side, false=side), shout(x + 1))[2], f32(2))
    heard.clear()
    run(graph, np.ones(2, np.float32))
    wanted = [h.copy() for h in heard]
    heard.clear()
    run(optimise(graph), np.ones(2, np.float32))
    np.testing.assert_array_equal(heard, wanted)


def test_graphs_with_symbolic_sizes_are_optimised():
    n = Symbol("N").dim
    graph = typed(lambda x: reshape(reshape(x, shape=(n * 2,)), shape=(2, n)) * broadcast_to(np.float32(1), shape=(2, n)),
                  f32(n, 2))
    assert count_nodes(optimise(graph)) == 1


def test_a_pass_may_be_run_alone():
    graph = typed(lambda x: ops.tanh(x * 1) + ops.tanh(x), f32(2))
    assert count_nodes(optimise(graph, passes=(simplify_arithmetic,))) == 3


@pytest.mark.parametrize("depth", [50, 400])
def test_long_programs_are_linear_in_replacements(depth):
    def chain(x):
        for _ in range(depth):
            x = ops.tanh(x * 1)
        return x
    steps = []
    optimise(typed(chain, f32(2)), steps=steps)
    assert len(steps) == 1 and steps[0].replaced == depth


def test_building_is_not_disturbed_by_an_outer_builder():
    graph = FuncGraph("outer")
    x = graph.add_parameter("x", f32(2))
    with building(graph):
        optimise(typed(lambda x: x * 1, f32(2)))
        graph.set_outputs([x], make_tuple)
    assert not graph.nodes
