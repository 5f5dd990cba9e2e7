"""Functions with one mistake each, marked `wrong`: what Python or an operator says to it must be said in graphs too.

Each takes a Tensor f32[2, 3] of ones. Names say what is wrong.
"""
# pylint: disable=all
import math

import numpy as np

import mindlite as ms
from mindlite import nn, ops

MISTAKES = {}
NUMBER = ms.Tensor(np.array(7, np.int64))
FLAGS = ms.Tensor(np.array([True, False]))
PARAMETER = ms.Parameter(ms.Tensor(np.ones((2, 3), np.float32)), name="PARAMETER")


def mistake(function):
    """Register a function by its name."""
    MISTAKES[function.__name__] = function
    return function


# ---------------------------------------------------------------- shapes and types of operators

@mistake
def channels_of_a_convolution(x):
    return ops.conv2d(ops.ones((1, 3, 8, 8), x.dtype), ops.ones((4, 2, 3, 3), x.dtype))                     # wrong


@mistake
def elements_of_a_reshape(x):
    return ops.reshape(x, (4, 2))                                                                           # wrong


@mistake
def two_open_sizes_of_a_reshape(x):
    return x.reshape(-1, -1)                                                                                # wrong


@mistake
def parts_of_a_concat(x):
    return ops.concat((x, ops.ones((2, 4), x.dtype)), 0)                                                    # wrong


@mistake
def axes_of_a_concat(x):
    return ops.concat((x, x[0]), 0)                                                                         # wrong


@mistake
def parts_of_a_stack(x):
    return ops.stack((x, x[0]), 0)                                                                          # wrong


@mistake
def shape_of_a_broadcast(x):
    return ops.broadcast_to(x, (4, 5))                                                                      # wrong


@mistake
def axis_of_a_sum(x):
    return x.sum(axis=2)                                                                                    # wrong


@mistake
def axis_of_softmax(x):
    return ops.softmax(x, axis=-3)                                                                          # wrong


@mistake
def axes_of_a_transpose(x):
    return ops.transpose(x, (0, 0))                                                                         # wrong


@mistake
def axis_of_expand_dims(x):
    return ops.expand_dims(x, 5)                                                                            # wrong


@mistake
def axis_to_squeeze(x):
    return ops.squeeze(x, 0)                                                                                # wrong


@mistake
def type_of_indices(x):
    return ops.gather(x, x, 0)                                                                              # wrong


@mistake
def type_that_does_not_exist(x):
    return x.astype("float99")                                                                              # wrong


@mistake
def bits_of_floats(x):
    return ~x                                                                                               # wrong


@mistake
def labels_of_a_wrong_type(x):
    return ops.nll_loss(x, ops.ones((2,), ms.float32))                                                      # wrong


@mistake
def labels_of_a_wrong_count(x):
    return ops.cross_entropy(x, ops.ones((5,), ms.int32))                                                   # wrong


@mistake
def input_of_a_layer(x):
    return nn.Dense(7, 4)(x)                                                                                # wrong


@mistake
def keyword_of_a_layer(x):
    return nn.Dense(3, 4, colour=2)(x)                                                                      # wrong


# ---------------------------------------------------------------- names

@mistake
def unbound_after_a_branch(x):
    if x.ndim == 3:
        y = x
    return y                                                                                                # wrong


@mistake
def unbound_after_a_branch_on_data(x):
    if x.sum() > 100:
        y = x
    return y                                                                                                # wrong


@mistake
def unbound_after_a_loop(x):
    for _ in range(x.ndim - 2):
        y = x
    return y                                                                                                # wrong


@mistake
def used_after_del(x):
    y = x
    del y
    return y                                                                                # noqa: F821  # wrong


@mistake
def global_that_is_not(x):
    global no_such_global
    no_such_global += 1                                                                                     # wrong
    return x


@mistake
def variable_of_a_function_inside(x):
    def read():
        return later                                                                                        # wrong
    result = read()
    later = x
    return result


@mistake
def name_of_an_import(x):
    from mindlite import no_such_thing                                                                      # wrong
    return no_such_thing(x)


@mistake
def module_that_is_not(x):
    import no_such_module_at_all                                                                            # wrong
    return no_such_module_at_all.f(x)


# ---------------------------------------------------------------- attributes, calls, arguments

@mistake
def none_as_a_result(x):
    def inner(y):
        ops.tanh(y)
    return inner(x) + x                                                                                     # wrong


@mistake
def none_is_called(x):
    f = None
    return f(x)                                                                                             # wrong


@mistake
def attribute_of_none(x):
    y = None
    return y.shape                                                                                          # wrong


@mistake
def item_of_none(x):
    y = None
    return y[0]                                                                                             # wrong


@mistake
def number_is_called(x):
    n = x.ndim
    return n(x)                                                                                             # wrong


@mistake
def tensor_is_called(x):
    return x(3)                                                                                             # wrong


@mistake
def method_of_a_tensor(x):
    return x.no_such_method()                                                                               # wrong


@mistake
def attribute_of_a_list(x):
    return [x].no_such                                                                                      # wrong


@mistake
def function_of_a_library(x):
    return math.no_such(x.ndim)                                                                             # wrong


@mistake
def too_few_arguments_of_a_lambda(x):
    return (lambda a, b: a)(x)                                                                              # wrong


@mistake
def keyword_that_is_missing(x):
    return (lambda *, k: k)(x)                                                                              # wrong


@mistake
def argument_given_twice(x):
    return (lambda a: a)(x, **{"a": x})                                                                     # wrong


# ---------------------------------------------------------------- operators on what does not fit

@mistake
def tensor_plus_text(x):
    return x + "a"                                                                                          # wrong


@mistake
def text_plus_tensor(x):
    return "a" + x                                                                                          # wrong


@mistake
def tensor_plus_none(x):
    return x + None                                                                                         # wrong


@mistake
def tensor_plus_dict(x):
    return x + {}                                                                                           # wrong


@mistake
def number_plus_text(x):
    return x.ndim + "a"                                                                                     # wrong


@mistake
def number_of_the_run_plus_text(x):
    return x.sum().item() + "a"                                                                             # wrong


@mistake
def tensor_less_than_text(x):
    return x < "a"                                                                                          # wrong


@mistake
def tensor_less_than_none(x):
    return x < None                                                                                         # wrong


@mistake
def minus_text(x):
    return -"a"                                                                                             # wrong


# ---------------------------------------------------------------- truth, numbers

@mistake
def truth_in_a_while(x):
    while x > 0:                                                                                            # wrong
        x = x - 1
    return x


@mistake
def truth_in_an_and(x):
    return x and x                                                                                          # wrong


@mistake
def truth_in_a_not(x):
    return not x                                                                                            # wrong


@mistake
def truth_by_bool(x):
    return bool(x)                                                                                          # wrong


@mistake
def truth_in_an_assert(x):
    assert x > 0                                                                                            # wrong
    return x


@mistake
def item_of_many(x):
    return x.item()                                                                                         # wrong


@mistake
def float_of_many(x):
    return float(x)                                                                                         # wrong


@mistake
def int_of_many(x):
    return int(x)                                                                                           # wrong


@mistake
def int_of_text(x):
    return int("abc")                                                                                       # wrong


@mistake
def division_by_zero_at_run_time(x):
    return x * (1 // (NUMBER.item() - 7))                                                                   # wrong


@mistake
def float_division_by_zero_at_run_time(x):
    return x * (1.0 / (NUMBER.item() - 7))                                                                  # wrong


@mistake
def remainder_by_zero_at_run_time(x):
    return x * (5 % (NUMBER.item() - 7))                                                                    # wrong


@mistake
def shift_by_less_than_nothing(x):
    return x * (1 << (NUMBER.item() - 8))                                                                   # wrong


# ---------------------------------------------------------------- indices

@mistake
def index_outside(x):
    return x[5]                                                                                             # wrong


@mistake
def index_outside_at_run_time(x):
    return x[NUMBER.item()]                                                                                 # wrong


@mistake
def index_outside_of_a_list(x):
    return [x, x][5]                                                                                        # wrong


@mistake
def index_outside_of_a_list_at_run_time(x):
    return [x, x][NUMBER.item()]                                                                            # wrong


@mistake
def index_that_is_a_float(x):
    return x[1.5]                                                                                           # wrong


@mistake
def index_of_floats(x):
    return x[x]                                                                                             # wrong


@mistake
def index_that_is_text(x):
    return x["a"]                                                                                           # wrong


@mistake
def too_many_indices(x):
    return x[0, 0, 0]                                                                                       # wrong


@mistake
def two_ellipses(x):
    return x[..., ..., 0]                                                                                   # wrong


@mistake
def mask_of_another_shape(x):
    return x[:, FLAGS]                                                                                      # wrong


@mistake
def key_that_is_not(x):
    return {1: x}[2]                                                                                        # wrong


@mistake
def pop_of_nothing(x):
    return [].pop()                                                                                         # wrong


# ---------------------------------------------------------------- changes in place

@mistake
def assigned_rows_of_another_size(x):
    y = x + 0
    y[0] = ops.ones((5,), x.dtype)                                                                          # wrong
    return y


@mistake
def assigned_row_outside(x):
    y = x + 0
    y[7] = 1.0                                                                                              # wrong
    return y


@mistake
def assigned_text(x):
    y = x + 0
    y[0] = "a"                                                                                              # wrong
    return y


@mistake
def parameter_of_another_shape(x):
    ops.assign(PARAMETER, ops.ones((4, 4), x.dtype))                                                        # wrong
    return x


@mistake
def item_of_a_tuple_assigned(x):
    t = (1, 2)
    t[0] = x                                                                                                # wrong
    return x


# ---------------------------------------------------------------- iteration and unpacking

@mistake
def iteration_over_a_number(x):
    for _ in x.ndim:                                                                                        # wrong
        pass
    return x


@mistake
def iteration_over_a_tensor_without_axes(x):
    for _ in x.sum():                                                                                       # wrong
        pass
    return x


@mistake
def a_comprehension_over_a_tensor_without_axes(x):
    total = x.sum()
    return [row * 2 for row in total]                                                                       # wrong


@mistake
def a_set_over_a_number(x):
    return {k for k in x.ndim}                                                                              # wrong


@mistake
def a_loop_over_a_name(x):
    total = x.sum()
    for row in total:                                                                                       # wrong
        x = x + row
    return x


@mistake
def length_of_a_tensor_without_axes(x):
    return len(x.sum())                                                                                     # wrong


@mistake
def length_of_a_number(x):
    return len(x.ndim)                                                                                      # wrong


@mistake
def rows_unpacked_into_too_many(x):
    a, b, c = x                                                                                             # wrong
    return a + b + c


@mistake
def tuple_unpacked_into_too_few(x):
    a, b = (x, x, x)                                                                                        # wrong
    return a + b


@mistake
def number_unpacked(x):
    a, b = x.ndim                                                                                           # wrong
    return a + b


@mistake
def range_of_a_float(x):
    for _ in range(1.5):                                                                                    # wrong
        pass
    return x


@mistake
def range_without_a_step(x):
    for _ in range(0, 3, 0):                                                                                # wrong
        pass
    return x


@mistake
def zip_of_other_lengths(x):
    return list(zip([1], [1, 2], strict=True))                                                              # wrong


@mistake
def largest_of_nothing(x):
    return max([])                                                                                          # wrong


@mistake
def sorted_mixture(x):
    return sorted([1, "a"])                                                                                 # wrong


# ---------------------------------------------------------------- control flow

@mistake
def sizes_in_a_loop(x):
    i = 0
    while x.sum() < 100:
        x = ops.concat((x, x), 0)
        if i == 2:
            x = ops.matmul(x, x)                                                                            # wrong
        i += 1
    return x.sum()


@mistake
def text_in_a_loop(x):
    for _ in range(NUMBER.item()):
        x = x + "a"                                                                                         # wrong
    return x


@mistake
def raised_at_run_time(x):
    if x.sum() > 0:
        raise RuntimeError(f"positive: {x.shape}")                                                          # wrong
    return x


@mistake
def assertion_at_run_time(x):
    assert x.sum() < 0, "must be negative"                                                                  # wrong
    return x


@mistake
def raise_of_what_is_no_exception(x):
    raise 3                                                                                                 # wrong


# ---------------------------------------------------------------- transformations

@mistake
def position_of_a_gradient(x):
    return ms.grad(lambda y: y.sum(), grad_position=3)(x)                                                   # wrong


@mistake
def gradient_of_text(x):
    return ms.value_and_grad(lambda y: "abc")(x)                                                            # wrong


@mistake
def axis_of_vmap(x):
    return ms.vmap(lambda y: y, in_axes=5)(x)                                                               # wrong


@mistake
def sizes_of_vmap(x):
    return ms.vmap(lambda a, b: a + b)(x, ops.ones((3,), x.dtype))                                          # wrong


@mistake
def axes_of_vmap(x):
    return ms.vmap(lambda a, b: a + b, in_axes=(0,))(x, x)                                                  # wrong
