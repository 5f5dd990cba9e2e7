"""Hooks on gradients are parts of graphs: values, the order of effects and errors are those of eager mode."""
import functools
import warnings

import numpy as np
import pytest

import mindlite as ms
from mindlite import Parameter, Tensor, nn, ops
from mindlite.common.errors import GraphSyntaxError
from mindlite.compile.jit import FallbackWarning
from mindlite.functional import HookBackward, InsertGradientOf


def vector(*numbers):
    return Tensor(np.array(numbers, np.float32))


class Scaled(nn.Cell):
    """x * w, sum of both; by name: times `scale`."""

    def __init__(self, *w):
        super().__init__()
        self.w = Parameter(vector(*w or (2, 3)), name="w")

    def construct(self, x, y=1.0, scale=1):
        return x * self.w * y * scale


class Two(nn.Cell):
    """Two results of two arguments."""

    def construct(self, x, y):
        return x * y, x + y * y


class Nested(nn.Cell):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = Scaled(2, 3), Scaled(5, 7)

    def construct(self, x):
        return self.outer(ops.tanh(self.inner(x) * 0.1) * 2)


class OwnGradient(nn.Cell):
    def construct(self, x):
        return x * x

    def bprop(self, x, out, dout):
        return (dout * 100 + x,)


X, Y = (1.0, 2.0), (3.0, 4.0)
CASES = {}


def case(build):
    """A row of the table: build(seen) -> (function, its arguments); it runs in a graph, and `seen` is looked at."""
    CASES[build.__name__] = build
    return build


@case
def a_hook_changes_the_gradient(seen):
    net = Scaled()
    net.register_backward_hook(lambda cell, grad_input, grad_output: grad_input[0] * 10)
    return lambda x: (net(x) ** 2).sum(), (X,)


@case
def a_hook_changes_nothing_and_is_told(seen):
    net = Scaled()
    net.register_backward_hook(lambda cell, grad_input, grad_output: seen.append((len(grad_input), len(grad_output))))
    return lambda x: (net(x) ** 2).sum(), (X,)


@case
def what_comes_first_is_seen_behind(seen):
    net = Scaled()
    net.register_backward_pre_hook(lambda cell, grad_output: seen.append("pre") or grad_output[0] + 1)
    net.register_backward_hook(lambda cell, grad_input, grad_output: seen.append("post") or grad_input[0] * grad_output[0])
    return lambda x: (net(x) ** 2).sum(), (X,)


@case
def several_hooks_come_in_order(seen):
    net = Scaled()
    for number in range(3):
        net.register_backward_pre_hook(lambda cell, grads, n=number: seen.append(("pre", n)) or grads[0] * (n + 1) - n)
        net.register_backward_hook(lambda cell, grads, out, n=number: seen.append(("post", n)) or (grads[0] * (n + 2) + n,))
    return lambda x: (net(x) ** 2).sum(), (X,)


@case
def hooks_of_cells_in_cells_come_from_the_outside_in(seen):
    net = Nested()
    for name, cell in (("net", net), ("inner", net.inner), ("outer", net.outer)):
        cell.register_backward_pre_hook(lambda cell, grads, name=name: seen.append((name, "pre")) or grads[0] * 2)
        cell.register_backward_hook(lambda cell, grads, out, name=name: seen.append((name, "post")) or grads[0] + out[0])
    return lambda x: net(x).sum(), (X,)


@case
def several_arguments_and_results(seen):
    net = Two()
    net.register_backward_hook(lambda cell, grads, out: seen.append(len(out)) or (grads[0] * out[1], grads[1] * out[0]))
    net.register_backward_pre_hook(lambda cell, grads: (grads[0] * 3, grads[1] + 1))

    def f(x, y):
        p, q = net(x, y)
        return (p * p * q).sum()
    return f, (X, Y)


@case
def a_result_that_nobody_reads_has_zeros(seen):
    net = Two()
    net.register_backward_hook(lambda cell, grads, out: seen.append(len(out)) or (grads[0] + out[1], grads[1] + 1))
    return lambda x, y: (net(x, y)[0] ** 2).sum(), (X, Y)


@case
def one_argument_is_a_constant(seen):
    net, constant = Two(), vector(5, 6)
    net.register_backward_hook(lambda cell, grads, out: seen.append(len(grads)) or (grads[0] + grads[1], grads[1]))
    return lambda x: sum([part.sum() for part in net(x, constant)]), (X,)


@case
def arguments_by_name_and_numbers(seen):
    net = Scaled()
    net.register_backward_hook(lambda cell, grads, out: seen.append(len(grads)) or grads[0] * 2)
    return lambda x: net(x, 3.0, scale=2).sum() + net(x, scale=3).sum(), (X,)


@case
def a_cell_is_called_twice(seen):
    net = Scaled()
    net.register_backward_hook(lambda cell, grads, out: seen.append("call") or ops.clamp(grads[0], -20, 20))
    return lambda x: (net(net(x)) * net(x)).sum() + net(x).sum(), (X,)


@case
def nothing_flows_to_the_cell(seen):
    net = Scaled()
    net.register_backward_hook(lambda cell, grads, out: seen.append("never"))
    return lambda x: (x * x).sum() + (ops.stop_gradient(net(x)) * x).sum(), (X,)


@case
def nothing_flows_through_the_cell(seen):
    class Stops(nn.Cell):
        def construct(self, x):
            return ops.stop_gradient(x) * 2
    net = Stops()
    net.register_backward_pre_hook(lambda cell, grads: seen.append("pre"))
    net.register_backward_hook(lambda cell, grads, out: seen.append("post"))
    return lambda x: (net(x) * x).sum(), (X,)


@case
def a_gradient_of_its_own(seen):
    net = OwnGradient()
    net.register_backward_hook(lambda cell, grads, out: seen.append("post") or grads[0] * 2)
    net.register_backward_pre_hook(lambda cell, grads: grads[0] + 1)
    return lambda x: net(x).sum(), (X,)


@case
def a_cell_that_is_run_again(seen):
    net = Scaled()
    net.recompute()
    net.register_backward_hook(lambda cell, grads, out: seen.append("post") or grads[0] * 2)
    return lambda x: (net(x) ** 2).sum(), (X,)


@case
def a_cell_that_computes_in_another_type(seen):
    net = Scaled().to_float(ms.float16)
    net.register_backward_hook(lambda cell, grads, out: seen.append(str(out[0].dtype)) or grads[0] * 2)
    return lambda x: net(x).sum(), (X,)


@case
def a_hook_gives_another_type(seen):
    net = Scaled()
    net.register_backward_hook(lambda cell, grads, out: ops.cast(grads[0], ms.float64) * 3)
    return lambda x: (net(x) ** 2).sum(), (X,)


@case
def a_hook_decides_by_the_gradient(seen):
    net = Scaled()

    def hook(cell, grads, out):
        if grads[0].sum() > 100:
            return (grads[0] * 0.01,)
        return None
    net.register_backward_hook(hook)
    return lambda x: (net(x) ** 2).sum() + (net(x * 10) ** 3).sum(), (X,)


@case
def a_hook_clips_by_the_norm(seen):
    net = Nested()

    def clip(cell, grads, out):
        norm = ops.sqrt((grads[0] * grads[0]).sum())
        return (grads[0] * ops.minimum(1.0, 0.5 / (norm + 1e-6)),)
    for _, cell in net.cells_and_names():
        cell.register_backward_hook(clip)
    return lambda x: net(x).sum(), (X,)


@case
def a_hook_needs_the_numbers(seen):
    net = Scaled()
    net.register_backward_hook(lambda cell, grads, out: seen.append(grads[0].asnumpy().tolist()))
    net.register_backward_pre_hook(lambda cell, grads: Tensor(np.sort(grads[0].asnumpy())[::-1]))
    return lambda x: (net(x) ** 2).sum(), (X,)


@case
def a_hook_assigns_to_attributes(seen):
    net = Scaled()
    net.count, net.last = 0, None

    def hook(cell, grads, out):
        cell.count += 1
        cell.last = grads[0]
        seen.append((cell.count, cell.last.asnumpy().tolist()))
        return grads[0] * cell.count
    net.register_backward_hook(hook)
    return lambda x: (net(net(x)) ** 2).sum(), (X,)


@case
def a_hook_reads_attributes_that_construct_has_assigned(seen):
    class Remembers(nn.Cell):
        def construct(self, x):
            self.kept = x * 3
            return x * 2
    net = Remembers()
    net.register_backward_hook(lambda cell, grads, out: grads[0] * cell.kept)
    return lambda x: (net(x) ** 2).sum(), (X,)


@case
def a_method_is_a_hook(seen):
    class Watch:
        factor = 4

        def hook(self, cell, grads, out):
            seen.append(type(cell).__name__)
            return grads[0] * self.factor
    net = Scaled()
    net.register_backward_hook(Watch().hook)
    return lambda x: net(x).sum(), (X,)


@case
def below_a_branch(seen):
    net = Scaled()
    net.register_backward_hook(lambda cell, grads, out: seen.append("post") or grads[0] * 2 + out[0])

    def f(x):
        if x.sum() > 0:
            y = net(x) * 3
        else:
            y = x * 5
        return (y * y).sum()
    return f, (X,)


@case
def below_a_loop(seen):
    net = Scaled(0.5, 0.7)
    net.register_backward_hook(lambda cell, grads, out: seen.append("iteration") or grads[0] * 1.5 + out[0])

    def f(x):
        while x.sum() > 0.5:
            x = net(x)
        return (x * x).sum()
    return f, (X,)


@case
def arguments_are_changed_by_hooks_forwards(seen):
    net = Scaled()
    net.register_forward_pre_hook(lambda cell, args: seen.append("pre") or (args[0] + 1, *args[1:]))
    net.register_forward_pre_hook(lambda cell, args, kwargs: (args, {**kwargs, "scale": 2}), with_kwargs=True)
    net.register_forward_hook(lambda cell, args, output: seen.append("post") or output * args[0])
    net.register_forward_hook(lambda cell, args, kwargs, output: output * kwargs["scale"], with_kwargs=True)
    net.register_backward_hook(lambda cell, grads, out: seen.append("back") or grads[0] * out[0])
    return lambda x: (net(x, scale=1) ** 2).sum(), (X,)


@case
def forward_hooks_that_look_on(seen):
    net = Nested()
    for name, cell in (("net", net), ("inner", net.inner)):
        cell.register_forward_pre_hook(lambda cell, args, name=name: seen.append((name, args[0].shape)))
        cell.register_forward_hook(lambda cell, args, out, name=name: seen.append((name, out.asnumpy().tolist())))
    return lambda x: net(x).sum(), (X,)


@case
def between_operators(seen):
    between = HookBackward(lambda grads: seen.append(len(grads)) or (grads[0] * 2, grads[1] + 1))

    def f(x, y):
        p, q = between(x * y, x + y)
        return (p * q).sum()
    return f, (X, Y)


@case
def between_operators_without_a_change(seen):
    between = HookBackward(lambda grads: seen.append([g.asnumpy().tolist() for g in grads]))
    return lambda x: (between(x * 3) * x).sum(), (X,)


@case
def the_gradient_of_a_value_is_computed_anew(seen):
    clip = InsertGradientOf(lambda dout: ops.clamp(dout, -2, 2))
    return lambda x: (clip(x * 3) * x * 4).sum(), (X,)


@case
def a_tensor_hook_sees_all_of_its_gradient(seen):
    def f(x):
        h = x * 2
        before = h * h
        h.register_hook(lambda grad: seen.append("h") or grad * 10)
        return (before + h * 3).sum()
    return f, (X,)


@case
def tensor_hooks_in_order_and_one_that_is_removed(seen):
    def f(x, y):
        h = x * y
        h.register_hook(lambda grad: seen.append(1) or grad + 1)
        handle = h.register_hook(lambda grad: seen.append(2) or grad * 100)
        h.register_hook(lambda grad: seen.append(3) or grad * y)
        handle.remove()
        return (h * h).sum()
    return f, (X, Y)


@case
def hooks_on_several_tensors(seen):
    def f(x):
        a = x * 2
        b = ops.tanh(a)
        c = a * b
        c.register_hook(lambda grad: seen.append("c") or grad * 2)
        a.register_hook(lambda grad: seen.append("a") or grad + 1)
        b.register_hook(lambda grad: seen.append("b") or grad * 3)
        return (c * b).sum()
    return f, (X,)


@case
def hooks_on_the_results_of_one_operator(seen):
    def f(x):
        left, right = ops.split(x * 3, 1)
        right.register_hook(lambda grad: seen.append("right") or grad * 5)
        left.register_hook(lambda grad: seen.append("left") or grad * 7)
        return (left * left * right).sum()
    return f, (X,)


@case
def a_tensor_hook_of_python(seen):
    def f(x):
        h = x * 2

        def hook(grad):
            seen.append(grad.asnumpy().tolist())
            return Tensor(grad.asnumpy()[::-1].copy())
        h.register_hook(hook)
        return (h * h).sum()
    return f, (X,)


@case
def a_lambda_of_python(seen):
    def f(x):
        h = x * 2
        h.register_hook(lambda grad: seen.append(grad.asnumpy().tolist()))
        return (h * h).sum()
    return f, (X,)


@case
def a_tensor_hook_uses_a_value_of_the_function(seen):
    def f(x, y):
        h = x * 2
        weight = ops.exp(y)
        h.register_hook(lambda grad: grad * weight)
        return (h * h).sum()
    return f, (X, Y)


@case
def a_variable_of_a_tensor_hook_is_what_it_is_in_the_end(seen):
    def f(x):
        factor, h = 2.0, x * 2
        h.register_hook(lambda grad: grad * factor)
        factor = 5.0
        return (h * h).sum()
    return f, (X,)


@case
def a_tensor_hook_below_a_branch(seen):
    def f(x):
        if x.sum() > 0:
            h = x * 2
            h.register_hook(lambda grad: seen.append("h") or grad * 10)
            y = h * h
        else:
            y = x
        return y.sum()
    return f, (X,)


@case
def a_tensor_hook_below_a_loop(seen):
    def f(x):
        while x.sum() < 100:
            h = x * 2
            h.register_hook(lambda grad: seen.append("iteration") or grad * 0.5 + 1)
            x = h * h
        return x.sum()
    return f, (X,)


@case
def a_hook_at_each_turn_of_a_loop(seen):
    def f(x):
        h, y = x * 2, x
        for iteration in range(6):
            h.register_hook(lambda grad: seen.append("h") or grad * 1.5)
            y = ops.tanh(h) + y * 0.5
        return (h * y).sum()
    return f, (X,)


@case
def hooks_on_arguments(seen):
    def f(x, y):
        y.register_hook(lambda grad: seen.append("y") or grad * 3)
        x.register_hook(lambda grad: seen.append("x") or grad + 1)
        return (x * x * y).sum()
    return f, (X, Y)


@case
def a_function_from_outside_is_a_hook_on_an_argument(seen):
    def double(grad):
        seen.append("double")
        return grad * 2

    def f(x):
        x.register_hook(double)
        return (x * x).sum() + x.sum()
    return f, (X,)


@case
def a_value_that_is_changed_in_place_has_hooks_of_its_own(seen):
    def f(x):
        h = x * x
        h.register_hook(lambda grad: seen.append("before") or grad * 2)
        h.add_(2.0)
        h.register_hook(lambda grad: seen.append("now") or grad * 3)
        return (h * h).sum()
    return f, (X,)


@case
def a_hook_on_a_view(seen):
    def f(x):
        h = x * 3
        first = h[:1]
        first.register_hook(lambda grad: seen.append("first") or grad * 10)
        return (h * h).sum() + (first * 2).sum()
    return f, (X,)


@case
def hooks_on_a_view_and_on_its_root(seen):
    def f(x):
        h = x * 3
        first, last = h[:1], h[1:]
        h.register_hook(lambda grad: seen.append("root") or grad + 1)
        first.register_hook(lambda grad: seen.append("first") or grad * 10)
        return (h * h).sum() + (first * last * 2).sum(), last
    return lambda x: f(x)[0] + f(x)[1].sum(), (X,)


@case
def both_sides_read_what_the_cell_gives(seen):
    net = Scaled()
    net.register_backward_hook(lambda cell, grads, out: seen.append("post") or grads[0] + 1)

    def f(x):
        y = net(x)
        if x.sum() > 0:
            z = y * 3
        else:
            z = y + x
        return (z * z).sum()
    return f, (X,)


@case
def a_gradient_inside_does_not_come_to_the_results(seen):
    class Square(nn.Cell):
        def construct(self, x):
            return x * x * x
    net = Square()
    net.register_backward_hook(lambda cell, grads, out: seen.append("post") or grads[0] * 2 + out[0])
    gradient = ms.grad(lambda x: net(x).sum())
    return lambda x: (gradient(x) * x).sum(), (X,)


@case
def in_a_part_that_has_no_gradient(seen):
    net = Scaled()
    net.register_backward_hook(lambda cell, grads, out: seen.append("never"))

    def f(x):
        with ms.no_grad():
            y = net(x)
        return (x * y).sum()
    return f, (X,)


@case
def of_a_gradient_inside(seen):
    net = Scaled()
    net.register_backward_hook(lambda cell, grads, out: seen.append("post") or grads[0] * grads[0])
    gradient = ms.grad(lambda x: (net(x) ** 3).sum())
    return lambda x: (gradient(x) * x).sum(), (X,)


@case
def of_a_tensor_inside_a_gradient_inside(seen):
    def inner(x):
        h = x * x
        h.register_hook(lambda grad: seen.append("h") or grad * grad)
        return (h * x).sum()
    gradient = ms.grad(inner)
    return lambda x: (gradient(x) ** 2).sum(), (X,)


@case
def of_a_result_that_its_own_gradient_reads(seen):
    def inner(x):
        h = ops.exp(ops.tanh(x))
        h.register_hook(lambda grad: seen.append("h") or grad * h)
        return (h * x).sum()
    gradient = ms.grad(inner)
    return lambda x: (gradient(x) * x).sum(), (X,)


@case
def of_a_mapped_function(seen):
    net = Scaled()
    net.register_backward_hook(lambda cell, grads, out: ops.clamp(grads[0], -5, 5))
    mapped = ms.vmap(lambda x, y: (net(x) * y).sum())
    return lambda x: (mapped(ops.stack([x, x * 2, x * 3]), ops.stack([x, x, x])) ** 2).sum(), (X,)


@case
def gradients_of_each_item(seen):
    net = Scaled()
    net.register_backward_hook(lambda cell, grads, out: grads[0] * ops.minimum(1.0, 3.0 / ops.norm(grads[0])))
    each = ms.vmap(ms.grad(lambda x: (net(x) ** 2).sum()))
    return lambda x: each(ops.stack([x, x * 2, x * 3])).sum(), (X,)


@case
def of_an_item(seen):
    def item(x, y):
        y.register_hook(lambda grad: grad + 1)
        x.register_hook(lambda grad: grad * grad)
        return (x * x * y).sum()
    mapped = ms.vmap(item)
    return lambda x: mapped(ops.stack([x, x * 2]), ops.stack([x, x + 1])).sum(), (X,)


@case
def a_sequence_of_cells(seen):
    cells = nn.SequentialCell([Scaled(1, 2), nn.Tanh(), Scaled(3, 4)])
    for number, cell in enumerate(cells):
        cell.register_backward_hook(lambda cell, grads, out, n=number: seen.append(n) or grads[0] + n)
    return lambda x: cells(x).sum(), (X,)


@case
def a_hook_of_python_below_a_loop(seen):
    net = Scaled(0.5, 0.7)
    net.register_backward_hook(lambda cell, grads, out: seen.append(grads[0].asnumpy().tolist()) or grads[0] * 2)

    def f(x):
        while x.sum() > 0.5:
            x = net(x)
        return (x * x).sum()
    return f, (X,)


@case
def an_object_is_a_hook(seen):
    class Counting:
        calls = 0

        def __call__(self, cell, grads, out):
            self.calls += 1
            seen.append(self.calls)
            return grads[0] * self.calls
    net = Scaled()
    net.register_backward_hook(Counting())
    return lambda x: (net(x) ** 2).sum(), (X,)


@case
def a_partial_and_a_jitted_function_are_hooks(seen):
    net = Scaled()
    net.register_backward_hook(functools.partial(lambda factor, cell, grads, out: grads[0] * factor, 7))
    net.register_backward_hook(ms.jit(lambda cell, grads, out: grads[0] + 1))
    return lambda x: (net(x) ** 2).sum(), (X,)


@case
def a_hook_changes_its_gradient_in_place(seen):
    net = Scaled()

    def hook(cell, grads, out):
        grads[0].mul_(3.0)
    net.register_backward_hook(hook)
    return lambda x: (net(x) ** 2).sum(), (X,)


@case
def a_hook_assigns_to_a_parameter(seen):
    net, total = Scaled(), Parameter(vector(0, 0), name="total")

    def hook(cell, grads, out):
        ops.assign_add(total, grads[0])
        return grads[0] + total
    net.register_backward_hook(hook)
    return lambda x: (net(net(x)) ** 2).sum(), (X,)


@case
def a_layer_with_state(seen):
    net = nn.BatchNorm1d(2).set_train()
    net.register_backward_hook(lambda cell, grads, out: grads[0] * 5 + out[0])
    net.register_forward_hook(lambda cell, args, output: output * 2)
    return lambda x: (net(ops.stack([x, x * x, x - 3])) ** 3).sum(), (X,)


def arguments(args):
    return [vector(*arg) for arg in args]


def shown(made):
    return [part.asnumpy().tolist() for part in (made if isinstance(made, tuple) else (made,))]


def run(name, way):
    """What three calls give, and what the hooks have seen at each of them."""
    seen, found = [], []
    function, args = CASES[name](seen)
    positions = tuple(range(len(args)))
    if way in ("eager", "GRAPH_MODE"):
        gradient = ms.grad(function, positions)
    elif way == "jit around":
        derived = ms.grad(function, positions)
        gradient = ms.jit(lambda *args: derived(*args))
    else:
        gradient = ms.grad(ms.jit(function), positions)
    ms.set_context(mode=ms.GRAPH_MODE if way == "GRAPH_MODE" else ms.PYNATIVE_MODE)
    try:
        for _ in range(3):
            made = gradient(*arguments(args))
            found.append((shown(made), list(seen)))
            seen.clear()
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    return found


EAGER = {}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("way", ["jit around", "grad of jit", "GRAPH_MODE"])
@pytest.mark.parametrize("name", CASES)
def test_a_graph_with_hooks_is_as_eager_mode(name, way):
    if name not in EAGER:
        EAGER[name] = run(name, "eager")
    with warnings.catch_warnings():
        warnings.simplefilter("error", FallbackWarning)          # nothing runs in Python as a whole
        found = run(name, way)
    for (values, seen), (expected, seen_there) in zip(found, EAGER[name]):
        np.testing.assert_allclose(values, expected, rtol=1e-5)
        assert seen == seen_there


def data_decides(name, seen):
    """A function in which run-time data decides whether a gradient comes to the hook."""
    net = Scaled()
    net.register_backward_pre_hook(lambda cell, grads: seen.append("pre") or grads[0] * 2)
    net.register_backward_hook(lambda cell, grads, out: seen.append("post") or grads[0] + 1)

    def one_side(x):
        y = net(x)
        return (y * y).sum() if x.sum() > 5 else (x * x).sum()

    def iterations(x):
        y, z = net(x), x
        while z.sum() < 0:
            z = z - y
        return (z * z).sum()

    def left_by_the_last_turn(x):
        kept, y = x, x * 0
        while y.sum() < 5:
            y = y + kept + 1
            kept = net(kept)
        return y.sum()

    def a_tensor(x):
        h = ops.sqrt(x * x)
        h.register_hook(lambda grad: seen.append("hook") or grad * 10)
        return h.sum() if x.sum() > 5 else x.sum()

    def weights_alone(x):
        fixed = ops.stop_gradient(x)
        y = net(fixed)
        return (y * x).sum() if x.sum() > 5 else (x * net.w).sum()
    return locals()[name]


@pytest.mark.parametrize("way", ["jit around", "grad of jit"])
@pytest.mark.parametrize("name", ["one_side", "iterations", "left_by_the_last_turn", "a_tensor", "weights_alone"])
def test_where_data_decides_whether_a_gradient_comes_hooks_are_called_as_in_eager_mode(name, way):
    seen = []
    function = data_decides(name, seen)
    derived = ms.jit(lambda x: ms.grad(function)(x)) if way == "jit around" else ms.grad(ms.jit(function))
    for values in ((1., 2.), (4., 3.), (-4., 1.), (0., 0.), (4., 3.)):
        expected = shown(ms.grad(function)(vector(*values)))
        calls = list(seen)
        seen.clear()
        with warnings.catch_warnings():
            warnings.simplefilter("error", FallbackWarning)
            np.testing.assert_allclose(shown(derived(vector(*values))), expected, rtol=1e-6)
        assert seen == calls
        seen.clear()


def test_hooks_that_compute_are_a_graph_as_a_whole_and_explain_says_so():
    net = Nested()
    net.register_backward_hook(lambda cell, grads, out: grads[0] * out[0])
    net.inner.register_backward_pre_hook(lambda cell, grads: grads[0] + 1)
    net.outer.w.register_hook(lambda grad: grad * 2)

    def f(x):
        h = x * 2
        h.register_hook(lambda grad: ops.clamp(grad, -1, 1))
        return net(h).sum()
    derived = ms.grad(f, 0, net.outer.w)
    jitted = ms.jit(lambda x: derived(x), fullgraph=True)
    for _ in range(2):
        for found, expected in zip(jitted(vector(*X)), derived(vector(*X))):
            np.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), rtol=1e-5)
    text = jitted.explain(details=True)
    assert "hooks on the gradients of a Nested are part of the graph" in text
    assert "hooks on the gradients of a Tensor are part of the graph" in text and "nothing runs in Python" in text
    assert not jitted.compiled.variants[0].calls_python


def test_one_hook_that_python_has_to_call_is_one_segment_and_explain_names_it():
    net, seen = Scaled(), []
    net.register_backward_hook(lambda cell, grads, out: seen.append(grads[0].asnumpy().max()))
    derived = ms.grad(lambda x: (net(x) ** 2).sum())
    jitted = ms.jit(lambda x: derived(x))
    for _ in range(3):
        jitted(vector(*X))
    assert len(seen) == 3 and jitted.compiled.variants[0].calls_python
    assert "the hook test_one_hook" in jitted.explain() and "3 crossing(s)" in jitted.explain()
    with pytest.raises(GraphSyntaxError, match="is called by Python"):
        ms.jit(lambda x: derived(x), fullgraph=True)(vector(*X))


def test_hooks_that_come_and_go_are_seen_by_compiled_code():
    net = Scaled()
    for derive in (lambda f: ms.jit(ms.grad(f)), lambda f: ms.grad(ms.jit(f))):
        gradient = derive(lambda x: net(x).sum())
        for _ in range(2):
            assert shown(gradient(vector(*X))) == [[2, 3]]
            first = net.register_backward_hook(lambda cell, grads, out: grads[0] * 10)
            assert shown(gradient(vector(*X))) == [[20, 30]]
            second = net.register_backward_pre_hook(lambda cell, grads: grads[0] + 1)
            assert shown(gradient(vector(*X))) == [[40, 60]]
            first.remove()
            assert shown(gradient(vector(*X))) == [[4, 6]]
            second.remove()
            third = net.register_forward_hook(lambda cell, args, output: output * args[0])
            assert shown(gradient(vector(*X))) == [[4, 12]]
            third.remove()
        assert shown(gradient(vector(*X))) == [[2, 3]]


def test_hooks_of_weights_and_inputs_come_last_in_their_order():
    net, x, seen = Nested(), vector(*X), []
    net.inner.w.register_hook(lambda grad: seen.append("inner"))
    net.outer.w.register_hook(lambda grad: seen.append("outer") or grad * 3)
    net.outer.w.register_hook(lambda grad: seen.append("outer again") or grad + 1)
    unused = Parameter(vector(1), name="unused")
    unused.register_hook(lambda grad: seen.append("unused") or grad + 7)

    def f(a):
        a.register_hook(lambda grad: seen.append("x") or grad * 2)
        return net(a).sum()
    derived = ms.grad(f, 0, [net.inner.w, unused, net.outer.w])
    expected = shown(derived(x)[0]), shown(derived(x)[1])
    assert seen[:5] == ["x", "inner", "unused", "outer", "outer again"]
    jitted = ms.jit(lambda a: derived(a))
    for _ in range(3):
        seen.clear()
        found = jitted(vector(*X))
        for made, wanted in zip(found, expected):
            for part, other in zip(shown(made), wanted):
                np.testing.assert_allclose(part, other, rtol=1e-5)
        assert seen == ["x", "inner", "unused", "outer", "outer again"]


def test_a_hook_on_a_weight_that_comes_and_goes_is_seen():
    w = Parameter(vector(2, 3), name="w")
    gradient = ms.jit(ms.grad(lambda a: (a * w).sum(), None, w))
    for _ in range(2):
        assert shown(gradient(vector(*X))) == [[1, 2]]
        handle = w.register_hook(lambda grad: grad * 10)
        assert shown(gradient(vector(*X))) == [[10, 20]]
        handle.remove()


@pytest.mark.parametrize("way", ["eager", "jit", "GRAPH_MODE"])
def test_hooks_where_weights_alone_have_gradients(way):
    dense, x, seen = Scaled(), vector(*X), []
    dense.register_backward_pre_hook(lambda cell, grads: seen.append("pre") or grads[0] * 2)
    dense.register_backward_hook(lambda cell, grads, out: seen.append((grads, len(out))))
    derived = ms.grad(lambda a: dense(a).sum(), None, dense.w)
    gradient = ms.jit(lambda a: derived(a)) if way == "jit" else derived
    ms.set_context(mode=ms.GRAPH_MODE if way == "GRAPH_MODE" else ms.PYNATIVE_MODE)
    try:
        for _ in range(3):
            seen.clear()
            assert shown(gradient(x)) == [[2, 4]] and seen == ["pre", ((None,), 1)]
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


@pytest.mark.parametrize("fullgraph", [False, True])
def test_a_hook_that_wants_the_gradient_of_an_input_fails_where_there_is_none(fullgraph):
    dense, x = Scaled(), vector(*X)
    dense.register_backward_hook(lambda cell, grads, out: grads[0] * 10)
    by_weight, by_input = ms.grad(lambda a: dense(a).sum(), None, dense.w), ms.grad(lambda a: dense(a).sum())
    for gradient in (by_weight, ms.jit(lambda a: by_weight(a), fullgraph=fullgraph)):
        for _ in range(2):
            with pytest.raises(TypeError, match="unsupported operand type.*'NoneType' and 'int'"):
                gradient(x)
    assert shown(ms.jit(lambda a: by_input(a), fullgraph=fullgraph)(x)) == [[20, 30]]


def wrong_shape(cell, grads, out):
    return grads[0].sum()


def wrong_number(cell, grads, out):
    return grads[0], grads[0]


def no_tensor(cell, grads, out):
    return "a text"


def raises(cell, grads, out):
    raise KeyError("from the hook")


def fails(cell, grads, out):
    return grads[0] @ grads[0].reshape((1, 1, -1)) @ out


@pytest.mark.parametrize("hook", [wrong_shape, wrong_number, no_tensor, raises, fails])
def test_a_hook_fails_with_the_same_error_when_its_gradient_comes(hook):
    net = Scaled()
    net.register_backward_hook(hook)

    def f(x):
        return (net(x) ** 2).sum()
    derived, errors = ms.grad(f), []
    jitted = ms.jit(f)
    assert float(jitted(vector(*X))) == float(f(vector(*X))) == 40        # without a gradient nobody calls it
    for gradient in (derived, ms.jit(lambda x: derived(x)), ms.grad(jitted)):
        for _ in range(2):
            with pytest.raises(Exception) as caught:
                gradient(vector(*X))
            errors.append((type(caught.value), getattr(caught.value, "message", str(caught.value))))
    assert len(set(errors)) == 1, errors


def test_what_hooks_print_stands_in_its_place(capsys):
    net = Nested()
    net.inner.register_backward_hook(lambda cell, grads, out: print("inner", grads[0].shape, out[0]))
    net.register_backward_hook(lambda cell, grads, out: print("net"))
    net.outer.w.register_hook(lambda grad: print("weight"))

    def f(x):
        print("forward")
        return net(x).sum()
    derived = ms.grad(f, 0, net.outer.w)
    derived(vector(*X))
    expected = capsys.readouterr().out
    jitted = ms.jit(lambda x: derived(x), fullgraph=True)
    for _ in range(2):
        jitted(vector(*X))
        found = capsys.readouterr().out
        assert [line.split()[0] for line in found.splitlines()] == ["forward", "inner", "net", "weight"]
        assert found == expected


def test_a_hook_stays_with_the_callers_tensor():
    def double(grad):
        return grad * 2

    def f(x):
        x.register_hook(double)
        return x * 3
    jitted = ms.jit(f)
    for function in (f, jitted):
        x = vector(*X)
        for count in range(1, 4):
            function(x)
            assert x.hooks() == [double] * count
        assert shown(ms.grad(lambda a: (a * a).sum())(x)) == [[16, 32]]
        assert shown(ms.grad(lambda a: (function(a) + a).sum())(vector(*X))) == [[8, 8]]     # of the whole gradient


def test_a_training_step_with_hooks_is_one_graph():
    class Classifier(nn.Cell):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Dense(4, 5), nn.Dense(5, 3)

        def construct(self, x):
            return self.second(ops.relu(self.first(x)))

    def trained(jit):
        ms.set_seed(3)
        net = Classifier()
        for number, param in enumerate(net.trainable_params()):
            param.set_data(Tensor(np.linspace(-1, 1, param.size).reshape(param.shape).astype(np.float32) * (number + 1) / 3))
        seen, optimizer = [], nn.SGD(net.trainable_params(), 0.1)
        for cell in (net.first, net.second):
            cell.register_backward_hook(lambda cell, grads, out: seen.append([g is None for g in grads]))
        net.second.weight.register_hook(lambda grad: grad * 0.5)
        step = ms.value_and_grad(lambda x, y: ops.cross_entropy(net(x), y), None, optimizer.parameters)

        def train(x, y):
            loss, grads = step(x, y)
            optimizer(grads)
            return loss
        train = ms.jit(train) if jit else train
        random = np.random.default_rng(0)
        x, y = Tensor(random.normal(size=(6, 4)).astype(np.float32)), Tensor(np.arange(6) % 3)
        return [float(train(x, y)) for _ in range(5)], seen
    losses, seen = trained(False)
    compiled, seen_there = trained(True)
    np.testing.assert_allclose(compiled, losses, rtol=1e-5)
    assert seen == seen_there == [[False], [True]] * 5 and losses[-1] < losses[0]


def test_forward_mode_follows_hooks_as_eager_mode_does():
    net = Scaled()
    net.register_backward_hook(lambda cell, grads, out: grads[0] * 10)
    x, v = vector(*X), vector(1, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        assert shown(ms.jvp(lambda a: net(a), x, v)[1]) == [[20, 30]]
        assert shown(ms.jit(lambda a, b: ms.jvp(lambda a: net(a), a, b)[1])(x, v)) == [[20, 30]]


def test_gradients_of_gradients_across_jit_pass_the_hooks_each_time():
    net, seen = Scaled(), []
    net.register_backward_hook(lambda cell, grads, out: seen.append(1) or grads[0] * grads[0])

    def inner(x):
        return (net(x) ** 3).sum()
    functions = [ms.grad(lambda x: ms.grad(inner)(x).sum()),
                 ms.grad(ms.jit(lambda x: ms.grad(inner)(x).sum())),
                 ms.grad(lambda x: ms.grad(ms.jit(inner))(x).sum()),
                 ms.jit(ms.grad(ms.jit(lambda x: ms.grad(ms.jit(inner))(x).sum())))]
    expected = None
    for gradient in functions:
        for _ in range(3):
            seen.clear()
            found = gradient(vector(*X)).asnumpy()
            expected = found if expected is None else expected
            np.testing.assert_allclose(found, expected, rtol=1e-5)
            assert len(seen) == 2


@pytest.mark.parametrize("way", ["eager", "jit", "jit inside", "GRAPH_MODE", "second order"])
def test_hooks_of_the_callers_tensors_are_called_whenever_they_are_there(way):
    def f(x):
        return (x * x * x).sum()
    first = ms.grad(f)
    gradient = {"jit": ms.jit(lambda x: first(x)), "jit inside": lambda x: ms.jit(lambda y: first(y))(x),
                "second order": ms.jit(ms.grad(lambda x: first(x).sum()))}.get(way, first)
    plain = [6, 12] if way == "second order" else [3, 12]
    # the inner gradient and the outer one pass the hook
    hooked = [24, 48] if way == "second order" else [6, 24]
    ms.set_context(mode=ms.GRAPH_MODE if way == "GRAPH_MODE" else ms.PYNATIVE_MODE)
    try:
        for _ in range(2):
            x, other = vector(*X), vector(*X)
            for _ in range(3):
                assert shown(gradient(x)) == shown(gradient(other)) == [plain]
            handle = x.register_hook(lambda grad: grad * 2)
            for _ in range(2):
                assert shown(gradient(x)) == [hooked] and shown(gradient(other)) == [plain]
            assert way != "jit" or "ran in Python: an argument by which it differentiates has hooks" in gradient.explain()
            handle.remove()
            assert shown(gradient(x)) == [plain]
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


class AsksPython(nn.Cell):
    """Its construct runs in Python in part."""

    def construct(self, x):
        return x * 2 * float(np.median(x.asnumpy()))


class AsksPythonWithGradient(AsksPython):
    def bprop(self, x, out, dout):
        return (dout * 100 + x,)


@pytest.mark.parametrize("what", ["hook", "bprop", "recompute", "forward hook"])
def test_a_cell_with_hooks_or_a_gradient_of_its_own_calls_python_in_part(what):
    net = AsksPythonWithGradient() if what == "bprop" else AsksPython()
    if what == "recompute":
        net.recompute()
    if what == "forward hook":
        net.register_forward_hook(lambda cell, args, output: output * float(np.median(args[0].asnumpy())))
    net.register_backward_hook(lambda cell, grads, out: grads[0] * 10)

    def f(x):
        return (net(x) ** 2).sum()
    expected = shown(ms.grad(f)(vector(*X)))
    with warnings.catch_warnings():
        warnings.simplefilter("error", FallbackWarning)
        for gradient in (ms.jit(ms.grad(f)), ms.grad(ms.jit(f))):
            for _ in range(4):
                np.testing.assert_allclose(shown(gradient(vector(*X))), expected, rtol=1e-6)


def registers_on_what_stands_outside_of_a_branch(x):
    h = x * 2
    if x.sum() > 0:
        h.register_hook(lambda grad: grad * 10)
    return (h * h).sum()


def removes_in_a_branch(x):
    h = x * 2
    handle = h.register_hook(lambda grad: grad * 10)
    if x.sum() > 0:
        handle.remove()
    return (h * h).sum()


def gives_the_handle(x, kept=[]):
    h = x * 2
    kept.append(h.register_hook(lambda grad: grad * 10))
    return (h * h).sum()


def registers_on_a_cell(x):
    net = Scaled()
    net.register_backward_hook(lambda cell, grads, out: grads[0] + 1)
    return (net(x) * x).sum()


class Branching(nn.Cell):
    def construct(self, x):
        return x * 2 if x.sum() > 5 else ops.ones_like(x)


NET = Branching()
NET.register_backward_hook(lambda cell, grads, out: grads[0] + 1)


def one_branch_inside_of_a_cell_and_one_outside(x):
    return (NET(x) * x).sum() if x.sum() > 2 else (x * x).sum()


LEFT = [one_branch_inside_of_a_cell_and_one_outside, registers_on_a_cell, registers_on_what_stands_outside_of_a_branch,
        removes_in_a_branch, gives_the_handle]


@pytest.mark.parametrize("function", LEFT)
def test_what_no_graph_says_about_hooks_runs_in_python_and_explain_says_so(function):
    expected = shown(ms.grad(function)(vector(*X)))
    jitted, derived = ms.jit(function), ms.grad(function)
    around = ms.jit(lambda x: derived(x))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        for _ in range(3):
            assert shown(ms.grad(jitted)(vector(*X))) == shown(around(vector(*X))) == expected
    for left in jitted, around:
        first, _, because, *_ = left.explain().splitlines()
        assert "Python runs what is listed below" in first and "hook" in because


def test_a_cell_that_the_gradient_does_not_ask_for_calls_no_hook():
    class Outer(nn.Cell):
        def __init__(self):
            super().__init__()
            self.inner = Scaled()

        def construct(self, x):
            return ops.sin(self.inner(x))
    net, seen = Outer(), []
    net.inner.register_backward_hook(lambda cell, grads, out: seen.append("never"))
    net.recompute()
    gradient = ms.grad(lambda x, y: (net(y) * y + x).sum())
    jitted = ms.jit(lambda x, y: gradient(x, y))
    for _ in range(2):
        assert shown(jitted(vector(*X), vector(*Y))) == shown(gradient(vector(*X), vector(*Y))) == [[1, 1]]
    assert seen == []
