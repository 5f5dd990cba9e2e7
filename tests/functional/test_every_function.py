"""Every public function of ops, mint, numpy, scipy and Tensor that takes plain operands gives in a compiled function what it
gives in eager mode: written into the graph, or by Python where a graph cannot say it. Under vmap it gives what a loop gives."""
import inspect

import numpy as np
import pytest

import mindlite as ms
import mindlite.numpy as mnp
import mindlite.scipy.linalg
from mindlite import Tensor, mint, ops

ROOMS = {"ops": ops, "mint": mint, "functional": mint.nn.functional, "linalg": mint.linalg, "special": mint.special, "numpy": mnp,
         "Tensor": Tensor, "scipy": mindlite.scipy.linalg}
X = np.array([[1.5, 0.25, 0.5], [0.25, 3.0, 1.0], [0.5, 1.0, 4.0]], np.float32)
V, PLACES, FLAGS = np.array([0.5, 0.25, 0.75], np.float32), np.array([2, 0, 1], np.int32), np.array([True, False, True])
NUMBER, NONE = np.float32(2.0), np.zeros((0, 3), np.float32)
OPERANDS = [(X,), (V,), (PLACES,), (FLAGS,), (NUMBER,), (NONE,), (NUMBER, 0), (X, X), (X, V), (X, PLACES), (V, PLACES),
            (PLACES, PLACES), (FLAGS, FLAGS), (X, 1), (X, 0), (X, NUMBER), (V, 2), (X, FLAGS), (X, 0, 1), (X, 1, PLACES),
            (X, X, X), (V, V, V), (X, PLACES, V), (FLAGS, X, X), (X, (1, 0)), (X, (3, 3)), ((X, X),), (2,),
            (X, 2.0, 1.0), (X, 0, PLACES, V)]
# what draws, what shows memory or prints, and what is made for the rooms themselves
DRAWS = ("rand", "dropout", "multinomial", "bernoulli", "normal", "uniform", "poisson", "shuffle", "gamma", "cauchy",
         "choice_with", "exponential", "gumbel", "laplace", "geometric", "initial_seed", "empty")
APART = {"data_ptr", "to_dlpack", "of_elements", "wrap", "doc_of", "print_", "seed", "eigh", "from_numpy", "move_here",
         "moved_to"}


def functions():
    """(room, name) of each."""
    for room, module in ROOMS.items():
        for name in sorted(dir(module)):
            if not (name.startswith("_") or name in APART or any(word in name for word in DRAWS)):
                found = getattr(module, name, None)
                if callable(found) and not inspect.isclass(found):
                    yield room, name


def tensors(operand):
    """The operand, its arrays as new Tensors."""
    if isinstance(operand, tuple):
        return tuple(tensors(part) for part in operand)
    return Tensor(operand.copy()) if isinstance(operand, (np.ndarray, np.generic)) else operand


def holds_arrays(operand):
    return isinstance(operand, (np.ndarray, np.generic)) or isinstance(operand, tuple) and any(map(holds_arrays, operand))


def flat(value):
    return [part for item in value for part in flat(item)] if isinstance(value, (list, tuple)) else [value]


def is_same(a, b):
    if type(a) is not type(b):
        return False
    if not isinstance(a, (Tensor, np.ndarray)):
        return callable(a) or a == b or a != a
    return (a.dtype, a.shape) == (b.dtype, b.shape) and np.allclose(np.asarray(a), np.asarray(b), rtol=1e-3, atol=1e-4,
                                                                    equal_nan=True)


def holds_what_it_should(value):
    """An ndarray also where it has no axes: the numbers of NumPy are none."""
    return not isinstance(value, Tensor) or isinstance(value.elements, np.ndarray)


def calls_of(function):
    """[(the function of the operands that are arrays, these, what eager mode gives)] of the first three calls that it takes."""
    found = []
    for operands in OPERANDS:
        try:
            eager = flat(function(*map(tensors, operands)))
        except Exception as error:                           # it does not take them: what it says is tested elsewhere
            assert not isinstance(error, ms.common.errors.InternalError)
            continue
        assert all(map(holds_what_it_should, eager))
        if any(hasattr(part, "__next__") for part in eager):
            continue

        def call(*given, operands=operands):
            left = iter(given)
            return function(*[next(left) if holds_arrays(operand) else operand for operand in operands])
        found.append((call, [operand for operand in operands if holds_arrays(operand)], eager))
        if len(found) == 3:
            break
    return found


FUNCTIONS = list(functions())


def of_each_function(test):
    """The test for each function, of which Python may run what a graph cannot say of the operands."""
    for mark in (pytest.mark.parametrize("room, name", FUNCTIONS, ids=[".".join(pair) for pair in FUNCTIONS]),
                 pytest.mark.filterwarnings("ignore"), pytest.mark.sampled(10),
                 pytest.mark.python_runs("what a graph cannot say of the function's operands")):
        test = mark(test)
    return test


@of_each_function
def test_a_compiled_function_gives_what_eager_mode_gives(room, name):
    for call, arrays, eager in calls_of(getattr(ROOMS[room], name)):
        made = flat(ms.jit(call)(*map(tensors, arrays)))
        assert len(made) == len(eager) and all(map(is_same, eager, made)), (eager, made)


def rows_of(operand):
    """An operand for two elements, which differ."""
    if isinstance(operand, tuple):
        return tuple(map(rows_of, operand))
    return np.stack([operand, operand[::-1] if operand.ndim else operand + 1])


def row(operand, k):
    return tuple(row(part, k) for part in operand) if isinstance(operand, tuple) else operand[k]


@of_each_function
def test_vmap_gives_what_a_loop_gives_or_tells_that_sizes_differ(room, name):
    for call, arrays, eager in calls_of(getattr(ROOMS[room], name)):
        batches = [rows_of(operand) for operand in arrays]
        try:
            rows = [flat(call(*[tensors(row(b, k)) for b in batches])) for k in (0, 1)]
        except ms.common.errors.MindliteError:               # the other element is not what it takes
            continue
        if not arrays or not all(isinstance(part, Tensor) for part in rows[0]):
            continue
        for way in (lambda f: f, ms.jit):
            try:
                made = flat(way(ms.vmap(call))(*map(tensors, batches)))
            except ms.common.errors.ShapeError as error:
                assert "for each" in str(error)
                continue
            assert len(made) == len(rows[0])
            for k, part in enumerate(made):
                close = dict(rtol=2e-3, atol=1e-3, equal_nan=True)
                assert all(np.allclose(part[n].asnumpy(), rows[n][k].asnumpy(), **close) for n in (0, 1))


def test_most_functions_take_some_of_the_operands():
    assert len(FUNCTIONS) > 1500
    assert sum(bool(calls_of(getattr(ROOMS[room], name))) for room, name in FUNCTIONS[::40]) > len(FUNCTIONS) / 40 * 0.7
