"""Products that pack nothing: the register tile over operands where they stand.

    small :  out[i, j] (+)= sum over k of a[i, k] b[k, j]        b row-major, a with any two steps
    dots  :  out[i, j] (+)= sum over k of a[i, k] b[j, k]        rows of both, read as vectors along k

A library's product copies its operands into panels first, which pays when each number is used often enough. It does not
where the result is narrow (3 x 5000 x 7: what is copied is used 3 or 7 times) and where all is small (8 x 8 x 8). Here rows
of b are read as vectors where they are, and the numbers of a one by one; a tile of 6 x 2 vectors stays in registers for
some hundred steps of k, then it is added to what stands in out, so a sum of many terms is one of short sums. A strip of b
that many rows of a meet, and whose rows stand far apart, is copied to the stack first: rows at a distance of a power of two
share a few sets of the cache.

`dots` keeps 3 x 4 sums of vectors in registers and adds up their lanes at the end.

`pays` and `dots_pay` are the rules, from measurements: few rows, short sums, b no wider than the tile or so small that it
stays in the first-level cache; for `dots` few and long rows, so that adding up lanes costs less than packing.
"""
import functools

from llvmlite import ir

from ...common.dtype import dtype as to_dtype
from ...common.once import once
from .native import I32, I64, LIBRARIES, PTR, Module, code_of, compute_type
from .tile import first_lanes, folded, masked, multiply_add, spread, tile_shape

DOT_ROWS, DOT_COLUMNS = 3, 4                        # sums of vectors that stay in registers: rows of a, rows of b
ARGUMENTS = [I64, I64, I64, PTR, I64, I64, PTR, I64, I64, PTR, I64]
DOTS_ARGUMENTS = [I64, I64, I64, PTR, I64, PTR, I64, I64, PTR, I64]


def pays(f, dtype, flipped, m, k, ldb):
    """The condition, a Value: b has k rows of ldb elements; of a that is flipped the k rows stand apart too."""
    target = f.module.target
    short = k < f.select(flipped, f.number(I64, target.short_sum // 2), target.short_sum) + 1
    return (m < target.few_rows + 1) | short | (ldb < tile_shape(dtype, target).columns + 1) | near(f, dtype, k, ldb)


def near(f, dtype, k, ldb):
    """The condition, a Value: b stays in the first-level cache."""
    return k * ldb * dtype.itemsize < f.module.target.near + 1


def dots_pay(target, m, n, k):
    """The condition, a Value: packing reads k (m + n) numbers, m n sums have lanes to add up."""
    return (m * n < (m + n) * target.dots_few) & (m * n * target.dots_long < (m + n) * k + 1)


def external_small(module, dtype):
    """`small` for use in `module`."""
    return module.external(f"mindlite_small_{dtype.short}", ir.VoidType(), ARGUMENTS)


def external_dots(module, dtype):
    """`dots` for use in `module`."""
    return module.external(f"mindlite_dots_{dtype.short}", ir.VoidType(), DOTS_ARGUMENTS)


@once
def small_code(dtype, target):
    """The machine code of `small` for a dtype, compiled once for all kernels that use it."""
    return code_of(write_small, dtype, target=target, passes=0)[1]


@once
def dots_code(dtype, target):
    """The machine code of `dots` for a dtype."""
    return code_of(write_dots, dtype, target=target, passes=0)[1]


LIBRARIES["mindlite_dots_"] = lambda short, target: dots_code(to_dtype(short), target).address("dots")
LIBRARIES["mindlite_small_"] = lambda short, target: small_code(to_dtype(short), target).address("small")


def write_small(target, dtype):
    """The Module of small(m, n, k, a, row_step, k_step, b, ldb, add, out, ldo): steps count elements.

    add : 1 adds to what stands in out
    """
    module, shape = Module(f"small_{dtype.short}", target), tile_shape(dtype, target)
    heights = [rows for rows in (1, 2, 4) if rows < shape.rows] + [shape.rows]
    blocks = [(write_block(module, dtype, rows, shape.vectors), write_block(module, dtype, rows, 1)) for rows in heights]
    with module.function("small", ARGUMENTS) as f:
        m, n, k, a, row_step, k_step, b, ldb, add, out, ldo = f.parameters
        a, b, out = (f.array(dtype, f.integer(pointer)) for pointer in (a, b, out))
        far, room = near(f, dtype, k, ldb).equals(0), f.room(dtype, target.small_depth * shape.columns)
        with f.loop(0, k, target.small_depth) as k0:
            depth, more = f.minimum(k - k0, target.small_depth), f.select(k0 > 0, f.number(I64, 1), add)

            def tile(block, i, j, columns, strip, step):
                f.call(block, depth, a.at(i * row_step + k0 * k_step).address, row_step, k_step, strip, step, columns, more,
                       out.at(i * ldo + j).address, ldo)

            def rows_of_tiles(run):
                """run(i, the blocks of so many rows) from the first row to the last."""
                row = f.variable(I64, 0)
                for rows, pair in reversed([*zip(heights, blocks)]):
                    with f.loop(row.get(), m - (rows - 1), rows) as i:
                        run(i, pair)
                        row.set(i + rows)

            def strips(run):
                """run(j, columns, 0 or 1: which of a pair of blocks) from the first column to the last."""
                column = f.variable(I64, 0)
                for which, (least, most) in enumerate(((shape.columns - shape.lanes, shape.columns), (0, shape.lanes))):
                    with f.loop(column.get(), n - least, most) as j:
                        columns = f.minimum(n - j, most)
                        run(j, columns, which)
                        column.set(j + columns)

            def row_by_row(i, pair):
                strips(lambda j, columns, which: tile(pair[which], i, j, columns, b.at(k0 * ldb + j).address, ldb))

            def strip_by_strip(j, columns, which):
                strip = b.at(k0 * ldb + j)
                copied = (m > target.few_rows) & (columns > shape.columns - 1) & (ldb > shape.columns)      # not a panel
                with f.when(copied):
                    copy_strip(f, dtype, depth, strip, ldb, room)
                right, step = f.select(copied, room.address, strip.address), f.select(copied, shape.columns, ldb)
                rows_of_tiles(lambda i, pair: tile(pair[which], i, j, columns, right, step))
            with f.choose(far) as (then, other):
                with then:
                    strips(strip_by_strip)
                with other:                            # out is written line by line
                    rows_of_tiles(row_by_row)
    module.written_by += [write_small, copy_strip, write_block]
    return module


def copy_strip(f, dtype, depth, strip, ldb, room):
    """Write the copy of a strip as wide as the tile to where its rows stand side by side."""
    shape, build = tile_shape(dtype, f.module.target), f.builder
    vector = ir.VectorType(compute_type(dtype), shape.lanes)
    with f.loop(0, depth) as k:
        for v in range(0, shape.columns, shape.lanes):
            read = build.load(strip.at(k * ldb + v).pointer, typ=vector, align=dtype.itemsize)
            build.store(read, room.at(k * shape.columns + v).pointer, align=dtype.itemsize)


def write_block(module, dtype, rows, count):
    """The function of a tile of so many rows and vectors, whose last vector ends at `columns`: it may lie over the one
    before it, whose results it has too. A single vector is masked, which takes registers that the sums of more want.
    """
    element, lanes, size = compute_type(dtype), tile_shape(dtype, module.target).lanes, dtype.itemsize
    vector = ir.VectorType(element, lanes)
    load, store = masked(module, "load", vector, element), masked(module, "store", vector, element)
    name = f"block{rows}x{count}"
    with module.function(name, [I64, PTR, I64, I64, PTR, I64, I64, I64, PTR, I64], inline=True) as f:
        depth, a, row_step, k_step, b, ldb, columns, add, out, ldo = (p.ir for p in f.parameters)
        build = f.builder

        def number(value, kind=I64):
            return ir.Constant(kind, value)

        def at(base, index):
            return build.gep(base, [index], source_etype=element)

        zero, align, mask = ir.Constant(vector, None), number(size, I32), first_lanes(build, columns, lanes)
        begins = [number(v * lanes) for v in range(count - 1)] + [build.sub(columns, number(lanes)) if count > 1 else number(0)]

        def read(pointer):
            return build.load(pointer, typ=vector, align=size) if count > 1 else build.call(load, [pointer, align, mask, zero])

        def write(value, pointer):
            if count > 1:
                build.store(value, pointer, align=size)
            else:
                build.call(store, [value, pointer, align, mask])
        starts = [at(a, build.mul(row_step, number(r))) for r in range(rows)]

        def step(k, carried):
            in_a, in_b, totals = carried[0], carried[1:count + 1], iter(carried[count + 1:])
            right = [read(pointer) for pointer in in_b]
            yield build.add(in_a, k_step)
            for pointer in in_b:
                yield at(pointer, ldb)
            for start in starts:
                one = spread(build, build.load(at(start, in_a), typ=element, align=size), vector)
                for value in right:
                    yield multiply_add(module, build, one, value, next(totals))
        carried = folded(f, depth, [number(0), *(at(b, begin) for begin in begins), *[zero] * (rows * count)], step)
        totals = carried[count + 1:]
        pointers = [at(at(out, build.mul(ldo, number(r))), begin) for r in range(rows) for begin in begins]
        with build.if_else(build.icmp_signed("==", add, number(0))) as (then, other):
            with then:
                for total, pointer in zip(totals, pointers):
                    write(total, pointer)
            with other:
                sums = [build.fadd(total, read(pointer)) for total, pointer in zip(totals, pointers)]
                for total, pointer in zip(sums, pointers):
                    write(total, pointer)
    return module.ir.globals[name]


def write_dots(target, dtype):
    """The Module of dots(m, n, k, a, lda, b, ldb, add, out, ldo): out[i, j] (+)= a[i] . b[j], both with k innermost.

    Blocks of `Target.dot_depth` steps of k, in them `Target.dot_rows_kept` rows of a, which meet DOT_COLUMNS rows of b at a time.
    """
    module = Module(f"dots_{dtype.short}", target)
    blocks = [write_dot_block(module, dtype, rows + 1) for rows in range(DOT_ROWS)]
    with module.function("dots", DOTS_ARGUMENTS) as f:
        m, n, k, a, lda, b, ldb, add, out, ldo = f.parameters
        a, b, out = (f.array(dtype, f.integer(pointer)) for pointer in (a, b, out))
        with f.loop(0, k, target.dot_depth) as k0:
            depth, more = f.minimum(k - k0, target.dot_depth), f.select(k0 > 0, f.number(I64, 1), add)
            with f.loop(0, m, target.dot_rows_kept) as first, f.loop(0, n, DOT_COLUMNS) as j:
                row, end = f.variable(I64, first), f.minimum(first + target.dot_rows_kept, m)
                columns = f.minimum(n - j, DOT_COLUMNS)
                for rows, block in reversed([*enumerate(blocks, 1)]):
                    with f.loop(row.get(), end - (rows - 1), rows) as i:
                        f.call(block, depth, a.at(i * lda + k0).address, lda, b.at(j * ldb + k0).address, ldb, columns, more,
                               out.at(i * ldo + j).address, ldo)
                        row.set(i + rows)
    module.written_by += [write_dots, write_dot_block]
    return module


def write_dot_block(module, dtype, rows):
    """The function of so many rows of a and DOT_COLUMNS of b; rows of b that there are not are the last one again."""
    element, lanes, size = compute_type(dtype), tile_shape(dtype, module.target).lanes, dtype.itemsize
    vector, four = ir.VectorType(element, lanes), ir.VectorType(element, DOT_COLUMNS)
    with module.function(f"dot{rows}", [I64, PTR, I64, PTR, I64, I64, I64, PTR, I64], inline=True) as f:
        depth, a, lda, b, ldb, columns, add, out, ldo = f.parameters
        build, zero, align = f.builder, ir.Constant(vector, None), ir.Constant(I32, size)

        def at(base, index):
            return build.gep(base, [index], source_etype=element)

        def products(read, k, totals):
            """The totals, for each row of b one for each of a, with the products of a vector of each row added."""
            left, each = [read(at(start, k)) for start in lefts], iter(totals)
            for start in rights:                                         # one at a time: there are 16 registers
                right = read(at(start, k))
                for one in left:
                    yield multiply_add(module, build, one, right, next(each))
        lefts = [at(a.ir, (lda * r).ir) for r in range(rows)]
        rights = [at(b.ir, (f.minimum(columns - 1, s) * ldb).ir) for s in range(DOT_COLUMNS)]
        whole = depth // lanes * lanes
        totals = folded(f, whole.ir, [zero] * (rows * DOT_COLUMNS), functools.partial(
            products, lambda pointer: build.load(pointer, typ=vector, align=size)), by=lanes)
        rest, load_rest = first_lanes(build, (depth - whole).ir, lanes), masked(module, "load", vector, element)
        last = list(products(lambda pointer: build.call(load_rest, [pointer, align, rest, zero]), whole.ir, totals))
        mask, load, store = first_lanes(build, columns.ir, DOT_COLUMNS), masked(module, "load", four, element), \
            masked(module, "store", four, element)
        kept = build.select(build.icmp_signed("!=", add.ir, ir.Constant(I64, 0)), mask, ir.Constant(mask.type, None))
        for r in range(rows):
            pointer = at(out.ir, (ldo * r).ir)
            old = build.call(load, [pointer, align, kept, ir.Constant(four, None)])
            build.call(store, [build.fadd(old, sums_across(build, last[r::rows])), pointer, align, mask])
    return module.ir.globals[f"dot{rows}"]


def sums_across(build, vectors):
    """The sums of the lanes of four vectors, as a vector of four: neighbours are added until one of each is left."""
    def halved(a, b):
        lanes, count = ir.VectorType(I32, a.type.count), a.type.count
        return build.fadd(*(build.shuffle_vector(a, b, ir.Constant(lanes, [2 * i + k for i in range(count)]))
                            for k in (0, 1)))

    def side_by_side(a, b):
        both = ir.Constant(ir.VectorType(I32, 2 * a.type.count), list(range(2 * a.type.count)))
        return build.shuffle_vector(a, b, both)
    left = vectors[0].type.count
    while len(vectors) > 1:
        join = halved if left > 1 else side_by_side
        vectors, left = [join(a, b) for a, b in zip(vectors[::2], vectors[1::2])], max(1, left // 2)
    total = vectors[0]
    while left > 1:
        total, left = halved(total, total), left // 2
    return build.shuffle_vector(total, total, ir.Constant(ir.VectorType(I32, DOT_COLUMNS), list(range(DOT_COLUMNS))))
