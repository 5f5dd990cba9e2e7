"""Exceptions that hold run-time values: their texts, Python code that is given one, what a user's __init__ does."""
import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor

NOTES = []


class Noted(Exception):
    """One whose __init__ is seen outside."""

    def __init__(self, code, text="none"):
        super().__init__(code, text)
        NOTES.append("made")
        self.code, self.twice = code, code * 2


class Told(Exception):
    """One with a text of its own, which does not call the __init__ of its base."""

    def __init__(self, code, other=3):
        self.code, self.other = code, other

    def __str__(self):
        return f"<{self.code}>"


class Shown(ValueError):
    """One with a repr of its own."""

    def __repr__(self):
        return "Shown!"


def in_texts(x):
    try:
        if x.sum() > 0:
            raise Shown(x.sum(), "ä")
        if x.sum() < 0:
            raise KeyError(x.sum())
    except (ValueError, KeyError) as error:
        print(error, repr(error), f"{error!r:>9}|{error!s:>12}|{error}", type(error).__name__, error.args)
    return x


def escaped(x):
    try:
        if x.sum() > 0:
            raise KeyError(x.sum(), "ä")
    except KeyError as error:
        print(f"{error!a} {error!r}")
    return x


def in_containers(x):
    kept = []
    try:
        if x.sum() > 0:
            raise KeyError(x.sum(), f"at {x.sum()}")
    except KeyError as error:
        kept.append(error)
    print([kept], {1: kept})
    return len(kept), [str(error) for error in kept]


def returned(x):
    try:
        if x.sum() > 0:
            raise KeyError(x.sum())
    except KeyError as error:
        return x, error
    return x, None


def given_to_python(x):
    try:
        if x.sum() > 0:
            raise Told(x, other=x.sum())
    except Told as error:
        NOTES.append(error)
        return x * error.other, str(error)
    return x, ""


def with_a_noted_init(x):
    try:
        if x.sum() > 0:
            raise Noted(x.sum())
    except Noted as error:
        print(error.twice, error.args)
    return x


def with_constants_alone(x):
    try:
        if x.sum() > 0:
            raise Noted(3)
    except Noted as error:
        print(f"{error!r} {error}")
    return x


def raised_out_of_it(x):
    if x.sum() > 0:
        raise Noted(x.sum(), text=str(x.max()))
    return x


def changed_and_raised_again(x):
    try:
        if x.sum() > 0:
            raise Told(x.sum())
    except Told as error:
        error.code, error.extra = 7, x
        if x.sum() > 2:
            raise
        return error.code + error.extra
    return x


def seen(function, x, capsys):
    """What a call gives or raises, prints and notes."""
    NOTES.clear()
    try:
        end = repr(function(x))
    except Exception as error:
        end = type(error), repr(error), str(error), {name: str(value) for name, value in vars(error).items()}
    return end, capsys.readouterr().out, list(map(repr, NOTES))


@pytest.mark.parametrize("function", [in_texts, escaped, in_containers, returned, given_to_python, with_a_noted_init,
                                      with_constants_alone, raised_out_of_it, changed_and_raised_again])
def test_an_exception_of_run_time_values_is_what_python_makes(function, capsys):
    jitted = ms.jit(function)
    for values in (0.0, 0.0), (2.0, 0.0), (3.0, 1.0), (-3.0, 0.0), (0.0, 0.0), (1.0, 1.0, 1.0):
        x = Tensor(np.array(values, np.float32))
        assert seen(function, x, capsys) == seen(jitted, x, capsys), values
    assert not jitted.compiled.in_python


def test_the_repr_of_an_exception_of_run_time_values_is_part_of_the_graph(capsys):
    def text(x):
        try:
            if x.sum() > 0:
                raise KeyError(x.sum(), f"at {x.sum()}")
        except KeyError as error:
            print(f"{error!r} {error}", repr(error))
        return x
    jitted = ms.jit(text, fullgraph=True)
    for values in (1.0, 2.0), (-1.0, 0.5):
        x = Tensor(np.array(values))
        assert seen(jitted, x, capsys) == seen(text, x, capsys)


def fails(x):
    raise ValueError("bad", int(x.sum()))


def numbers(x):
    yield x
    yield x * 2


def behind_a_call(x):
    return fails(x) + 1


def behind_an_attribute(x):
    y = fails(x)
    print("never")
    return y.nothing


def behind_two_calls(x):
    return [behind_a_call(x)][1]


def thrown_before_the_start(x):
    iterator = numbers(x)
    iterator.throw(ValueError("bad", int(x.sum())))
    return x


def thrown_at_a_yield(x):
    iterator = numbers(x)
    return next(iterator) + iterator.throw(ValueError("bad", int(x.sum())))


def thrown_behind_the_end(x):
    iterator = numbers(x)
    total = sum(list(iterator))
    return total + iterator.throw(ValueError("bad", int(x.sum())))


@pytest.mark.parametrize("function", [behind_a_call, behind_an_attribute, behind_two_calls, thrown_before_the_start,
                                      thrown_at_a_yield, thrown_behind_the_end])
def test_nothing_is_executed_behind_an_exception_that_is_certain(function, capsys):
    jitted = ms.jit(function, fullgraph=True)
    for values in (1.0, 2.0), (5.0, 1.0):
        x = Tensor(np.array(values, np.float32))
        (kind, _, text, _), printed, _ = seen(function, x, capsys)
        (found, _, said, _), shown, _ = seen(jitted, x, capsys)
        assert (found, said, shown) == (kind, text, printed) and found is ValueError
