"""Operators as names: how a call is brought to its form, who gives it its meaning, and the tables of rules."""
import copy
import inspect
import pickle
import threading

import pytest

from mindlite import ops
from mindlite.common.errors import ArgumentError, InternalError
from mindlite.common.tensor import Tensor
from mindlite.mindir.primitive import (PRIMITIVES, TABLES, Primitive, RuleTable, current_interpreter, eager,
                                       find_primitive, infer_rule, interpreting, is_interpreting, parameters_of,
                                       primitive)


class Listening:
    """An interpreter that hands back what it was asked."""

    def bind(self, prim, args, attrs):
        return prim.name, args, attrs


@pytest.fixture
def scaled():
    """scaled(x, y, *, by, offset=1), in no table."""
    return Primitive("scaled", *parameters_of(lambda x, y, *, by, offset=1: None), traits=("elementwise",), doc="A test.")


@pytest.fixture
def packed():
    return Primitive("packed", *parameters_of(lambda *parts, axis=0: None))


def asked(prim, *args, **attrs):
    with interpreting(Listening()):
        return prim(*args, **attrs)


def test_a_signature_is_parted_into_inputs_and_attributes(scaled, packed):
    assert scaled.inputs == ("x", "y") and list(scaled.attrs) == ["by", "offset"] and not scaled.variadic
    assert packed.inputs == ("*parts",) and packed.attrs == {"axis": 0} and packed.variadic
    assert str(scaled.signature) == "(x, y, *, by, offset=1)" and str(packed.signature) == "(*parts, axis=0)"
    assert "elementwise" in scaled.traits and scaled.doc == "A test."


def test_help_shows_how_an_operator_is_called_above_its_docstring(scaled, packed):
    assert scaled.__doc__ == "scaled(x, y, by, offset=1)\n\nA test." and packed.__doc__.startswith("packed(*parts, axis=0)\n")
    assert str(inspect.signature(scaled)) == "(x, y, by, offset=1)"
    assert "An operator: name" in Primitive.__doc__ and "name" in inspect.signature(Primitive).parameters


@pytest.mark.parametrize("args, attrs", [
    ((1, 2), {"by": 3}),
    ((1, 2, 3), {}),
    ((1, 2, 3, 1), {}),
    ((1,), {"y": 2, "by": 3}),
    ((), {"y": 2, "x": 1, "by": 3, "offset": 1}),
])
def test_arguments_are_filled_in(scaled, args, attrs):
    assert asked(scaled, *args, **attrs) == ("scaled", (1, 2), {"by": 3, "offset": 1})


@pytest.mark.parametrize("args, attrs, text", [
    ((1,), {"by": 3}, "'y' is missing"),
    ((1, 2), {}, "'by' is missing"),
    ((1, 2, 3, 4, 5), {}, "at most 4 arguments, 5 were given"),
    ((1, 2, 3), {"by": 3}, "'by' is given twice"),
    ((1, 2), {"by": 3, "z": 1}, "no argument is named 'z'"),
    ((1, 2), {"by": 3, "x": 1}, "'x'"),
])
def test_a_call_that_does_not_fit_is_refused(scaled, args, attrs, text):
    with pytest.raises(ArgumentError, match=text) as caught:
        asked(scaled, *args, **attrs)
    assert str(caught.value).startswith("scaled: ")


def test_an_operator_may_take_any_number_of_arrays(packed):
    assert asked(packed) == ("packed", (), {"axis": 0})
    assert asked(packed, 1, 2, 3, axis=1) == ("packed", (1, 2, 3), {"axis": 1})


def test_a_filled_call_does_not_change_the_defaults(scaled):
    asked(scaled, 1, 2, by=3)[2]["offset"] = 99
    assert asked(scaled, 1, 2, by=3)[2]["offset"] == 1


def test_prepare_brings_the_call_to_the_operators_form():
    made = Primitive("negative_axis", *parameters_of(lambda x, *, axis=-1: None),
                     prepare=lambda args, attrs: (args, {"axis": attrs["axis"] % 2}))
    assert asked(made, "x") == ("negative_axis", ("x",), {"axis": 1})


def test_the_interpreter_on_top_answers_and_leaves_with_its_block(scaled):
    outer, inner = Listening(), Listening()
    with interpreting(outer):
        with interpreting(inner):
            assert current_interpreter() is inner and is_interpreting()
        with pytest.raises(ValueError):
            with interpreting(inner):
                raise ValueError
        assert current_interpreter() is outer
    assert not is_interpreting()


def test_an_interpreter_is_of_its_thread():
    seen = []
    with interpreting(Listening()):
        thread = threading.Thread(target=lambda: seen.append((is_interpreting(), (Tensor(1.0) + 1).item())))
        thread.start()
        thread.join()
    assert seen == [(False, 2.0)]


def test_eager_computes_whatever_is_traced():
    with interpreting(Listening()):
        assert ops.tanh(Tensor(0.0))[0] == "tanh"
        with eager():
            assert ops.tanh(Tensor(0.0)).item() == 0.0


def test_a_rule_is_found_in_its_table_and_stands_there_once(scaled, packed, monkeypatch):
    monkeypatch.setattr("mindlite.mindir.primitive.TABLES", dict(TABLES))
    table = RuleTable("test", "a table of tests")

    @table(scaled, packed)
    def rule():
        return 7
    assert table[scaled] is rule and packed in table and table.get(ops.tanh) is None and table.get(ops.tanh, 3) == 3
    with pytest.raises(InternalError, match="scaled has two test rules"):
        table(scaled)(lambda: 8)
    with pytest.raises(KeyError):
        table[ops.tanh]
    TABLES.pop("test", None)


def test_two_operators_cannot_have_one_name():
    with pytest.raises(InternalError, match="two primitives are named 'tanh'"):
        @primitive
        def tanh(x):
            """Another one."""
    assert PRIMITIVES["tanh"] is ops.tanh


def test_an_operator_is_one_object_also_after_copying_and_pickling():
    for prim in (ops.tanh, ops.reduce_sum):
        assert find_primitive(prim.name) is prim
        assert pickle.loads(pickle.dumps(prim)) is copy.deepcopy(prim) is prim


def test_every_operator_has_a_sentence_and_a_shape_rule():
    for name, prim in PRIMITIVES.items():
        assert prim.name == name and prim.doc.strip(), name
        assert prim in infer_rule, name
