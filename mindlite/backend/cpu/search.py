"""Where numbers stand in sorted rows, by halving: for rows of open sizes, whose number of halvings is known when they come."""
from ...common.dtype import dtype as to_dtype, int64
from ..target import current
from .native import I64, kernel_of, kernel_writer

DTYPES = ("float32", "float64", "float16", "bfloat16", "int32", "int64")


def search_kernel(dtype, inclusive, target=None):
    """The kernel for rows and values of `dtype`; None where DTYPES has no such row.

    args : [rows, values, positions int64, size of a row, values of a row, 1 if each row has values of its own, else 0]
    [begin, end) : values
    inclusive : equal elements count too;   a NaN is greater than all numbers, and equal to NaN
    """
    return kernel_of(write_search, to_dtype(dtype), inclusive, target=target or current()) if has_search(dtype) else None


def has_search(dtype):
    """Whether there is a kernel for `dtype`."""
    return to_dtype(dtype).name in DTYPES


@kernel_writer(lambda dtype, inclusive: f"search_{'right' if inclusive else 'left'}_{dtype.short}")
def write_search(f, dtype, inclusive):
    """The kernel."""
    rows, values, positions = (f.array(of, f.arg(i)) for i, of in enumerate((dtype, dtype, int64)))
    size, count, many = (f.arg(i) for i in range(3, 6))
    low, left = f.variable(I64, 0), f.variable(I64, 0)
    with f.loop(f.begin, f.end) as i:
        value, row = values[i], rows.at(i // count * many * size)
        low.set(f.number(I64, 0))
        left.set(size)
        with f.when(size > 0), f.repeat() as again:
            half = left.get() // 2
            middle = low.get() + half
            element = row[middle]
            beyond = element > value if inclusive else element >= value
            if dtype.is_float:
                is_nan = element.differs(element)
                beyond = beyond | (is_nan & value.equals(value) if inclusive else is_nan)
            low.set(f.select(beyond, low.get(), middle + 1))
            left.set(f.select(beyond, half, left.get() - half - 1))
            again(left.get() > 0)
        positions[i] = low.get()
