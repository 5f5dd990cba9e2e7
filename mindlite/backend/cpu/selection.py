"""The k largest or smallest elements of each row, in order.

    values[r, :], indices[r, :] = the k best of x[r, :]            equals keep their order; NaN counts as the largest

One pass over the row keeps the best so far in order (insertion into a short list: Knuth, TAOCP 3, 5.2.1). An element is
compared with the last of them and mostly goes no further: of n in random order k * ln(n / k) are inserted.
"""
from ...common.dtype import dtype as to_dtype, int64
from ..target import current
from .native import I64, kernel_of, kernel_writer


def topk_kernel(dtype, largest, target=None):
    """The kernel for `dtype`; None for dtypes that have no order here: unsigned integers, bool, complex numbers.

    args : [x[rows, n, inner], values[rows, k, inner], indices int64[rows, k, inner], n, k, inner]
    [begin, end) : lines, of which there are rows * inner
    """
    return kernel_of(write_topk, to_dtype(dtype), bool(largest), target=target or current()) if has_order(dtype) else None


def has_order(dtype):
    """Whether there is a kernel for `dtype`."""
    dtype = to_dtype(dtype)
    return dtype.name in ("float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64")


@kernel_writer(lambda dtype, largest: f"topk_{dtype.short}_{'largest' if largest else 'smallest'}")
def write_topk(f, dtype, largest):
    """The kernel."""
    x, values, indices = f.array(dtype, f.arg(0)), f.array(dtype, f.arg(1)), f.array(int64, f.arg(2))
    n, k, inner = f.arg(3), f.arg(4), f.arg(5)

    def before(a, b):
        """Whether a stands before b, and not beside it."""
        first, second = (a, b) if largest else (b, a)
        larger = first > second
        return larger | (first.differs(first) & second.equals(second)) if dtype.is_float else larger
    with f.loop(f.begin, f.end) as line:
        row, column = line // inner, line % inner
        source = x.at(row * n * inner + column)
        best, positions = values.at(row * k * inner + column), indices.at(row * k * inner + column)

        def insert(value, number, filled):
            """Put a value where it belongs among the `filled` first ones; those behind it move on by one."""
            position = f.variable(I64, filled)
            head, body, done = (f.function.append_basic_block(name) for name in ("look", "move", "put"))
            f.builder.branch(head)
            f.builder.position_at_end(head)
            at = position.get()
            above = f.maximum(at - 1, 0) * inner
            further = (at > 0) & before(value, best[above])
            f.builder.cbranch(further.ir, body, done)
            f.builder.position_at_end(body)
            best[at * inner], positions[at * inner] = best[above], positions[above]
            position.set(at - 1)
            f.builder.branch(head)
            f.builder.position_at_end(done)
            at = position.get()
            best[at * inner], positions[at * inner] = value, number
        with f.loop(0, k) as i:
            insert(source[i * inner], i, i)
        last = best.at((k - 1) * inner)
        with f.loop(k, n) as i:
            value = source[i * inner]
            with f.when(before(value, last[0])):
                insert(value, i, k - 1)
