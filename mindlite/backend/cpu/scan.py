"""Running sums, products and extrema and linear recurrences along an axis: NumPy's order of operations, so NumPy's bits.

    sum        out[p] = out[p - 1] + x[p]          product   out[p] = out[p - 1] * x[p]
    recurrence out[p] = d[p] + a[p] * out[p - 1]   p counts from the end where `reverse` is set
    logsumexp  out[p] = log(e^out[p - 1] + e^x[p]), as the larger one and log1p(e^-difference)

One addition waits for the one before it. So four lines of a contiguous axis go side by side, and along another axis the
loop over its columns is inside, where neighbours make a vector.
"""
from ...common.dtype import dtype as to_dtype, int64
from ..printers import math_functions, values
from ..target import current
from .native import I64, Value, compute_type, kernel_of, kernel_writer

KINDS = ("sum", "product", "recurrence", "logsumexp")
EXTREMA = ("max", "min")
DTYPES = ("float32", "float64", "int32", "int64")


def scan_kernel(dtype, kind, target=None):
    """The kernel of one of KINDS for `dtype`; None where DTYPES has no such row.

    args : [*operands[outer, n, inner], out[outer, n, inner], n, inner, exclusive, reverse]
           one operand, two (a, d) of a recurrence; exclusive: 1 moves the results on by one and begins with 0 or 1, else 0
    [begin, end) : lines, of which there are outer * inner
    """
    if not has_scan(dtype) or kind == "logsumexp" and not to_dtype(dtype).is_float:
        return None
    return kernel_of(write_scan, to_dtype(dtype), kind, target=target or current())


def has_scan(dtype):
    """Whether there are kernels for `dtype`."""
    return to_dtype(dtype).name in DTYPES


@kernel_writer(lambda dtype, kind: f"scan_{kind}_{dtype.short}")
def write_scan(f, dtype, kind):
    """The kernel."""
    many, together = kind == "recurrence", f.module.target.side_by_side
    f.fastmath = ()                                      # a product and a sum round one by one, as in NumPy
    operands = [f.array(dtype, f.arg(i)) for i in range(1 + many)]
    out = f.array(dtype, f.arg(1 + many))
    n, inner, exclusive, reverse = (f.arg(2 + many + i) for i in range(4))
    neutral = f.number(compute_type(dtype), 1 if kind == "product" else 0)
    number = n - exclusive

    def position(p):
        return f.select(reverse > 0, n - 1 - p, p)

    first = position(f.number(I64, 0))

    def logaddexp(a, b):
        high, low = f.select(a > b, a, b), f.select(a > b, b, a)                     # a NaN is one of them
        apart = values.Value(f.builder, f.select(a.equals(b), f.number(a.ir.type, 0), low - high).ir)     # infinities too
        return high + Value(f, math_functions.apply("log1p", math_functions.apply("exp", apart)).ir)

    def further(last, at):
        x = operands[-1][at]
        if kind == "logsumexp":
            return logaddexp(last, x)
        return last + x if kind == "sum" else last * x if kind == "product" else x + operands[0][at] * last

    def side_by_side(line, count):
        """`count` contiguous lines from `line` on."""
        lasts = [f.variable(compute_type(dtype), 0) for _ in range(count)]
        for q, last in enumerate(lasts):
            at = (line + q) * n
            with f.when(exclusive > 0):
                out[at + first] = neutral
            with f.when(number > 0):
                last.set(operands[-1][at + first])
                out[at + position(exclusive)] = last.get()
        with f.loop(1, number) as p:
            read, write = position(p), position(p + exclusive)
            for q, last in enumerate(lasts):
                at = (line + q) * n
                last.set(further(last.get(), at + read))
                out[at + write] = last.get()
    with f.when((n > 0) & (f.end > f.begin)), f.choose(inner.equals(1)) as (rows, columns):
        with rows:
            whole = f.begin + (f.end - f.begin) // together * together
            with f.loop(f.begin, whole, together) as line:
                side_by_side(line, together)
            with f.loop(whole, f.end) as line:
                side_by_side(line, 1)
        with columns, f.loop(f.begin // inner, (f.end - 1) // inner + 1) as block:
            begin, table = block * inner, block * n * inner
            left, right = f.maximum(f.begin - begin, 0), f.minimum(f.end - begin, inner)
            with f.when(exclusive > 0):
                target_row = out.at(table + first * inner)
                with f.loop(left, right) as c:
                    target_row[c] = neutral
            with f.when(number > 0):
                source = operands[-1].at(table + first * inner)
                target_row = out.at(table + position(exclusive) * inner)
                with f.loop(left, right) as c:
                    target_row[c] = source[c]
            with f.loop(1, number) as p:
                read = table + position(p) * inner
                before, target_row = (out.at(table + position(p + exclusive - back) * inner) for back in (1, 0))
                with f.loop(left, right) as c:
                    target_row[c] = further(before[c], read + c)


def running_kernel(dtype, kind, target=None):
    """The kernel of a running extremum, one of EXTREMA; None for a dtype of which there is none.

    args : [x[outer, n, inner], values[outer, n, inner], indices int64[outer, n, inner], n, inner]
    [begin, end) : lines, of which there are outer * inner
    """
    return kernel_of(write_running, to_dtype(dtype), kind, target=target or current()) if has_running(dtype) else None


def has_running(dtype):
    """Whether there are running extrema for `dtype`."""
    return has_scan(dtype) or to_dtype(dtype).name in ("float16", "bfloat16")


@kernel_writer(lambda dtype, kind: f"running_{kind}_{dtype.short}")
def write_running(f, dtype, kind):
    """The kernel. The value that was there stays where the new one is no better, so a NaN stays; the index is that of the last
    element which is the value, or a NaN."""
    x, values, indices = (f.array(of, f.arg(i)) for i, of in enumerate((dtype, dtype, int64)))
    n, inner = f.arg(3), f.arg(4)

    def further(value, before, index, p):
        better = value > before if kind == "max" else value < before
        is_nan = value.differs(value)
        made = f.select(better | is_nan, value, before)
        return made, f.select(value.equals(made) | is_nan, p, index)

    with f.when((n > 0) & (f.end > f.begin)), f.choose(inner.equals(1)) as (rows, columns):
        with rows, f.loop(f.begin, f.end) as line:
            first = line * n
            value, index = f.variable(compute_type(dtype), 0), f.variable(I64, 0)
            value.set(x[first])
            index.set(0)
            values[first], indices[first] = x[first], f.number(I64, 0)
            with f.loop(1, n) as p:
                made, where = further(x[first + p], value.get(), index.get(), p)
                value.set(made)
                index.set(where)
                values[first + p], indices[first + p] = made, where
        with columns, f.loop(f.begin // inner, (f.end - 1) // inner + 1) as block:
            begin, table = block * inner, block * n * inner
            left, right = f.maximum(f.begin - begin, 0), f.minimum(f.end - begin, inner)
            with f.loop(left, right) as c:
                values[table + c], indices[table + c] = x[table + c], f.number(I64, 0)
            with f.loop(1, n) as p:
                here = table + p * inner
                with f.loop(left, right) as c:
                    made, where = further(x[here + c], values[here + c - inner], indices[here + c - inner], p)
                    values[here + c], indices[here + c] = made, where
