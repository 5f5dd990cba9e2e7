"""Matrix products by BLAS: out[b] = op(a[b]) @ op(b[b]), called by cblas_sgemm's address, with no Python in the call.

The package scipy_openblas64 is a copy of our own, whose threads are switched off because the launcher has its own;
without it the address is found in the libraries that the process has loaded, beside NumPy (which brings an OpenBLAS
along), or in scipy_openblas32. The wrapper around it is LLVM IR (backend/cpu/native.py). Narrow and small products of
float32 and float64 do not go there but to `unpacked`. Where there is no BLAS, and for integers, a blocked loop does the
work (Goto & van de Geijn 2008, without the packing of a): a panel of b stays in cache while all rows of a pass over it.
float16 and bfloat16 are widened to float32 and rounded once.
"""
import ctypes
import functools
import glob
import os
import re
import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...common.config import config
from ...common.dtype import dtype as to_dtype, float32
from ...common.once import once
from ..address import files_in_package, loaded_libraries, symbol_address
from ..machine_code import host_features
from ..target import current
from .native import I32, I64, LIBRARIES, PTR, VOID, Module, compute_type, kernel_of
from .scratch import borrow, give_back
from .unpacked import dots_pay, external_dots, external_small, pays, write_dots, write_small

BATCHED = ("none", "both", "a", "b")
ROW_MAJOR, NO_TRANS, TRANS = 101, 111, 112              # the numbers of cblas.h
LARGEST = 2**31 - 1                                     # the largest size for a BLAS with integers of 32 bits
OUT_OF_MEMORY = "matmul: out of memory for a working copy"


@dataclass(frozen=True)
class Blas:
    """A BLAS library. Fields: path, name, prefix and suffix of its symbols, width of its integers in bits."""
    path: str
    name: str
    prefix: str
    suffix: str
    width: int
    library: Any = field(repr=False, compare=False)

    def address(self, function):
        """The address of e.g. "cblas_sgemm"."""
        return symbol_address(self.library, self.prefix + function + self.suffix)

    def ask(self, function, result, *args):
        """Call a service function such as "openblas_get_config"; None if the library has none of that name."""
        found = getattr(self.library, self.prefix + function + self.suffix, None)
        if found is None:
            return None
        found.restype = result
        return found(*args)

    def set_threads(self, count):
        """Let the library use `count` threads, if that can be set."""
        self.ask("openblas_set_num_threads", None, ctypes.c_int(count))


SYMBOLS = (("scipy_", "64_", 64), ("scipy_", "", 32), ("", "64_", 64), ("", "$NEWLAPACK$ILP64", 64), ("", "", 32))


@once
def find_blas():
    """The Blas of this process, or None."""
    return next((blas for blas in map(open_blas, _candidates()) if blas is not None), None)


def open_blas(path):
    """The Blas at `path`, or None if it is none or does not load."""
    try:
        library = ctypes.CDLL(path)
    except OSError:                                     # a library for another system
        return None
    for prefix, suffix, width in SYMBOLS:
        if symbol_address(library, f"{prefix}cblas_sgemm{suffix}") is not None:
            return Blas(path, os.path.basename(path), prefix, suffix, width, library)
    return None


def _candidates():
    """Paths where a BLAS may lie, the most likely first."""
    yield from files_in_package("scipy_openblas64", "lib", "*openblas*")          # a copy of our own
    home = os.path.dirname(np.__file__)
    loaded = loaded_libraries(r"blas|mkl_rt")
    yield from sorted(loaded, key=lambda path: not path.startswith((home + os.sep, home + ".")))    # not SciPy's
    yield from glob.glob(os.path.join(home + ".libs", "*openblas*"))
    yield from glob.glob(os.path.join(home, ".dylibs", "*openblas*"))
    yield from files_in_package("scipy_openblas32", "lib", "*openblas*")
    if sys.platform == "darwin":
        yield "/System/Library/Frameworks/Accelerate.framework/Accelerate"


@functools.cache
def blas_facts():
    """What the library says of itself: {"name", "path", "version", "core", "threads"}; {} without a BLAS."""
    blas = find_blas()
    if blas is None:
        return {}
    text = (blas.ask("openblas_get_config", ctypes.c_char_p) or b"").decode()
    version = re.search(r"OpenBLAS (\S+)", text)
    return {"name": blas.name, "path": blas.path, "version": version.group(1) if version else "unknown",
            "core": (blas.ask("openblas_get_corename", ctypes.c_char_p) or b"unknown").decode(),
            "threads": blas.ask("openblas_get_num_threads", ctypes.c_int)}


def blas_width():
    """The bits of the integers of this process's BLAS, None without one."""
    blas = find_blas()
    return None if blas is None else blas.width


@once
def _address(function):
    """The address of a function of the BLAS, which gets as many threads as it may use."""
    blas = find_blas()
    if "scipy_openblas" in os.path.dirname(blas.path):       # exclusively ours: threads are the launcher's business
        blas.set_threads(1)
    elif config.threads:
        blas.set_threads(config.threads)
    return blas.address(function)


LIBRARIES["mindlite_blas_"] = lambda name, target: _address(name)


def matmul_kernel(dtype, transpose_a=False, transpose_b=False, batched="none", accumulate=False, target=None):
    """The kernel of out[i] = op(a[i]) @ op(b[i]), or out[i] += ... with accumulate.

    args     : [a, b, out, batch, m, n, k]; out is [batch, m, n], op(a) [m, k], op(b) [k, n], all row-major. With "none" also
               `pieces` (`Target.product_pieces`), in which the longer of the axes m and n is cut (m if they are equal)
    batched  : which operands have the batch axis: "none", "both", "a" or "b"; out has it unless "none"
    [begin, end) : the batch; with "none" the pieces, each of which is a product by itself whoever computes it: a library may
               add up the same row in another order when it gets more or fewer rows
    threads  : the library's own are switched off where it is a copy of ours (package scipy_openblas64): a product is cut
               into chunks by the launcher, which does not wait for a thread that gets no core
    dtype    : floats and integers (which wrap); None for bool and complex, and for float16 on a CPU that cannot convert
    zero sizes : k == 0 writes zeros (accumulate: nothing), an empty out writes nothing
    raises   : ValueError for an unknown `batched`
    """
    if batched not in BATCHED:
        raise ValueError(f"batched is {batched!r}, not one of {BATCHED}")
    if not has_gemm(to_dtype(dtype)):
        return None
    return kernel_of(write_matmul, to_dtype(dtype), bool(transpose_a), bool(transpose_b), batched, bool(accumulate),
                     target=target or current(), given=blas_width(), errors=(OUT_OF_MEMORY,))


def has_gemm(dtype):
    """True if there is a matrix product for `dtype`."""
    if dtype.name == "float16":
        return host_features().get("f16c", host_features().get("fullfp16", False))
    return dtype.kind in "fiu"


def write_matmul(target, dtype, transpose_a, transpose_b, batched, accumulate):
    """The Module of the kernel around a gemm: a loop over the batch or over the pieces of one product."""
    name = f"matmul_{dtype.short}_{'t' if transpose_a else 'n'}{'t' if transpose_b else 'n'}_{batched}"
    module = Module(name + "_add" * accumulate, target)
    gemm, size, line = write_gemm(module, dtype), dtype.itemsize, max(1, target.line // dtype.itemsize)
    with module.kernel(module.name) as f:
        a, b, out, m, n, k = (f.arg(i) for i in (0, 1, 2, 4, 5, 6))
        lda, ldb, ldo = (m if transpose_a else k), (k if transpose_b else n), n
        status = f.variable(I64, 0)

        def product(a, b, out, m, n):
            result = f.call(gemm, int(transpose_a), int(transpose_b), m, n, k, a, lda, b, ldb, int(accumulate), out, ldo)
            status.set(status.get() | result)
        with f.loop(f.begin, f.end) as i:
            if batched == "none":
                wide, zero, pieces = n > m, f.number(I64, 0), f.arg(7)
                begin, end = (f.select(pieces.equals(at), f.maximum(m, n), f.maximum(m, n) * at // pieces // line * line)
                              for at in (i, i + 1))
                row, column = f.select(wide, zero, begin), f.select(wide, begin, zero)
                product(a + row * (size if transpose_a else k * size), b + column * (k * size if transpose_b else size),
                        out + (row * n + column) * size, f.select(wide, m, end - begin), f.select(wide, end - begin, n))
            else:
                product(a + i * m * k * size if batched != "b" else a, b + i * k * n * size if batched != "a" else b,
                        out + i * m * n * size, m, n)
        f.give(status.get())
    module.written_by.append(write_matmul)
    return module


def write_gemm(module, dtype):
    """Write `int64 gemm(ta, tb, m, n, k, a, lda, b, ldb, accumulate, out, ldo)` into `module`, once; returns it.

    Row-major, all arguments int64, addresses too. Every size may be 0. Returns 0, or 1 when memory is out.
    """
    name = f"gemm_{dtype.short}"
    if name in module.ir.globals:
        return module.ir.globals[name]
    with module.function(name, [I64] * 12, I64, inline=True) as f:
        _, _, m, n, k, _, _, _, _, accumulate, out, ldo = f.parameters
        with f.when(((m < 1) | (n < 1)) | ((k < 1) & accumulate.differs(0))):
            f.give(0)
        with f.when(k < 1):
            with f.loop(0, m) as i:
                f.fill(out + i * ldo * dtype.itemsize, 0, n * dtype.itemsize)
            f.give(0)
        if dtype.name in ("float32", "float64"):
            write_small_products(f, dtype)
        if dtype.name in ("float16", "bfloat16"):
            writer = write_widened_gemm
        elif dtype.name in ("float32", "float64") and find_blas() is not None:
            writer = write_blas_gemm
        else:
            writer = write_loop_gemm
        module.written_by += [writer]
        writer(f, dtype)
    return module.ir.globals[name]


def write_small_products(f, dtype):
    """What pays without packing ends here; a single row or column is left to gemv."""
    ta, tb, m, n, k, a, lda, b, ldb, accumulate, out, ldo = f.parameters
    matrices, one = (m > 1) & (n > 1), f.number(I64, 1)
    column = tb.differs(0) & k.equals(1) & ldb.equals(1)                   # a column is its transpose
    row_step, flipped = f.select(column, n, ldb), ta.differs(0)
    with f.when((tb.equals(0) | column) & matrices & pays(f, dtype, flipped, m, k, row_step)):
        f.call(external_small(f.module, dtype), m, n, k, a, f.select(flipped, one, lda), f.select(flipped, lda, one),
               b, row_step, accumulate, out, ldo)
        f.give(0)
    with f.when(ta.equals(0) & tb.differs(0) & matrices & dots_pay(f.module.target, m, n, k)):
        f.call(external_dots(f.module, dtype), m, n, k, a, lda, b, ldb, accumulate, out, ldo)
        f.give(0)
    f.module.written_by += [write_small_products, write_small, write_dots]


def write_blas_gemm(f, dtype):
    """A call of cblas_?gemm, or of cblas_?gemv where the product is a matrix with a contiguous vector."""
    ta, tb, m, n, k, a, lda, b, ldb, accumulate, out, ldo = f.parameters
    width, letter = blas_width(), "s" if dtype.name == "float32" else "d"
    number, whole = compute_type(dtype), I32 if width == 32 else I64
    gemm_name, gemv_name = f"cblas_{letter}gemm", f"cblas_{letter}gemv"
    if width == 32:
        with f.when((m | n | k | lda | ldb | ldo) > LARGEST):
            write_loop_gemm(f, dtype)
            f.give(0)
    matrix, vector, order_type = [PTR, whole], [PTR, whole], I32
    gemm = f.module.external(f"mindlite_blas_{gemm_name}", VOID,
                             [order_type] * 3 + [whole] * 3 + [number] + matrix + matrix + [number] + matrix)
    gemv = f.module.external(f"mindlite_blas_{gemv_name}", VOID,
                             [order_type] * 2 + [whole] * 2 + [number] + matrix + vector + [number] + vector)
    beta = f.select(accumulate.differs(0), f.number(number, 1), f.number(number, 0))

    def cast(*sizes):
        return [f.convert(size, whole) for size in sizes]

    def order(transposed):
        return f.select(transposed, f.number(I32, TRANS), f.number(I32, NO_TRANS))

    flag_a, flag_b = ta.differs(0), tb.differs(0)
    # n == 1: the column b lies in steps of ldb, or of 1 if it was transposed; m == 1 is op(b)^T with the row a.
    with f.when(n.equals(1) & ldo.equals(1)):
        rows, columns = f.select(flag_a, k, m), f.select(flag_a, m, k)
        f.call(gemv, ROW_MAJOR, order(flag_a), *cast(rows, columns), 1, a, *cast(lda), b,
               *cast(f.select(flag_b, f.number(I64, 1), ldb)), beta, out, *cast(ldo))
        f.give(0)
    with f.when(m.equals(1)):
        rows, columns = f.select(flag_b, n, k), f.select(flag_b, k, n)
        f.call(gemv, ROW_MAJOR, order(flag_b.equals(0)), *cast(rows, columns), 1, b, *cast(ldb), a,
               *cast(f.select(flag_a, lda, f.number(I64, 1))), beta, out, 1)
        f.give(0)
    f.call(gemm, ROW_MAJOR, order(flag_a), order(flag_b), *cast(m, n, k), 1, a, *cast(lda), b, *cast(ldb), beta,
           out, *cast(ldo))


def write_loop_gemm(f, dtype):
    """The product by loops: a packed panel (`Target.panel`) of b meets every row of a; four steps of k share a pass of out."""
    ta, tb, m, n, k, a, lda, b, ldb, accumulate, out, ldo = f.parameters
    size, (most_columns, most_depth) = dtype.itemsize, f.module.target.panel
    a, out = f.array(dtype, a), f.array(dtype, out)
    one, flipped = f.number(I64, 1), ta.differs(0)
    row_step, k_step = f.select(flipped, one, lda), f.select(flipped, lda, one)
    panel = borrow(f, most_columns * most_depth * size)
    with f.when(panel.equals(0)):
        f.give(1)
    with f.when(accumulate.equals(0)):
        with f.loop(0, m) as i:
            f.fill(out.at(i * ldo).address, 0, n * size)
    with f.loop(0, n, most_columns) as j0:
        width = f.minimum(n - j0, most_columns)
        with f.loop(0, k, most_depth) as p0:
            depth = f.minimum(k - p0, most_depth)
            packed = f.array(dtype, panel)
            with f.loop(0, depth) as p:
                target = packed.at(p * width)
                with f.choose(tb.differs(0)) as (then, other):
                    with then:
                        column = f.array(dtype, b + (j0 * ldb + p0 + p) * size)
                        with f.loop(0, width) as j:
                            target[j] = column[j * ldb]
                    with other:
                        f.copy(target.address, b + ((p0 + p) * ldb + j0) * size, width * size)
            with f.loop(0, m) as i:
                row, left = out.at(i * ldo + j0), a.at(i * row_step + p0 * k_step)
                fours = depth // 4 * 4
                with f.loop(0, fours, 4) as p:
                    factors = [left[(p + q) * k_step] for q in range(4)]
                    rows = [packed.at((p + q) * width) for q in range(4)]
                    with f.loop(0, width) as j:
                        total = row[j]
                        for factor, other_row in zip(factors, rows):
                            total = total + factor * other_row[j]
                        row[j] = total
                with f.loop(fours, depth) as p:
                    factor, other_row = left[p * k_step], packed.at(p * width)
                    with f.loop(0, width) as j:
                        row[j] = row[j] + factor * other_row[j]
    give_back(f, panel)


def write_widened_gemm(f, dtype):
    """float16, bfloat16: copies of a, b (and out) in float32, one product there, one rounding."""
    ta, tb, m, n, k, a, lda, b, ldb, accumulate, out, ldo = f.parameters
    gemm = write_gemm(f.module, float32)
    a_rows, a_columns = f.select(ta.differs(0), k, m), f.select(ta.differs(0), m, k)
    b_rows, b_columns = f.select(tb.differs(0), n, k), f.select(tb.differs(0), k, n)
    memory = borrow(f, (m * k + k * n + m * n) * 4)
    with f.when(memory.equals(0)):
        f.give(1)
    wide_a = f.array(float32, memory)
    wide_b = wide_a.at(m * k)
    wide_out = wide_b.at(k * n)

    def copy(target, target_step, source, source_step, rows, columns):
        with f.loop(0, rows) as i:
            to, come = target.at(i * target_step), source.at(i * source_step)
            with f.loop(0, columns) as j:
                to[j] = come[j]

    copy(wide_a, a_columns, f.array(dtype, a), lda, a_rows, a_columns)
    copy(wide_b, b_columns, f.array(dtype, b), ldb, b_rows, b_columns)
    with f.when(accumulate.differs(0)):
        copy(wide_out, n, f.array(dtype, out), ldo, m, n)
    status = f.call(gemm, ta, tb, m, n, k, wide_a.address, a_columns, wide_b.address, b_columns, accumulate,
                    wide_out.address, n)
    copy(f.array(dtype, out), ldo, wide_out, n, m, n)
    give_back(f, memory)
    f.give(status)
