"""Operators' functions run over graph nodes, whose == is Python's identity: a result compared so is False, and nobody sees it.

They compare by `equal` and `not_equal`. This reads the source: in functions that take Tensors, no operand of == or != is what an
operator has given. (Rules that compute by NumPy, and those of single elements, are other functions.)
"""
import ast
from pathlib import Path

import numpy as np
import pytest

import mindlite
import mindlite.mindspore as ms
import mindlite.numpy as mnp
from mindlite.compile.jit import FallbackWarning
from mindlite.mindspore.ops import operations as P
from mindlite.ops.methods import METHODS

THE_SAME_FOR_BOTH_ANSWERS = {
    "random_ops.py: as_operand(x).shape[0] == 1",       # one element, with one axis or reshaped to several: it broadcasts alike
    "summary.py: value.shape[0] != 1",                  # of values that are computed
    "distributed.py: part.shape[0] == 1",               # an output that has neither shape is refused
    "algebra.py: a.shape[-1] == b.shape[-1] == 2",      # 2 or 3: another size was refused before
}
PACKAGE = Path(mindlite.__file__).parent
ROOMS = ("ops", "numpy", "mint")                # functions of these are executed over nodes, not parsed
BY_ARRAYS = {"eval_rule", "kernel_rule", "elementwise", "infer_rule"}
# of the names that operators have, those which give no Tensor, or are Python's own in these modules
PLAIN = {"len", "size", "shape", "dtype", "ndim", "rank", "is_tensor", "min", "max", "abs", "sum", "any", "all", "round", "range",
         "item", "tolist", "index", "count", "numel", "nelement", "dim", "is_complex", "is_floating_point", "stride", "values",
         "element_size", "pop", "slice", "type", "asnumpy"}
OPERATORS = {name for name in dir(mindlite.ops) if callable(getattr(mindlite.ops, name)) and not name.startswith("_")
             and not isinstance(getattr(mindlite.ops, name), type)} - PLAIN
METHODS_OF_TENSORS = {name for name in METHODS if not name.startswith("__")} - PLAIN


def _called(node):
    """The name of the operator or method that an expression calls."""
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Name):
        return node.func.id if node.func.id in OPERATORS else None
    if isinstance(node.func, ast.Attribute):
        of_ops = isinstance(node.func.value, ast.Name) and node.func.value.id == "ops"
        by_numpy = isinstance(node.func.value, ast.Name) and node.func.value.id in ("np", "numpy", "math", "operator")
        return node.func.attr if of_ops and node.func.attr in OPERATORS or (
            not by_numpy and node.func.attr in METHODS_OF_TENSORS and not of_ops) else None
    return None


def _gives_a_tensor(node, made):
    """True for what an operator gives, a name that stands for it, a part of it, or arithmetic with it."""
    if isinstance(node, ast.Name):
        return node.id in made
    if isinstance(node, ast.Subscript):
        return _gives_a_tensor(node.value, made)
    if isinstance(node, ast.BinOp):
        return _gives_a_tensor(node.left, made) or _gives_a_tensor(node.right, made)
    return _called(node) is not None


def _by_arrays(function):
    """True for a function of ndarrays or of single elements: by its rule, or since it calls NumPy on what it is given."""
    names = {part.id for decorator in function.decorator_list for part in ast.walk(decorator) if isinstance(part, ast.Name)}
    return bool(names & BY_ARRAYS)


def compared_results(source):
    """The lines of == and != between results of operators, in functions that take Tensors."""
    found = []
    tree = ast.parse(source)
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef) or _by_arrays(function):
            continue
        made = set()
        for node in ast.walk(function):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    pairs = [(target, node.value)]
                    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                        pairs = list(zip(target.elts, node.value.elts))
                    made |= {t.id for t, value in pairs if isinstance(t, ast.Name) and _gives_a_tensor(value, made)}
        for node in ast.walk(function):
            if isinstance(node, ast.Compare):
                sides = [node.left, *node.comparators]
                for op, left, right in zip(node.ops, sides, sides[1:]):
                    if isinstance(op, (ast.Eq, ast.NotEq)) and (_gives_a_tensor(left, made) or _gives_a_tensor(right, made)):
                        found.append((node.lineno, ast.unparse(node)))
    return found


def _is_shape(node):
    """True for `x.shape` and a slice of it."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        node = node.value
    return isinstance(node, ast.Attribute) and node.attr == "shape"


def _is_size(node, names):
    """True for `x.shape[i]` and for a loop variable over a shape."""
    if isinstance(node, ast.Name):
        return node.id in names
    return isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice) and _is_shape(node.value)


def _loop_variables_over_shapes(function):
    """Names in `for n in x.shape`, with `enumerate` and `zip` too."""
    pairs = [(node.target, node.iter) for node in ast.walk(function) if isinstance(node, (ast.For, ast.comprehension))]
    names = set()
    for target, source in pairs:
        if isinstance(source, ast.Call) and isinstance(source.func, ast.Name) and isinstance(target, ast.Tuple):
            if source.func.id == "enumerate":
                pairs.append((target.elts[1], source.args[0]))
            elif source.func.id == "zip":
                pairs.extend(zip(target.elts, source.args))
        elif isinstance(target, ast.Name) and _is_shape(source):
            names.add(target.id)
    return names


def sizes_compared_with_a_number(source):
    """Comparisons `size == 1` that are False for an open size, and then choose something else than the size would at run time.

    A refusal (`if x.shape[-1] != 3: raise`) is none, nor is a comparison beside `isinstance(size, int)`.
    """
    found = []
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef) or _by_arrays(function):
            continue
        names = _loop_variables_over_shapes(function)
        asked = {ast.unparse(node.args[0]) for node in ast.walk(function) if isinstance(node, ast.Call)
                 and ast.unparse(node.func) == "isinstance" and ast.unparse(node.args[1]) == "int"}
        refusals = {part for node in ast.walk(function) if isinstance(node, ast.If) and isinstance(node.body[0], ast.Raise)
                    for part in ast.walk(node.test)}
        for node in set(ast.walk(function)) - refusals:
            if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Eq, ast.NotEq)) and _is_size(node.left, names) \
                    and isinstance(node.comparators[-1], ast.Constant) and ast.unparse(node.left) not in asked:
                found.append(ast.unparse(node))
    return found


def test_the_check_sees_a_size_that_is_compared_with_a_number():
    assert sizes_compared_with_a_number("def f(x):\n    return x if x.shape[0] == 1 else x.T") == ["x.shape[0] == 1"]
    assert sizes_compared_with_a_number("def f(x):\n    return [n for a, n in enumerate(x.shape) if n != 1]") == ["n != 1"]
    assert not sizes_compared_with_a_number("def f(x):\n    if x.shape[0] != 3:\n        raise ShapeError()")
    assert not sizes_compared_with_a_number("def f(x):\n    return [n for n in x.shape if isinstance(n, int) and n == 1]")


@pytest.mark.parametrize("room", ROOMS)
def test_what_depends_on_a_size_asks_compare_or_decide_equal(room):
    found = {f"{path.name}: {text}" for path in sorted((PACKAGE / room).rglob("*.py"))
             for text in sizes_compared_with_a_number(path.read_text())}
    assert found - THE_SAME_FOR_BOTH_ANSWERS == set()


def test_the_check_sees_a_result_that_is_compared_and_lets_sizes_be():
    assert compared_results("def f(x):\n    y = ops.exp(x)\n    return where(y[1:] != x, 1, 0)") == [(3, "y[1:] != x")]
    assert compared_results("def f(x):\n    return x.cumsum(-1) == 0") == [(2, "x.cumsum(-1) == 0")]
    assert not compared_results("def f(x):\n    y = ops.exp(x)\n    return y.shape == x.shape and len(y) == 1 and y.dtype != 'a'")


@pytest.mark.parametrize("path", [path for room in ROOMS for path in sorted((PACKAGE / room).rglob("*.py"))],
                         ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_function_that_runs_over_nodes_compares_results_by_pythons_operator(path):
    assert compared_results(path.read_text()) == []


@pytest.mark.parametrize("function, args", [
    (lambda x: mnp.count_nonzero(x), ([[1.0, 0.0], [3.0, 4.0]],)),
    (lambda x: mnp.diff(x > 1), ([[1.0, 0.0, 4.0], [3.0, 4.0, 0.0]],)),
    (lambda x: mnp.histogram_bin_edges(x, 3), ([2.0, 2.0],)),
    (lambda x: mnp.histogram2d(x, x * x, 3)[0], ([0.0, 1.0, 2.0],)),
    (lambda x, t: P.MultilabelMarginLoss()(x, t.astype("int32")), ([[0.1, 0.2, 0.4, 0.8]], [[3, 0, -1, 1]])),
    (lambda x: mindlite.ops.scalar_to_tensor(x.sum().item(), mindlite.float32), ([3.0, 4.0],)),
    (lambda x: mindlite.ops.geqrf(x), ([[1.0, 2.0], [3.0, 5.0], [4.0, 1.0]],)),
    (lambda x: mindlite.ops.orgqr(x, x[0]), ([[1.0, 2.0], [3.0, 5.0], [4.0, 1.0]],))])
def test_what_compares_elements_gives_the_same_in_a_graph(function, args):
    args = [ms.Tensor(np.array(a, np.float32)) for a in args]
    got, expected = mindlite.jit(function, fullgraph=True)(*args), function(*args)
    for g, e in zip(*(v if isinstance(v, tuple) else (v,) for v in (got, expected))):
        np.testing.assert_allclose(g.asnumpy(), e.asnumpy(), rtol=1e-6)


@pytest.mark.parametrize("function, x, p", [
    (lambda x, p: mindlite.ops.vector_norm(x, p.item()), [3.0, 0.0, 4.0], 0.0),
    (lambda x, p: mindlite.ops.matrix_norm(x, p.item()), [[3.0, 0.0], [2.0, 4.0]], -1.0),
    (lambda x, p: mindlite.ops.multi_margin_loss(x, ms.Tensor([0, 1]), p.item()), [[3.0, 0.0], [2.0, 4.0]], 2.0)])
def test_a_number_of_the_run_that_chooses_the_formula_is_pythons_to_read(function, x, p):
    args = ms.Tensor(np.array(x, np.float32)), ms.Tensor(p)
    with pytest.warns(FallbackWarning, match="a number that decides what is computed"):
        got = mindlite.jit(function)(*args)
    np.testing.assert_allclose(got.asnumpy(), function(*args).asnumpy(), rtol=1e-6)


def test_a_tensor_is_one_in_graphs_too_and_nothing_else_is():
    def f(x, n):
        return (x + 1 if mindlite.ops.is_tensor(x) else x), (3 if mindlite.ops.is_tensor(n) or mindlite.ops.is_tensor([x]) else 4)
    x = ms.Tensor([1.0])
    for n in (2, 2.5, (x, x), None):
        for call in (f, mindlite.jit(f, fullgraph=True)):
            first, second = call(x, n)
            assert first.asnumpy() == [2.0] and int(second) == 4
