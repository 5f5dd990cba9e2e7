"""Library kernels of a GPU that are our own: matrix products, convolutions, pooling, sums into tables, running sums, topk.

    text = part("matmul", dtype=float32, transpose_a=False, ..)      a part as `code.kernel_text` takes it; None if there is none

The facts and the words are those of the CPU's kernels (`backend.cpu`), and behind them the extent of the parallel axis. A product
of matrices is made in tiles of 64 x 64 by 256 threads, each of which keeps 4 x 4 sums in registers while both operands go
through shared memory, 16 steps of k at a time. A convolution is the same product, whose operands are read where the picture
has them (implicit GEMM; Chetlur et al. 2014, "cuDNN: Efficient Primitives for Deep Learning"): all three of its kinds. Other
kernels have a thread for each result, and walk in the CPU's order; running sums and topk are the CPU's own loops, a line for a
thread. No sum uses atomics unless config.deterministic is off.
"""
from collections.abc import Callable
from typing import Any

from llvmlite import ir

from ...common.dtype import dtype as to_dtype
from ..cpu import scan, selection
from ..cpu.blas import has_gemm
from ..cpu.native import I64, Value, compute_type
from ..target import current
from . import attention
from .library_parts import Parts
from .pooling import MaxPooling, is_short, squares

TILE, DEPTH = 64, 16           # of a product: results of a block each way, and steps of k in shared memory
EACH = 4                       # results of a thread each way
WORKERS = (TILE // EACH) ** 2  # threads of its block: they must be so many


# ---------------------------------------------------------------- products

def write_product(f, dtype, m, n, k, at, load_a, load_b, store):
    """The tile numbered `at` of an m x n product over k: store(i, j, sum over p of load_a(i, p) load_b(p, j)).

    Neighbouring threads load neighbours along the axis of the loader that is contiguous: (True) for p, else for i or j.
    """
    kind = compute_type(dtype)
    across = (n + TILE - 1) // TILE
    row, column = at // across * TILE, at % across * TILE
    a, b = f.share(dtype, DEPTH * (TILE + 1)), f.share(dtype, DEPTH * (TILE + 1))
    sums = [[f.variable(kind, 0) for _ in range(EACH)] for _ in range(EACH)]
    side = TILE // EACH
    i0, j0 = f.thread // side, f.thread % side
    with f.loop(0, k, DEPTH) as first:
        for position, start, size, (along_k, load) in ((a, row, m, load_a), (b, column, n, load_b)):
            for step in range(TILE * DEPTH // WORKERS):
                t = f.thread + step * WORKERS
                i, p = (t // DEPTH, t % DEPTH) if along_k else (t % TILE, t // TILE)
                value = f.variable(kind, 0)
                with f.when((start + i < size) & (first + p < k)):
                    value.set(load(start + i, first + p))
                position[p * (TILE + 1) + i] = value.get()
        f.barrier()
        with f.loop(0, DEPTH, iterations="few") as p:
            left = [a[p * (TILE + 1) + i0 + q * side] for q in range(EACH)]
            right = [b[p * (TILE + 1) + j0 + q * side] for q in range(EACH)]
            for q, x in enumerate(left):
                for r, y in enumerate(right):
                    sums[q][r].set(sums[q][r].get() + x * y)
        f.barrier()
    for q in range(EACH):
        for r in range(EACH):
            i, j = row + i0 + q * side, column + j0 + r * side
            with f.when((i < m) & (j < n)):
                store(i, j, sums[q][r].get())


def tiles(m, n):
    """How many tiles an m x n product has."""
    return (m + TILE - 1) // TILE * ((n + TILE - 1) // TILE)


def matmul(dtype, transpose_a=False, transpose_b=False, batched="none", accumulate=False):
    """words: a, b, out, batch, m, n, k, with "none" the number of pieces (not asked), extent."""
    if not has_gemm(dtype):
        return None
    words = 9 if batched == "none" else 8
    module = Parts("matmul", words)
    with module.part() as f:
        batch, m, n, k = f.words[3:7]
        a, b, out = (f.array(dtype, f.words[w]) for w in range(3))
        count = tiles(m, n)
        number, at = f.block // count, f.block % count
        a = a.at(number * m * k) if batched in ("a", "both") else a
        b = b.at(number * n * k) if batched in ("b", "both") else b
        out = out.at(number * m * n) if batched != "none" else out

        def store(i, j, value):
            out[i * n + j] = value + out[i * n + j] if accumulate else value
        write_product(f, dtype, m, n, k, at,
                      (not transpose_a, lambda i, p: a[p * m + i] if transpose_a else a[i * k + p]),
                      (transpose_b, lambda j, p: b[j * k + p] if transpose_b else b[p * n + j]), store)
    module.blocks(lambda f, w: tiles(w[4], w[5]) * (w[3] if batched != "none" else 1))
    return module.finished()


def has_convolution(dtype):
    """Is there a kernel of our own for convolutions of a dtype?"""
    return dtype.name in ("float32", "float64", "float16", "bfloat16") and has_gemm(dtype)


def conv2d(dtype, kind):
    """words: left, right, out (as in `convolution_ways.conv2d_plan`), the 16 sizes, extent."""
    module = Parts(f"conv2d_{kind}", 20)

    def sizes_of(words):
        names = "n c h w o kh kw sh sw pt pb pl pr dh dw g".split()
        s = dict(zip(names, words[3:19]))
        s["oh"] = (s["h"] + s["pt"] + s["pb"] - s["dh"] * (s["kh"] - 1) - 1) // s["sh"] + 1
        s["ow"] = (s["w"] + s["pl"] + s["pr"] - s["dw"] * (s["kw"] - 1) - 1) // s["sw"] + 1
        s["cg"], s["og"] = s["c"] // s["g"], s["o"] // s["g"]
        return s

    def product_of(s):
        taps = s["kh"] * s["kw"]
        if kind == "forward":
            return s["og"], s["n"] * s["oh"] * s["ow"], s["cg"] * taps
        if kind == "backward_data":
            return s["cg"], s["n"] * s["h"] * s["w"], s["og"] * taps
        return s["og"], s["cg"] * taps, s["n"] * s["oh"] * s["ow"]

    with module.part() as f:
        s = sizes_of(f.words)
        left, right, out = (f.array(dtype, f.words[w]) for w in range(3))
        m, n, k = product_of(s)
        group, at = f.block // tiles(m, n), f.block % tiles(m, n)
        taps, h, w, oh, ow = s["kh"] * s["kw"], s["h"], s["w"], s["oh"], s["ow"]

        def picture(number, channel, y, x):
            """The element of x, 0 in the border."""
            value = f.variable(compute_type(dtype), 0)
            with f.when((y >= 0) & (y < h) & (x >= 0) & (x < w)):
                value.set(left[((number * s["c"] + group * s["cg"] + channel) * h + y) * w + x])
            return value.get()

        def split(number, *sizes):
            """The digits of a number."""
            digits = []
            for size in reversed(sizes):
                digits.append(number % size)
                number = number // size
            return number, *reversed(digits)

        if kind == "forward":
            def weight(i, p):
                return right[(group * s["og"] + i) * k + p]

            def patch(j, p):
                (number, y, x), (channel, q, r) = split(j, oh, ow), split(p, s["kh"], s["kw"])
                return picture(number, channel, y * s["sh"] - s["pt"] + q * s["dh"], x * s["sw"] - s["pl"] + r * s["dw"])

            def store(i, j, value):
                number, pixel = split(j, oh * ow)
                out[(number * s["o"] + group * s["og"] + i) * (oh * ow) + pixel] = value
            write_product(f, dtype, m, n, k, at, (True, weight), (False, patch), store)
        elif kind == "backward_data":
            def weight(i, p):
                channel, tap = split(p, taps)
                return right[((group * s["og"] + channel) * s["cg"] + i) * taps + tap]

            def gradient(j, p):
                (number, y, x), (channel, q, r) = split(j, h, w), split(p, s["kh"], s["kw"])
                y, x = y + s["pt"] - q * s["dh"], x + s["pl"] - r * s["dw"]
                value = f.variable(compute_type(dtype), 0)
                with f.when((y >= 0) & (x >= 0)), f.when((y % s["sh"]).equals(0) & (x % s["sw"]).equals(0)):
                    y, x = y // s["sh"], x // s["sw"]
                    with f.when((y < oh) & (x < ow)):
                        value.set(left[((number * s["o"] + group * s["og"] + channel) * oh + y) * ow + x])
                return value.get()

            def store(i, j, value):
                number, pixel = split(j, h * w)
                out[(number * s["c"] + group * s["cg"] + i) * (h * w) + pixel] = value
            write_product(f, dtype, m, n, k, at, (False, weight), (False, gradient), store)
        else:
            def gradient(i, p):
                number, pixel = split(p, oh * ow)
                return right[(number * s["o"] + group * s["og"] + i) * (oh * ow) + pixel]

            def patch(j, p):
                (channel, q, r), (number, y, x) = split(j, s["kh"], s["kw"]), split(p, oh, ow)
                return picture(number, channel, y * s["sh"] - s["pt"] + q * s["dh"], x * s["sw"] - s["pl"] + r * s["dw"])

            def store(i, j, value):
                out[(group * s["og"] + i) * n + j] = value
            write_product(f, dtype, m, n, k, at, (True, gradient), (True, patch), store)

    def count(f, words):
        s = sizes_of(words)
        return tiles(*product_of(s)[:2]) * s["g"]
    module.blocks(count)
    return module.finished()


# ---------------------------------------------------------------- a thread for each result

def pool2d(dtype, kind, window):
    """words: the arrays and the 12 sizes of `cpu.pooling`, extent. Of equal maxima the first has the gradient, a NaN wins."""
    if not dtype.is_float or not has_gemm(dtype):
        return None
    backward, arrays = kind.endswith("backward"), 3 if kind == "max_backward" else 2
    kh, kw, sh, sw, dh, dw = window
    module = Parts(f"pool2d_{kind}", arrays + 13)
    number = compute_type(dtype)
    if kind.startswith("max") and is_short(window, backward):
        return _max_pooling(module, dtype, backward, window)
    with module.part() as f:
        planes = f.words[arrays] * f.words[arrays + 1]
        h, w, oh, ow, top, bottom, left, right, padded, divisor = f.words[arrays + 2:arrays + 12]
        given = [f.array(dtype, word) for word in f.words[:arrays]]
        item = f.block * f.threads + f.thread
        rows, columns = (h, w) if backward else (oh, ow)

        def taps(plane, i, j, do):
            """do(position in the plane of x) for the taps of window (i, j) that are inside."""
            with f.loop(0, kh) as p:
                y = i * sh - top + p * dh
                with f.when((y >= 0) & (y < h)), f.loop(0, kw) as q:
                    x = j * sw - left + q * dw
                    with f.when((x >= 0) & (x < w)):
                        do(plane * h * w + y * w + x)

        def best(plane, i, j):
            """(the largest element of a window, where it is); -1 where the window is empty."""
            most, where = f.variable(number, float("-inf")), f.variable(I64, -1)

            def step(position):
                value = given[0][position]
                held = most.get()
                wins = (value > held) | value.differs(value) | (where.get() < 0)
                with f.when(wins & held.equals(held)):
                    most.set(value)
                    where.set(position)
            taps(plane, i, j, step)
            return most.get(), where.get()

        def many(i, j):
            """By what the sum of a window is divided."""
            def reached(start, step, count, size, before, after):
                low = f.select(padded.differs(0), 0 - before, f.number(I64, 0))
                high = f.select(padded.differs(0), size + after, size)
                found = f.variable(I64, 0)
                with f.loop(0, count) as p:
                    at = start + p * step
                    with f.when((at >= low) & (at < high)):
                        found.set(found.get() + 1)
                return found.get()
            count = reached(i * sh - top, dh, kh, h, top, bottom) * reached(j * sw - left, dw, kw, w, left, right)
            return f.convert(f.select(divisor.differs(0), divisor, f.maximum(count, 1)), number)

        with f.when(item < planes * rows * columns):
            plane, rest = item // (rows * columns), item % (rows * columns)
            i, j = rest // columns, rest % columns
            if not backward:
                if kind == "max_forward":
                    given[1][item] = best(plane, i, j)[0]
                else:
                    total = f.variable(number, 0)
                    taps(plane, i, j, lambda position: total.set(total.get() + given[0][position]))
                    given[1][item] = total.get() / many(i, j)
            else:                                            # the windows that have this element, in their order
                total = f.variable(number, 0)
                with f.loop(0, kh) as p, f.loop(0, kw) as q:
                    y, x = i + top - (kh - 1 - p) * dh, j + left - (kw - 1 - q) * dw
                    with f.when((y >= 0) & (x >= 0)), f.when((y % sh).equals(0) & (x % sw).equals(0)):
                        y, x = y // sh, x // sw
                        with f.when((y < oh) & (x < ow)):
                            dout = given[-2][(plane * oh + y) * ow + x]
                            if kind == "max_backward":
                                with f.when(best(plane, y, x)[1].equals(item)):
                                    total.set(total.get() + dout)
                            else:
                                total.set(total.get() + dout / many(y, x))
                given[-1][item] = total.get()
    outer = (arrays + 2, arrays + 3) if backward else (arrays + 4, arrays + 5)
    module.items(lambda f, w: w[arrays] * w[arrays + 1] * w[outer[0]] * w[outer[1]])
    return module.finished()


def _max_pooling(module, dtype, backward, window):
    """The text of the pooling of a short window (`pooling`)."""
    arrays = 3 if backward else 2

    def sizes(w):
        return w[arrays] * w[arrays + 1], *w[arrays + 2:arrays + 7], w[arrays + 8]
    with module.part() as f:
        planes, h, w, oh, ow, top, left = sizes(f.words)
        x, *others = [f.array(dtype, word) for word in f.words[:arrays]]
        write = MaxPooling(f, compute_type(dtype), x, window, (planes, h, w, oh, ow, top, left))
        (write.backward if backward else write.forward)(*others)

    def items(f, words):
        planes, _, _, oh, ow, _, _ = own = sizes(words)
        down, right = squares(window, own) if backward else (oh, ow)
        return planes * down * right
    module.items(items)
    return module.finished()


def index_add(dtype, index, depth, deterministic=True):
    """words: those of `cpu.scatter.index_add_kernel`, extent. Some threads for each column of a table, each of which has every so
    many-th row and goes through all indices in their order; not deterministic: a thread for each number that is added, by an
    atomic addition."""
    return _into_table(dtype, index, depth, deterministic)


def elements_add(dtype, index, deterministic=True):
    """words: those of `cpu.scatter.elements_add_kernel`, extent."""
    return _into_table(dtype, index, None, deterministic)


def _into_table(dtype, index, depth, deterministic):
    if not has_gemm(dtype) or index.name not in ("int32", "int64"):
        return None
    deterministic = deterministic or dtype.name not in ("float32", "float64", "int32", "int64")
    sizes_from = 6
    module = Parts("elements_add" if depth is None else "index_add", sizes_from + (depth or 1) + 1)
    with module.part() as f:
        tables, columns, count = f.words[3:6]
        sizes = f.words[sizes_from:-1]
        indices, updates, out = f.array(index, f.words[0]), f.array(dtype, f.words[1]), f.array(dtype, f.words[2])
        item = f.block * f.threads + f.thread

        def add(a, j, c, mine=None):
            """The update j of column c of table a; mine: (a number of rows' threads, which of them this one is)."""
            position, inside = f.number(I64, 0), j.equals(j)
            size_of_all = f.number(I64, 1)
            for d, size in enumerate(sizes):
                i = indices[(a * count + j) * columns + c] if depth is None else indices[j * depth + d]
                i = i if index.name == "int64" else Value(f, f.builder.sext(i.ir, I64))
                i = f.select(i < 0, i + size, i)
                position, inside = position * size + i, inside & (i >= 0) & (i < size)
                size_of_all = size_of_all * size
            if mine is not None:
                inside = inside & (position & (mine[0] - 1)).equals(mine[1])
            with f.when(inside):
                at = (a * size_of_all + position) * columns + c
                value = updates[(a * count + j) * columns + c]
                if deterministic:
                    out[at] = out[at] + value
                else:
                    f.builder.atomic_rmw("fadd" if dtype.is_float else "add", out._pointer_at(at), value.ir, "monotonic")

        if deterministic:
            lines = tables * columns
            sharing, line = _sharing(f, lines), item % lines
            with f.when(item < lines * sharing), f.loop(0, count) as j:
                add(line // columns, j, line % columns, (sharing, item // lines))
        else:
            with f.when(item < tables * count * columns):
                add(item // (count * columns), item // columns % count, item % columns)
    module.items(lambda f, w: w[3] * w[4] * (_sharing(f, w[3] * w[4]) if deterministic else w[5]))
    return module.finished()


def _sharing(f, lines):
    """How many threads share the rows of a column, a power of two: fewer where there are many columns. Each reads all indices."""
    sharing = f.number(I64, SHARING[-1][1])
    for least, threads in reversed(SHARING[:-1]):
        sharing = f.select(lines >= least, f.number(I64, threads), sharing)
    return sharing


# ---------------------------------------------------------------- the CPU's loops, an item for each thread

def _lines(write, words, *facts):
    """A part whose threads each run the CPU's kernel of `write` on one item; the extent is the last word."""
    sequential = write(current(), *facts)
    sequential.ir.globals[sequential.name].linkage = "internal"
    module = Parts(sequential.name, words + 1)
    made = ir.Function(module.ir, ir.FunctionType(I64, [ir.PointerType(), I64, I64]), sequential.name)
    with module.part() as f:
        item = f.block * f.threads + f.thread
        with f.builder.goto_block(f.entry):
            room = f.builder.alloca(I64, words)
        for k, word in enumerate(f.words[:-1]):
            f.builder.store(word.ir, f.builder.gep(room, [I64(k)], source_etype=I64))
        with f.when(item < f.words[-1]):
            f.builder.call(made, [room, item.ir, (item + 1).ir])
    module.items(lambda f, w: w[-1])
    text = module.finished()
    declared = next(line for line in text.split("\n") if line.startswith("declare") and f'"{sequential.name}"' in line)
    lines = [line for line in sequential.text().split("\n") if not line.startswith(("target ", "; ModuleID"))]
    return text.replace(declared, "\n".join(lines))


def scans(dtype, kind):
    """words: those of `cpu.scan.scan_kernel`, extent."""
    return _lines(scan.write_scan, 6 + (kind == "recurrence"), dtype, kind) if scan.has_scan(dtype) else None


def topk(dtype, largest):
    """words: those of `cpu.selection.topk_kernel`, extent."""
    return _lines(selection.write_topk, 6, dtype, bool(largest)) if selection.has_order(dtype) else None


MAKERS: dict[str, Callable[..., Any]] = {
    "attention": attention.attention, "matmul": matmul, "conv2d": conv2d, "pool2d": pool2d, "index_add": index_add,
    "elements_add": elements_add, "scan": scans, "topk": topk}
REASONS = {"attention": "tiles on the chip, products by the tensor cores",
           "matmul": "our own tiles of 64 x 64 in shared memory", "conv2d": "our own tiles, which read the picture where it lies",
           "pool2d": "a thread for each result", "index_add": "threads for each column of a table",
           "elements_add": "threads for each column of a table", "scan": "a thread for each line",
           "topk": "a thread for each line"}
SHARING = ((1 << 16, 1), (1 << 13, 8), (1 << 9, 64), (0, 256))     # (columns of all tables from which on, threads of each)
WORKERS_OF = {"matmul": WORKERS, "conv2d": WORKERS, "attention": attention.THREADS}  # of a block, where they must be so many


def part(name, **facts):
    """The text of a part, whose last word is the extent; None where there is none for these facts.

    raises : KeyError for a name that is not in MAKERS
    """
    facts = {key: to_dtype(value) if key in ("dtype", "index") else value for key, value in facts.items()}
    if name == "conv2d" and not has_convolution(facts["dtype"]):
        return None
    return MAKERS[name](**facts)
