"""Families of operators that are imported when they are asked for: the table says all of them, and nobody else loads them."""
import importlib
import subprocess
import sys
import types

import pytest

from mindlite import ops
from mindlite.mindir.primitive import Primitive, find_primitive
from mindlite.ops.later import FAMILIES

RULES = ("_eval", "_infer", "_bprop", "_jvp", "_vmap", "_expand", "_of", "_ndarray")


@pytest.mark.parametrize("module", FAMILIES)
def test_a_family_is_listed_whole(module):
    primitives, functions = (set(names.split()) for names in FAMILIES[module])
    family = vars(importlib.import_module(f"mindlite.ops.{module}"))
    own = {x.name for x in family.values() if isinstance(x, Primitive) and x.origin and x.origin[0] == family["__file__"]}
    assert primitives == own
    public = {name for name, x in family.items() if not name.startswith("_")
              and (isinstance(x, types.FunctionType) or isinstance(x, type) and name in functions)
              and x.__module__ == family["__name__"] and not name.endswith(RULES)}
    assert public == functions - primitives
    for name in functions:
        assert getattr(ops, name) is family[name] and name in dir(ops)
    for name in primitives:
        assert find_primitive(name).name == name


def test_a_program_that_names_none_of_them_does_not_import_them():
    code = """
import sys
from mindlite import ops
from mindlite.ops.primitives import fourier
assert 'mindlite.ops.fourier' in sys.modules and 'mindlite.ops.bessel' not in sys.modules
ops.bessel_j0
assert 'mindlite.ops.bessel' in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_name_that_is_nowhere_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'fast_fourier'"):
        ops.fast_fourier
