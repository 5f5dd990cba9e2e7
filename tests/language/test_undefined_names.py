"""Names that are defined nowhere: Python's rule by default, MindSpore's where the setting asks for it."""
import numpy as np
import pytest

from mindlite import Tensor, jit
from mindlite.common.config import config
from mindlite.common.errors import UndefinedNameError


@pytest.fixture
def refused():
    before = config.set(mindspore_rules=True)
    yield
    config.set(**before)


def x():
    return Tensor(np.ones(2))


def in_a_branch(x):
    if x.sum() < 0:
        return x + nowhere  # noqa: F821
    return x


def in_an_inner_function(x):
    def inner(y):
        return [nowhere for _ in y]  # noqa: F821
    return x if x.sum() > 0 else inner(x)


def in_a_called_function(x):
    return in_a_branch(x) + 1


def in_a_handler(x):
    try:
        y = x + 1
    except ValueError:
        y = nowhere  # noqa: F821
    return y


def under_finally(x):
    try:
        if x.sum() < 0:
            nowhere(x)  # noqa: F821
    finally:
        x = x + 1
    return x


FUNCTIONS = {in_a_branch: in_a_branch, in_an_inner_function: in_an_inner_function, in_a_called_function: in_a_branch,
             in_a_handler: in_a_handler, under_finally: under_finally}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_name_that_is_defined_nowhere_is_refused_before_it_is_reached(refused, function):
    with pytest.raises(NameError) as caught:
        jit(function)(x())
    place = FUNCTIONS[function].__code__
    text = str(caught.value)
    assert text.startswith(f"The name 'nowhere' is not defined (in {place.co_name} of {__file__}:{place.co_firstlineno})")
    assert f"--> {__file__}:" in text and "nowhere" in text.splitlines()[2]


@pytest.mark.python_runs("the statement that reads a name without a value, which no call reaches")
@pytest.mark.parametrize("function", FUNCTIONS)
def test_without_the_setting_it_is_an_error_when_it_is_reached(function):
    compiled = jit(function)
    assert np.array_equal(compiled(x()).asnumpy(), function(x()).asnumpy())


def test_where_it_is_reached_the_error_is_pythons():
    errors = []
    for run in (in_a_branch, jit(in_a_branch)):
        with pytest.raises(NameError) as caught:
            run(-x())
        errors.append(caught.value.args)
    assert errors[0] == errors[1] and not isinstance(caught.value, UndefinedNameError)


def except_name_error(x):
    try:
        return x + nowhere  # noqa: F821
    except NameError:
        return x


def assigns_the_global(x):
    global made_by_the_function
    made_by_the_function = 2.0
    return x * made_by_the_function


def behind_return(x):
    return x
    return nowhere  # noqa: F821


def a_builtin(x):
    return x if x.ndim == len(x.shape) else abs(x)


@pytest.mark.parametrize("function", [except_name_error, assigns_the_global, behind_return, a_builtin])
def test_what_may_have_a_meaning_is_not_refused(refused, function):
    assert np.array_equal(jit(function)(x()).asnumpy(), function(x()).asnumpy())


def test_nothing_has_happened_when_a_name_is_refused(refused):
    seen = []

    def f(x):
        seen.append(1)
        return in_a_branch(x)
    compiled = jit(f)
    for _ in range(2):
        with pytest.raises(UndefinedNameError):
            compiled(x())
    assert seen == []


def test_nor_where_the_function_has_effects_and_runs_for_other_arguments(refused):
    seen = []

    def f(x, how):
        seen.append(how)
        return in_a_branch(x) if how else x
    compiled = jit(f)
    compiled(x(), 0)
    with pytest.raises(UndefinedNameError):
        compiled(x(), 1)
    assert seen == [0]


def test_a_name_that_is_defined_later_is_accepted_then(refused):
    compiled = jit(in_a_branch)
    with pytest.raises(UndefinedNameError):
        compiled(x())
    globals()["nowhere"] = 1.0
    try:
        assert np.array_equal(compiled(-x()).asnumpy(), [0.0, 0.0])
    finally:
        del globals()["nowhere"]
