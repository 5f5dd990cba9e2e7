"""Custom operators of compiled functions: LLVM IR, Numba, a library by its path; their gradients, and what is refused."""
import shutil
import subprocess

import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor, ops
from mindlite.common.errors import ArgumentError, DTypeError, ShapeError, ValueRangeError
from mindlite.functional import Custom

X = np.array([0.0, 1.0, 2.0], np.float32)
# x + e^x, element by element; 7 for no elements
IR = """
declare float @expf(float)
define i32 @grown(i32 %count, ptr %data, ptr %axes, ptr %sizes, ptr %dtypes, ptr %stream, ptr %extra) {
entry:
  %x = load ptr, ptr %data
  %second = getelementptr ptr, ptr %data, i64 1
  %y = load ptr, ptr %second
  %first = load ptr, ptr %sizes
  %n = load i64, ptr %first
  %none = icmp eq i64 %n, 0
  br i1 %none, label %bad, label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %from = getelementptr float, ptr %x, i64 %i
  %to = getelementptr float, ptr %y, i64 %i
  %value = load float, ptr %from
  %power = call float @expf(float %value)
  %sum = fadd float %power, %value
  store float %sum, ptr %to
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret i32 0
bad:
  ret i32 7
}
"""
C = """
#include <stdint.h>
#include <string.h>
int thrice(int count, void **data, int *axes, int64_t **sizes, const char **dtypes, void *stream, void *extra) {
    if (count != 2 || strcmp(dtypes[0], "float32") || stream || extra) return 3;
    int64_t n = 1;
    for (int k = 0; k < axes[0]; k++) n *= sizes[0][k];
    for (int64_t i = 0; i < n; i++) ((float *)data[1])[i] = 3 * ((float *)data[0])[i];
    return 0;
}
"""


def alike(shape):
    return shape


@pytest.mark.python_runs("Custom calls a compiled function")
@pytest.mark.filterwarnings("ignore::mindlite.compile.jit.FallbackWarning")
@pytest.mark.parametrize("way", [lambda f: f, ms.jit], ids=["eager", "jit"])
def test_llvm_ir_is_an_operator_with_a_gradient(way):
    grown = Custom(IR, alike, alike, "llvm", bprop=lambda x, out, dout: (dout * (ops.exp(x) + 1),))
    np.testing.assert_allclose(way(lambda x: grown(x) * 2)(Tensor(X)).asnumpy(), 2 * (X + np.exp(X)), rtol=1e-6)
    gradient = ms.grad(lambda x: (grown(x) * 2).sum())
    np.testing.assert_allclose(way(lambda x: gradient(x))(Tensor(X)).asnumpy(), 2 * (1 + np.exp(X)), rtol=1e-6)


def test_a_function_for_numba_writes_into_several_results():
    def fill(a, b, total, least):
        for i in range(a.size):
            total[i] = a[i] + b[i]
        least[0] = a.min()
    operator = Custom(fill, lambda a, b: (a, (1,)), (ms.float32, ms.float64), "numba")
    total, least = operator(Tensor(X), Tensor(X[::-1].copy()))
    assert total.asnumpy().tolist() == [2, 2, 2] and least.asnumpy().tolist() == [0] and least.dtype == ms.float64


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler makes a library to call")
def test_a_function_of_a_library_is_called_by_its_path(tmp_path):
    (tmp_path / "thrice.c").write_text(C)
    path = tmp_path / "thrice.so"
    subprocess.run(["cc", "-shared", "-fPIC", str(tmp_path / "thrice.c"), "-o", str(path)], check=True)
    thrice = Custom(f"{path}:thrice", alike, alike, "aot")
    for x in (X, X.reshape(1, 3), np.float32(2), X[:0]):
        made = thrice(Tensor(x))
        assert made.shape == np.shape(x) and np.array_equal(made.asnumpy(), 3 * x)
    assert np.array_equal(thrice(Tensor(np.ones((2, 3), np.float32)).T).asnumpy(), np.full((3, 2), 3))
    with pytest.raises(ArgumentError, match="thrice says that it failed: 3"):
        thrice(Tensor(X.astype(np.float64)))
    with pytest.raises(ArgumentError, match="has no function 'other'"):
        Custom(f"{path}:other", alike, alike, "aot")


@pytest.mark.parametrize("error, text, make", [
    (ArgumentError, "no file", lambda: Custom("nowhere.so:f", alike, alike, "aot")),
    (ArgumentError, "no library that this process can load", lambda: Custom(f"{__file__}:f", alike, alike, "aot")),
    (ArgumentError, "'path:name'", lambda: Custom("nowhere.so", alike, alike, "aot")),
    (ArgumentError, "LLVM does not read", lambda: Custom("define i3", alike, alike, "llvm")),
    (ArgumentError, "one function, not 0", lambda: Custom("", alike, alike, "llvm")),
    (ArgumentError, "the C library has no function", lambda: Custom(IR.replace("expf", "expq"), alike, alike, "llvm")),
    (ArgumentError, "is a str, not int", lambda: Custom(3, alike, alike, "llvm")),
    (ArgumentError, "a function for Numba, not str", lambda: Custom("f", alike, alike, "numba")),
    (ArgumentError, "has out_shape and out_dtype", lambda: Custom(IR, alike, None, "llvm")),
    (ValueRangeError, "func_type is one of pyfunc, aot, llvm, numba", lambda: Custom(IR, alike, alike, "hybrid")),
    (ArgumentError, "grown says that it failed: 7", lambda: Custom(IR, alike, alike, "llvm")(Tensor(X[:0]))),
    (ArgumentError, "a shape for each of 2", lambda: Custom(IR, (3,), (ms.float32,) * 2, "llvm")(Tensor(X))),
    (ShapeError, "negative", lambda: Custom(IR, (-3,), ms.float32, "llvm")(Tensor(X))),
    (DTypeError, "no dtype", lambda: Custom(IR, (3,), "no dtype", "llvm")(Tensor(X)))],
    ids=["file", "library", "place", "text", "no_function", "symbol", "kind", "numba", "promise", "func_type", "status",
         "several", "size", "dtype"])
def test_what_cannot_be_called_is_refused_in_words(error, text, make):
    with pytest.raises(error, match=text):
        make()
