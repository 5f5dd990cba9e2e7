"""Tensor and Parameter: an array with a type, made of what people have at hand."""
import copy
import pickle

import numpy as np
import pytest

import mindlite as ms
from mindlite import Parameter, ParameterTuple, Tensor
from mindlite.common import dtype as dt
from mindlite.common.dim import Symbol
from mindlite.common.errors import ArgumentError, DTypeError, MissingAttributeError, ShapeError
from mindlite.common.initializer import initializer


@pytest.mark.parametrize("data, expected, shape", [
    (1, "int64", ()), (True, "bool", ()), (1.5, "float32", ()), (1j, "complex64", ()),
    ([1, 2], "int64", (2,)), ([1, 2.5], "float32", (2,)), ([[1.0], [2.0]], "float32", (2, 1)),
    ([], "float32", (0,)),
    ((True, False), "bool", (2,)), ([1j, 2], "complex64", (2,)),
    (np.zeros((2, 3)), "float64", (2, 3)), (np.float64(1), "float64", ()), (np.int8([1]), "int8", (1,)),
    ([np.float64(1), 2.0], "float64", (2,)), ([np.float32(1), 2.0], "float32", (2,)),
], ids=repr)
def test_data_has_its_own_type_but_python_floats_are_float32(data, expected, shape):
    x = Tensor(data)
    assert (x.dtype.name, x.shape) == (expected, shape)
    assert x.asnumpy().flags.c_contiguous


@pytest.mark.parametrize("wanted", dt.ALL, ids=lambda d: d.name)
def test_a_type_that_is_asked_for_is_given(wanted):
    for data in ([0, 1], [0.0, 1.0], np.array([0, 1]), Tensor([0.0, 1.0]), (False, True)):
        x = Tensor(data, wanted)
        assert x.dtype is wanted and x.asnumpy().astype(complex).tolist() == [0, 1]


@pytest.mark.parametrize("function", [np.all, np.any, np.sum, np.max, np.argmax, np.mean, np.shape, np.cumsum],
                         ids=lambda f: f.__name__)
def test_functions_of_numpy_take_a_tensor_for_its_array(function):
    data = np.array([[0, 2], [3, 1]], np.int32)
    np.testing.assert_array_equal(function(Tensor(data)), function(data))
    assert not isinstance(function(Tensor(data)), Tensor)


def test_functions_of_numpy_take_tensors_in_lists_and_by_name():
    x = Tensor([1.0, 2.0])
    np.testing.assert_array_equal(np.stack([x, x], axis=1), [[1, 1], [2, 2]])
    np.testing.assert_array_equal(np.clip(x, a_min=Tensor(1.5), a_max=None), [1.5, 2])
    assert np.all(x.asnumpy() == x) and np.allclose(x, [1, 2])


def test_a_list_may_hold_tensors():
    assert Tensor([Tensor([1, 2]), [3, 4]]).asnumpy().tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("data", ["abc", None, ["a"], [None, 1], {"a": 1}, object(), np.array(["x"]), 2 ** 70, b"ab"],
                         ids=lambda data: type(data).__name__)
def test_what_is_no_number_is_refused(data):
    with pytest.raises(DTypeError, match="cannot hold"):
        Tensor(data)


def test_ragged_lists_are_refused():
    with pytest.raises(ShapeError, match="different lengths"):
        Tensor([[1, 2], [3]])
    with pytest.raises(ShapeError, match="different lengths"):
        Tensor([[1, 2], 3], dt.float32)


def test_a_tensor_has_memory_of_its_own():
    array = np.zeros(3, np.float32)
    x = Tensor(array)
    y = Tensor(x)
    array[0] = 1
    x.asnumpy()[1] = 2
    assert x.asnumpy().tolist() == [0, 2, 0] and y.asnumpy().tolist() == [0, 0, 0]


def test_asnumpy_and_from_numpy_share_memory():
    array = np.arange(4, dtype=np.float32)
    x = Tensor.from_numpy(array)
    array[0] = 9
    x.asnumpy()[1] = 8
    assert x.asnumpy() is array and x.tolist() == [9, 8, 2, 3]


def test_from_numpy_copies_what_is_not_contiguous():
    array = np.arange(6, dtype=np.float32).reshape(2, 3).T
    x = Tensor.from_numpy(array)
    assert x.asnumpy().flags.c_contiguous and np.array_equal(x.asnumpy(), array)
    assert not np.shares_memory(x.asnumpy(), array)


def test_from_numpy_takes_arrays_of_numbers_alone():
    with pytest.raises(ArgumentError, match="numpy.ndarray, not list"):
        Tensor.from_numpy([1, 2])
    for array in (np.array(["a"]), np.array([object()])):
        with pytest.raises(DTypeError, match="cannot hold"):
            Tensor.from_numpy(array)


def test_arrays_in_another_order_are_taken_over_in_this_one():
    swapped = np.array([1, 2], ">f4")
    assert Tensor(swapped).tolist() == [1, 2] and Tensor(swapped).dtype is dt.float32
    fortran = Tensor.wrap(np.asfortranarray(np.arange(6.0).reshape(2, 3)))
    for made in (Tensor(fortran), Parameter(fortran), copy.deepcopy(fortran)):
        assert made.asnumpy().flags.c_contiguous and np.array_equal(made.asnumpy(), fortran.asnumpy())


def test_facts_of_a_tensor():
    x = Tensor(np.zeros((2, 3), np.float16))
    assert (x.shape, x.ndim, x.size, x.itemsize, x.nbytes, x.strides, len(x)) == ((2, 3), 2, 6, 2, 12, (6, 2), 2)


def test_one_element_is_a_number():
    x = Tensor([[2.5]])
    assert (x.item(), float(x), int(x), complex(x), bool(x)) == (2.5, 2.5, 2, 2.5 + 0j, True)
    assert type(x.item()) is float and type(Tensor(3).item()) is int and type(Tensor(True).item()) is bool
    assert Tensor([1, 2, 3]).item(1) == 2
    assert [0, 1, 2][Tensor(1)] == 1 and list(range(Tensor(3))) == [0, 1, 2]


def test_several_elements_are_no_number():
    x = Tensor([1.0, 2.0])
    for read in (lambda: x.item(), lambda: float(x), lambda: int(x), lambda: complex(x)):
        with pytest.raises(ShapeError, match="only a tensor of one element"):
            read()
    with pytest.raises(ShapeError, match="ambiguous"):
        bool(x)
    with pytest.raises(ShapeError, match="ambiguous"):
        bool(Tensor([]))
    with pytest.raises(DTypeError, match="integer Tensor"):
        [0, 1][Tensor(1.0)]
    with pytest.raises(ArgumentError, match="no len"):
        len(Tensor(1.0))


def test_format_is_that_of_the_number():
    assert f"{Tensor(2.5):.3f}" == "2.500" and f"{Tensor([7]):>4d}" == "   7"
    assert f"{Tensor([1, 2])}" == str(Tensor([1, 2]))
    with pytest.raises((TypeError, ValueError)):
        f"{Tensor([1.0, 2.0]):.3f}"


def test_repr_shows_shape_type_and_value():
    assert repr(Tensor([1, 2])) == "Tensor(shape=[2], dtype=Int64, value=\n[1, 2])"
    assert repr(Tensor(1.5)) == "Tensor(shape=[], dtype=Float32, value= 1.5)"
    assert str(Tensor([1, 2])) == "[1 2]"


def test_a_missing_attribute_is_named():
    with pytest.raises(MissingAttributeError, match="'Tensor' object has no attribute 'shap'"):
        Tensor(1).shap
    assert not hasattr(Tensor(1), "shap") and getattr(Parameter(1.0), "nothing", 7) == 7


def test_tensors_are_keys_by_identity():
    x, y = Tensor([1]), Tensor([1])
    assert {x: "x", y: "y"}[x] == "x" and len({x, y, x}) == 2


def test_numpy_takes_a_tensor_and_copies_when_it_is_asked_to():
    x = Tensor(np.arange(3, dtype=np.float32))
    assert np.shares_memory(np.asarray(x), x.asnumpy()) and np.asarray(x, np.int32).dtype == np.int32
    assert not np.shares_memory(np.array(x), x.asnumpy())
    assert np.add(x, 1).tolist() == [1, 2, 3] if isinstance(np.add(x, 1), np.ndarray) else (x + 1).tolist() == [1, 2, 3]


def test_a_placeholder_has_sizes_that_are_open():
    n = Symbol("N")
    x = Tensor(shape=(None, 3), dtype="float16")
    y = Tensor(shape=n)
    assert x.shape == (None, 3) and x.dtype is dt.float16 and x.ndim == 2
    assert y.shape == (n,) and y.dtype is dt.float32
    assert "None" in repr(x)


def test_data_that_an_initializer_promises_is_made_once():
    calls = []
    x = Tensor(shape=(2, 3), dtype=dt.float32, init=lambda array: (calls.append(1), array.fill(1)))
    assert x.has_init and x.shape == (2, 3)
    assert x.init_data() is x and not x.has_init and x.asnumpy().tolist() == [[1] * 3] * 2
    assert x.init_data().sum() == 6 and len(calls) == 1
    assert Parameter(initializer("zeros", [4], dt.float16)).asnumpy().dtype == np.float16


def test_a_copy_has_memory_and_attributes_of_its_own():
    w = Parameter(np.ones(2, np.float32), "w", requires_grad=False)
    v = copy.deepcopy(w)
    v.asnumpy()[0] = 5
    v.name = "v"
    assert type(v) is Parameter and (w.name, w.requires_grad, w.tolist()) == ("w", False, [1, 1])
    assert not v.requires_grad
    a, b = copy.deepcopy((w, w))
    assert a is b


def test_tensors_survive_pickling():
    x, w = Tensor([1.5, 2.0], dt.bfloat16), Parameter(np.arange(3), "w", requires_grad=False)
    y, v = pickle.loads(pickle.dumps((x, w)))
    assert y.dtype is dt.bfloat16 and np.array_equal(y.asnumpy(), x.asnumpy())
    assert type(v) is Parameter and (v.name, v.requires_grad, v.tolist()) == ("w", False, [0, 1, 2])
    assert w.tolist() == [0, 1, 2] and (v + 1).tolist() == [1, 2, 3]


def test_a_parameter_knows_what_it_is_for():
    w = Parameter(Tensor([1.0]), name="w", layerwise_parallel=True)
    assert (w.name, w.requires_grad, w.layerwise_parallel, w.dtype) == ("w", True, True, dt.float32)
    assert Parameter([1, 2]).name == "Parameter" and isinstance(w, Tensor) and w.data is w
    assert repr(w) == "Parameter (name=w, shape=(1,), dtype=Float32, requires_grad=True)"


def test_a_parameter_does_not_share_the_memory_of_what_it_was_made_of():
    x = Tensor([1.0, 2.0])
    w = Parameter(x)
    x.asnumpy()[0] = 9
    assert w.tolist() == [1, 2]


def test_set_data_gives_a_parameter_memory_of_its_own():
    w = Parameter(np.zeros(2, np.float32), "w")
    memory = w.asnumpy()
    assert w.set_data(Tensor([1, 2])) is w
    assert memory.tolist() == [0, 0] and w.tolist() == [1, 2] and w.dtype is dt.float32
    with pytest.raises(ShapeError, match="'w' has shape"):
        w.set_data(Tensor([1.0, 2.0, 3.0]))
    assert w.tolist() == [1, 2]
    assert w.set_data(Tensor([1.0, 2.0, 3.0]), slice_shape=True).shape == (3,)


def test_the_value_of_a_parameter_is_a_tensor_of_its_own():
    w = Parameter([1.0, 2.0])
    assert type(w.value()) is Tensor and w.value().tolist() == [1, 2]
    assert not np.shares_memory(w.value().asnumpy(), w.asnumpy())


def test_clones():
    w = Parameter([1.0, 2.0], "w", requires_grad=False)
    same, zeros, number = w.clone(), w.clone("zeros"), w.clone(7)
    assert [p.tolist() for p in (same, zeros, number)] == [[1, 2], [0, 0], [7, 7]]
    assert not np.shares_memory(same.asnumpy(), w.asnumpy()) and not same.requires_grad


def test_a_parameter_tuple_holds_parameters_alone():
    ws = ParameterTuple(Parameter([float(i)], f"w{i}") for i in range(2))
    assert isinstance(ws, tuple) and [c.name for c in ws.clone("m", init="zeros")] == ["m.w0", "m.w1"]
    with pytest.raises(ArgumentError, match="holds Parameters, not Tensor"):
        ParameterTuple([Tensor(1)])
    assert ms.common.tensor.ParameterTuple is ParameterTuple


def test_set_dtype_casts_in_place():
    x = Parameter(Tensor(np.array([1.5, 2], np.float32)), name="x")
    assert x.set_dtype(ms.float16) is x and x.dtype is ms.float16 and x.tolist() == [1.5, 2]
    assert Tensor([1, 2], const_arg=True).tolist() == [1, 2]
