"""Square matrices in a stack, by LAPACK and BLAS at their addresses: no Python in the call, no threads but the launcher's.

    triangular   op(a) out = b                        trsm
    cholesky     out out^T = (x + x^T) / 2            potrf
    solve        a out = b                            getrf, trsm
    inverse      out = x^-1                           getrf, getri
    determinant  out = det(x)                         getrf
    logarithm    sign and logarithm of det(x)         getrf
    orthogonal   q r = x                              gelqf, orglq
    exponential  I + x + x x / 2 + ..                 gemm
    cofactors    out = det(x) x^-T                    getrf, getri; gesdd, gemm where x is singular, or nearly so

LAPACK goes through columns, so a matrix of ours is its transpose there. For an inverse and a determinant that is the same; of
x^T = P L U our rows hold U^T and L^T, and a system is solved by U^T, then L^T, then the exchanges of rows backward.
"""
import math
from functools import partial
from typing import Any

from ...common.dtype import dtype as to_dtype, float64, int32, int64
from ...common.errors import ValueRangeError
from ..target import current
from .blas import LARGEST, NO_TRANS, ROW_MAJOR, TRANS, blas_width, find_blas, write_gemm
from .native import F64, I32, I64, PTR, VOID, Value, compute_type, kernel_of, kernel_writer
from .scratch import borrow, give_back

LETTERS = {"float32": "s", "float64": "d"}
LEFT, UPPER, LOWER, NON_UNIT, UNIT = 141, 121, 122, 131, 132                   # the numbers of cblas.h
UPPER_LETTER, ALL_LETTER = 85, 65                        # "U": the triangle that rows see as the lower one; "A": whole u and v
SINGULAR, INDEFINITE = "Singular matrix", "Matrix is not positive definite"    # as NumPy says it
UNFOUND = "SVD did not converge"
FUNCTIONS = ("potrf_", "getrf_", "getri_", "gesdd_", "gelqf_", "orglq_")
BLOCK = 64                                               # columns that getri turns at a time
CONDITION = 2.0 ** 26                                    # beyond, an inverse in double has lost half of its digits
LEAST = 1e-250                                           # products of a diagonal between this and 1 / this have lost nothing


def lapack_kernel(kind, dtype, target=None, **facts):
    """The kernel of one of KINDS for float32 or float64; None for other dtypes, and where there is no LAPACK.

    args : triangular, solve [a, b, out, n, k, step_a, step_b]; a step is 1, or 0 where the stack has one matrix for all
           cholesky, inverse, determinant, cofactors, exponential [x, out, n]         logarithm [x, signs, logarithms, n]
           orthogonal [x, q, r, m, n, k]: q is [m, k], r is [k, n], k is min(m, n) or m
    [begin, end) : the stack
    facts        : of triangular: lower, transpose, unit
    errors       : ValueRangeError for a singular or indefinite matrix, or singular values that are not found
    """
    if not has_lapack(dtype):
        return None
    name = {"triangular": "solve_triangular", "logarithm": "slogdet", "determinant": "det", "cofactors": "det",
            "orthogonal": "qr", "exponential": "matrix_exp"}.get(kind, kind)
    flags = tuple(bool(facts[flag]) for flag in ("lower", "transpose", "unit")) if kind == "triangular" else ()
    text = {"cholesky": INDEFINITE, "cofactors": UNFOUND}.get(kind, SINGULAR)
    wrong = partial(ValueRangeError, f"{name}: {text}")
    return kernel_of(KINDS[kind], to_dtype(dtype), *flags, target=target or current(), given=blas_width(),
                     errors=(f"{name}: out of memory for a working copy", f"{name}: too many columns for this LAPACK", wrong))


def has_lapack(dtype):
    """Whether there are such kernels for `dtype`."""
    blas = find_blas()
    return to_dtype(dtype).name in LETTERS and blas is not None and all(blas.address("s" + name) for name in FUNCTIONS)


class Library:
    """Calls of LAPACK and BLAS in a kernel for matrices of n rows. work: an address for the exchanges of rows and for getri"""

    def __init__(self, f, dtype, n, work=None):
        self.f, self.dtype, self.letter, self.n = f, dtype, LETTERS[dtype.name], n
        self.integer, self.whole = (int32, I32) if blas_width() == 32 else (int64, I64)
        self.words = f.room(self.integer, 6)             # by address: info, n, elements of the work, "U", "A", those of gesdd
        self.set(1, n)
        self.set(2, n * BLOCK)
        self.set(3, f.number(I64, UPPER_LETTER))
        self.set(4, f.number(I64, ALL_LETTER))
        self.set(5, 4 * n * n + n * (BLOCK + 7))
        if work is not None:
            self.pivots: Any = f.array(self.integer, work)
            self.work = work + n * 8

    def set(self, at, value):
        """Write a word."""
        self.words[at] = self.f.convert(value, self.whole)

    def call(self, name, *args):
        """Call a function of LAPACK, all of whose arguments are addresses; gives whether it found something wrong."""
        function = self.f.module.external(f"mindlite_blas_{self.letter}{name}", VOID, [PTR] * (len(args) + 1))
        self.words[0] = self.f.number(self.whole, 0)
        self.f.call(function, *args, self.words.address)
        return self.words[0].differs(0)

    def factors(self, x):
        """x^T = P L U in its place; gives whether a pivot is zero."""
        n = self.words.at(1).address
        return self.call("getrf_", n, n, x, n, self.pivots.address)

    def triangle(self, a, b, k, lower, transpose, unit):
        """op(a) out = b in the place of b[n, k]."""
        f = self.f
        function = f.module.external(f"mindlite_blas_cblas_{self.letter}trsm", VOID, [I32] * 5 + [self.whole] * 2
                                     + [compute_type(self.dtype), PTR, self.whole, PTR, self.whole])
        n, k = f.convert(self.n, self.whole), f.convert(k, self.whole)
        f.call(function, ROW_MAJOR, LEFT, LOWER if lower else UPPER, TRANS if transpose else NO_TRANS, UNIT if unit else NON_UNIT,
               n, k, 1, a, n, b, k)

    def pivot(self, i):
        """With which row row i changed places."""
        found = self.pivots[i]
        return self.f.convert(found, I64) - 1


def _matrices(f, dtype, operands):
    """(n, bytes of a matrix) of a kernel of so many operands and results."""
    n = f.arg(operands)
    return n, n * n * dtype.itemsize


def _borrowed(f, nbytes):
    memory = borrow(f, nbytes)
    with f.when(memory.equals(0)):
        f.give(1)
    return memory


def _two_operands(f, dtype):
    """(a, b, out, n, k, step_a, step_b); nothing is done for no elements or too many columns."""
    a, b, out, n, k, step_a, step_b = (f.arg(i) for i in range(7))
    with f.when((n < 1) | (k < 1)):
        f.give(0)
    if blas_width() == 32:
        with f.when(k > LARGEST):
            f.give(2)
    return a, b, out, n, k, step_a * n * n * dtype.itemsize, step_b * n * k * dtype.itemsize


@kernel_writer(lambda dtype, lower, transpose, unit: f"triangular_{dtype.short}_{'lower' if lower else 'upper'}" +
               "_transposed" * transpose + "_unit" * unit)
def write_triangular(f, dtype, lower, transpose, unit):
    """The kernel."""
    a, b, out, n, k, step_a, step_b = _two_operands(f, dtype)
    library, nbytes = Library(f, dtype, n), n * k * dtype.itemsize
    with f.loop(f.begin, f.end) as i:
        here = a + i * step_a
        if not unit:
            diagonal = f.array(dtype, here)
            with f.loop(0, n) as j, f.when(diagonal[j * (n + 1)].equals(0)):
                f.give(3)
        f.copy(out + i * nbytes, b + i * step_b, nbytes)
        library.triangle(here, out + i * nbytes, k, lower, transpose, unit)


@kernel_writer(lambda dtype: f"solve_{dtype.short}")
def write_solve(f, dtype):
    """The kernel. Where the stack has one matrix, each chunk factors it once."""
    a, b, out, n, k, step_a, step_b = _two_operands(f, dtype)
    size, nbytes = n * n * dtype.itemsize, n * k * dtype.itemsize
    memory = _borrowed(f, size + n * 8)
    library = Library(f, dtype, n, memory + size)
    with f.loop(f.begin, f.end) as i:
        with f.when(step_a.differs(0) | i.equals(f.begin)):
            f.copy(memory, a + i * step_a, size)
            with f.when(library.factors(memory)):
                give_back(f, memory)
                f.give(3)
        place = out + i * nbytes
        f.copy(place, b + i * step_b, nbytes)
        library.triangle(memory, place, k, True, False, False)
        library.triangle(memory, place, k, False, False, True)
        with f.loop(0, n) as back:
            row = n - 1 - back
            other = library.pivot(row)
            with f.when(other.differs(row)):
                one, two = f.array(dtype, place).at(row * k), f.array(dtype, place).at(other * k)
                with f.loop(0, k) as c:
                    kept = one[c]
                    one[c] = two[c]
                    two[c] = kept
    give_back(f, memory)


@kernel_writer(lambda dtype: f"inverse_{dtype.short}")
def write_inverse(f, dtype):
    """The kernel."""
    x, out = f.arg(0), f.arg(1)
    n, nbytes = _matrices(f, dtype, 2)
    with f.when(n > 0):
        memory = _borrowed(f, n * 8 + n * BLOCK * dtype.itemsize)
        library = Library(f, dtype, n, memory)
        rows, length = library.words.at(1).address, library.words.at(2).address
        with f.loop(f.begin, f.end) as i:
            place = out + i * nbytes
            f.copy(place, x + i * nbytes, nbytes)
            wrong = library.factors(place)
            wrong = f.select(wrong, True, library.call("getri_", rows, place, rows, library.pivots.address, library.work, length))
            with f.when(wrong):
                give_back(f, memory)
                f.give(3)
        give_back(f, memory)


@kernel_writer(lambda dtype: f"cholesky_{dtype.short}")
def write_cholesky(f, dtype):
    """The kernel."""
    x, out = f.arg(0), f.arg(1)
    n, nbytes = _matrices(f, dtype, 2)
    library = Library(f, dtype, n)
    rows, letter = library.words.at(1).address, library.words.at(3).address
    with f.loop(f.begin, f.end) as i:
        come, go = f.array(dtype, x + i * nbytes), f.array(dtype, out + i * nbytes)
        with f.loop(0, n) as r:
            with f.loop(0, r + 1) as c:
                go[r * n + c] = (come[r * n + c] + come[c * n + r]) * 0.5
            with f.loop(r + 1, n) as c:
                go[r * n + c] = 0
        with f.when(n > 0), f.when(library.call("potrf_", letter, rows, go.address, rows)):
            f.give(3)


def _diagonal(f, dtype, results):
    """The loop of a determinant: hands over (i, n, the diagonal as (index) -> its number in double, the sign of the exchanges as
    a Variable, whether a pivot is zero), once, for the matrix i of the stack."""
    x = f.arg(0)
    n, nbytes = _matrices(f, dtype, 1 + results)
    memory = _borrowed(f, nbytes + n * 8)
    library = Library(f, dtype, n, memory + nbytes)
    with f.loop(f.begin, f.end) as i:
        f.copy(memory, x + i * nbytes, nbytes)
        zero, sign = f.variable(I64, 0), f.variable(F64, 1.0)
        with f.when(n > 0):
            zero.set(f.convert(library.factors(memory), I64))
            with f.loop(0, n) as j, f.when(library.pivot(j).differs(j)):
                sign.set(-sign.get())
        factor = f.array(dtype, memory)

        def number(j):
            return _double(f, dtype, factor[j * (n + 1)])
        yield i, n, number, sign, zero.get().differs(0)
    give_back(f, memory)


def _magnitude(f, value):
    return f.call(f.module.external("fabs", F64, [F64]), value)


def _turn(f, n, number, sign):
    """The sign of the exchanges becomes that of the determinant."""
    with f.loop(0, n) as j, f.when(number(j) < 0):
        sign.set(-sign.get())


def _logarithms(f, n, number):
    """The sum of the logarithms of the diagonal's magnitudes, as a Variable."""
    total, log = f.variable(F64, 0.0), f.module.external("log", F64, [F64])
    with f.loop(0, n) as j:
        total.set(total.get() + f.call(log, _magnitude(f, number(j))))
    return total


def _double(f, dtype, value):
    return value if dtype is float64 else Value(f, f.builder.fpext(value.ir, F64))


def _stored(f, dtype, array, i, value):
    array[i] = value if dtype is float64 else Value(f, f.builder.fptrunc(value.ir, compute_type(dtype)))


@kernel_writer(lambda dtype: f"logarithm_of_determinant_{dtype.short}")
def write_logarithm(f, dtype):
    """The kernel."""
    signs, logs = f.array(dtype, f.arg(1)), f.array(dtype, f.arg(2))
    for i, n, number, sign, singular in _diagonal(f, dtype, 2):
        _turn(f, n, number, sign)
        with f.choose(singular) as (then, other):
            with then:
                _stored(f, dtype, signs, i, f.number(F64, 0.0))
                _stored(f, dtype, logs, i, f.number(F64, float("-inf")))
            with other:
                _stored(f, dtype, signs, i, sign.get())
                _stored(f, dtype, logs, i, _logarithms(f, n, number).get())


def _product(f, n, number, sign):
    """The product of the diagonal in double, as a Variable; where one on the way is very large or small, by logarithms."""
    found, lost = f.variable(F64, sign.get()), f.variable(I64, 0)
    with f.loop(0, n) as j:
        found.set(found.get() * number(j))
        size = _magnitude(f, found.get())
        lost.set(f.select((size > LEAST) & (size < 1 / LEAST), lost.get(), 1))
    with f.when(lost.get().differs(0)):
        _turn(f, n, number, sign)
        found.set(sign.get() * f.call(f.module.external("exp", F64, [F64]), _logarithms(f, n, number).get()))
    return found


@kernel_writer(lambda dtype: f"determinant_{dtype.short}")
def write_determinant(f, dtype):
    """The kernel."""
    out = f.array(dtype, f.arg(1))
    for i, n, number, sign, singular in _diagonal(f, dtype, 1):
        _stored(f, dtype, out, i, f.select(singular, 0.0, _product(f, n, number, sign).get()))


def _exchanges(f, library, n):
    """The sign of the exchanges of rows, as a Variable."""
    sign = f.variable(F64, 1.0)
    with f.loop(0, n) as j, f.when(library.pivot(j).differs(j)):
        sign.set(-sign.get())
    return sign


def _largest_row(f, n, matrix):
    """(the largest sum of a row's magnitudes, the sum of all) of an Array [n, n] of doubles, as Variables."""
    largest, total = f.variable(F64, 0.0), f.variable(F64, 0.0)
    with f.loop(0, n) as r:
        line = f.variable(F64, 0.0)
        with f.loop(0, n) as c:
            line.set(line.get() + _magnitude(f, matrix[r * n + c]))
        largest.set(f.select(line.get() > largest.get(), line.get(), largest.get()))
        total.set(total.get() + line.get())
    return largest, total


def _by_singular_values(f, dtype, library, n, come, go, memory):
    """go = sign(det u v) v diag(the products of the other singular values) u^T for come = v s u^T; `memory` is given back
    where they are not found."""
    size = n * n * 8
    a = borrow(f, 7 * size + n * (BLOCK + 16) * 8)
    with f.when(a.equals(0)):
        give_back(f, memory)
        f.give(1)
    u, v, s = a + size, a + size * 2, a + size * 3
    work, whole = s + n * 8, s + n * 8 + size * 4 + n * (BLOCK + 7) * 8
    copied, left, values = f.array(float64, a), f.array(float64, u), f.array(float64, s)
    with f.loop(0, n * n) as j:
        copied[j] = _double(f, dtype, come[j])
    rows, letter, length = library.words.at(1).address, library.words.at(4).address, library.words.at(5).address
    with f.when(library.call("gesdd_", letter, rows, rows, a, rows, s, u, rows, v, rows, work, length, whole)):
        give_back(f, a)
        give_back(f, memory)
        f.give(3)
    sign = f.variable(F64, 1.0)
    for orthogonal in (u, v):
        f.copy(a, orthogonal, size)
        library.factors(a)
        turns = _exchanges(f, library, n)
        _turn(f, n, lambda j: copied[j * (n + 1)], turns)
        sign.set(sign.get() * turns.get())
    with f.loop(0, n) as i:
        others = f.variable(F64, sign.get())
        with f.loop(0, n) as j, f.when(j.differs(i)):
            others.set(others.get() * values[j])
        with f.loop(0, n) as c:
            left[i * n + c] = left[i * n + c] * others.get()
    f.call(write_gemm(f.module, float64), 0, 0, n, n, n, v, n, u, n, 0, a, n)
    with f.loop(0, n * n) as j:
        _stored(f, dtype, go, j, copied[j])
    give_back(f, a)


@kernel_writer(lambda dtype: f"cofactors_{dtype.short}")
def write_cofactors(f, dtype):
    """The kernel, in double: half of its digits are enough for float32. NaN for a matrix with an element that is not finite."""
    x, out = f.arg(0), f.arg(1)
    n, nbytes = _matrices(f, dtype, 2)
    with f.when(n > 0):
        size = n * n * 8
        memory = _borrowed(f, size + n * 8 + n * BLOCK * 8)
        library, here = Library(f, float64, n, memory + size), f.array(float64, memory)
        rows, length = library.words.at(1).address, library.words.at(2).address
        with f.loop(f.begin, f.end) as i:
            come, go = f.array(dtype, x + i * nbytes), f.array(dtype, out + i * nbytes)
            with f.loop(0, n * n) as j:
                here[j] = _double(f, dtype, come[j])
            largest, total = _largest_row(f, n, here)
            with f.choose(total.get() < float("inf")) as (then, other):
                with other, f.loop(0, n * n) as j:
                    _stored(f, dtype, go, j, f.number(F64, float("nan")))
                with then:
                    lost, found = f.variable(I64, 0), f.variable(F64, 0.0)
                    lost.set(f.convert(library.factors(memory), I64))
                    with f.when(lost.get().equals(0)):
                        found.set(_product(f, n, lambda j: here[j * (n + 1)], _exchanges(f, library, n)).get())
                        library.call("getri_", rows, memory, rows, library.pivots.address, library.work, length)
                        of_inverse, _ = _largest_row(f, n, here)
                        lost.set(f.select(largest.get() * of_inverse.get() < CONDITION, f.number(I64, 0), f.number(I64, 1)))
                    with f.choose(lost.get().equals(0)) as (regular, nearly_singular):
                        with regular, f.loop(0, n) as r, f.loop(0, n) as c:
                            _stored(f, dtype, go, r * n + c, found.get() * here[c * n + r])
                        with nearly_singular:
                            _by_singular_values(f, dtype, library, n, come, go, memory)
        give_back(f, memory)


@kernel_writer(lambda dtype: f"orthogonal_{dtype.short}")
def write_orthogonal(f, dtype):
    """The kernel. Seen by columns x is its transpose, whose factors L Q are the transposes of r and q."""
    m, n, k = f.arg(3), f.arg(4), f.arg(5)
    reflections = f.minimum(m, n)
    with f.when(m > 0):
        memory = _borrowed(f, (m * n + m + f.maximum(n, k) * BLOCK) * dtype.itemsize)
        library = Library(f, dtype, n)
        words = [library.words.at(i).address for i in range(6)]
        for place, value in ((2, f.maximum(n, k) * BLOCK), (3, m), (4, k), (5, reflections)):
            library.set(place, value)
        tau = memory + m * n * dtype.itemsize
        work = tau + m * dtype.itemsize
        copied = f.array(dtype, memory)
        with f.loop(f.begin, f.end) as i:
            q, r = (f.array(dtype, f.arg(at) + i * size * dtype.itemsize) for at, size in ((1, m * k), (2, k * n)))
            f.copy(memory, f.arg(0) + i * m * n * dtype.itemsize, m * n * dtype.itemsize)
            with f.when(n > 0):
                library.call("gelqf_", words[1], words[3], memory, words[1], tau, work, words[2])
            with f.loop(0, k) as row:
                with f.loop(0, f.minimum(row, n)) as c:
                    r[row * n + c] = 0
                with f.loop(row, n) as c:
                    r[row * n + c] = copied[row * n + c]
            with f.loop(0, m) as row, f.loop(0, f.minimum(n, k)) as c:
                q[row * k + c] = copied[row * n + c]
            with f.when(k > 0):
                library.call("orglq_", words[4], words[3], words[5], q.address, words[4], tau, work, words[2])
        give_back(f, memory)


TERMS = {"float32": (3, 3), "float64": (4, 4)}            # powers of x that are kept, groups of so many terms: 9 terms, 16
SCALED = 0.5                                              # the norm up to which so many terms have all digits


@kernel_writer(lambda dtype: f"exponential_{dtype.short}")
def write_exponential(f, dtype):
    """The kernel: Taylor's sum of x / 2^s by the method of Paterson and Stockmeyer (Higham 2008, sections 4.2, 10.3), squared
    s times."""
    n, nbytes = _matrices(f, dtype, 2)
    kept, groups = TERMS[dtype.name]
    product = write_gemm(f.module, dtype)
    with f.when(n > 0):
        memory = _borrowed(f, nbytes * (kept + 1))
        powers, made = [f.array(dtype, memory + nbytes * i) for i in range(kept)], f.array(dtype, memory + nbytes * kept)

        def multiply(a, b, out, add=0):
            f.call(product, 0, 0, n, n, n, a.address, n, b.address, n, add, out.address, n)

        def terms(group, out):
            """out = the terms of a group, each over the power of x that all of them have."""
            shares = [1.0 / math.factorial(kept * group + i) for i in range(kept)]
            with f.loop(0, n * n) as j:
                total = powers[0][j] * shares[1]
                for power, share in zip(powers[1:], shares[2:]):
                    total = total + power[j] * share
                out[j] = total
            with f.loop(0, n) as j:
                out[j * (n + 1)] = out[j * (n + 1)] + shares[0]
        with f.loop(f.begin, f.end) as i:
            x, out = (f.array(dtype, f.arg(at) + i * nbytes) for at in range(2))
            factor, squarings = _scaling(f, dtype, x, n)
            with f.loop(0, n * n) as j:
                powers[0][j] = x[j] * factor.get()
            for number in range(1, kept):
                multiply(powers[number - 1], powers[0], powers[number])
            here, other = (out, made) if groups % 2 else (made, out)
            terms(groups - 1, here)
            for group in range(groups - 2, -1, -1):
                terms(group, other)
                multiply(here, powers[-1], other, 1)
                here, other = other, here
            with f.loop(0, squarings.get()):
                multiply(out, out, made)
                f.copy(out.address, made.address, nbytes)
        give_back(f, memory)


def _scaling(f, dtype, x, n):
    """(2^-s in x's type, s) as Variables, with which the norm of x is at most SCALED; of a norm that is not finite 1 and 0."""
    kind = compute_type(dtype)
    largest, factor, count = f.variable(F64, 0.0), f.variable(kind, 1.0), f.variable(I64, 0)
    with f.loop(0, n) as r:
        line = f.variable(F64, 0.0)
        with f.loop(0, n) as c:
            line.set(line.get() + _magnitude(f, _double(f, dtype, x[r * n + c])))
        largest.set(f.select(line.get() > largest.get(), line.get(), largest.get()))
    with f.when((largest.get() > SCALED) & (largest.get() < float("inf"))), f.repeat() as again:
        largest.set(largest.get() * 0.5)
        factor.set(factor.get() * 0.5)
        count.set(count.get() + 1)
        again(largest.get() > SCALED)
    return factor, count


KINDS = {"triangular": write_triangular, "solve": write_solve, "inverse": write_inverse, "cholesky": write_cholesky,
         "determinant": write_determinant, "logarithm": write_logarithm, "cofactors": write_cofactors,
         "orthogonal": write_orthogonal, "exponential": write_exponential}
