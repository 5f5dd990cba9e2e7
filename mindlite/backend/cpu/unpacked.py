"""Products that pack nothing: the register tile over operands where they stand.

    small :  out[i, j] (+)= sum over k of a[i, k] b[k, j]        b row-major, a with any two steps

A library's product copies its operands into panels first, which pays when each number is used often enough. It does not
where the result is narrow (3 x 5000 x 7: what is copied is used 3 or 7 times) and where all is small (8 x 8 x 8). Here rows
of b are read as vectors where they are, and the numbers of a one by one; a tile of 6 x 2 vectors stays in registers for
up to DEPTH steps of k, then it is added to what stands in out, so a sum of many terms is one of short sums.

`pays` is the rule, from measurements: b is no wider than the tile, or so small that it stays in the first-level cache.
"""
import functools

from llvmlite import ir

from ...common.dtype import dtype as to_dtype
from .native import I1, I32, I64, LIBRARIES, PTR, Module, code_of, compute_type
from .tile import masked, multiply_add, tile_shape

DEPTH = 256                                         # steps of k that are added up in registers
NEAR = 16384                                        # bytes of b that stay in the first-level cache beside a and out
ARGUMENTS = [I64, I64, I64, PTR, I64, I64, PTR, I64, I64, PTR, I64]


def pays(f, dtype, k, ldb):
    """The condition, a Value: b has k rows of ldb elements."""
    return (ldb < tile_shape(dtype).columns + 1) | (k * ldb * dtype.itemsize < NEAR + 1)


def external_small(module, dtype):
    """`small` for use in `module`."""
    return module.external(f"mindlite_small_{dtype.short}", ir.VoidType(), ARGUMENTS)


@functools.cache
def small_code(dtype):
    """The machine code of `small` for a dtype, compiled once for all kernels that use it."""
    return code_of(write_small, dtype, passes=0)[1]


LIBRARIES["mindlite_small_"] = lambda short: small_code(to_dtype(short)).address("small")


def write_small(dtype):
    """The Module of small(m, n, k, a, row_step, k_step, b, ldb, add, out, ldo): steps count elements.

    add : 1 adds to what stands in out
    """
    module, shape = Module(f"small_{dtype.short}"), tile_shape(dtype)
    heights = [rows for rows in (1, 2, 4) if rows < shape.rows] + [shape.rows]
    blocks = [write_block(module, dtype, rows) for rows in heights]
    with module.function("small", ARGUMENTS) as f:
        m, n, k, a, row_step, k_step, b, ldb, add, out, ldo = f.parameters
        a, b, out = (f.array(dtype, f.integer(pointer)) for pointer in (a, b, out))
        with f.loop(0, k, DEPTH) as k0:
            depth, more = f.minimum(k - k0, DEPTH), f.select(k0 > 0, f.number(I64, 1), add)
            row = f.variable(I64, 0)
            for rows, block in reversed([*zip(heights, blocks)]):
                with f.loop(row.get(), m - (rows - 1), rows) as i:
                    left, line = a.at(i * row_step + k0 * k_step).address, out.at(i * ldo)
                    with f.loop(0, n, shape.columns) as j:
                        f.call(block, depth, left, row_step, k_step, b.at(k0 * ldb + j).address, ldb,
                               f.minimum(n - j, shape.columns), more, line.at(j).address, ldo)
                    row.set(i + rows)
    module.written_by += [write_small, write_block]
    return module


def write_block(module, dtype, rows):
    """The function of a tile of so many rows; `columns` of its lanes count, the others are not read and not written."""
    element, shape, size = compute_type(dtype), tile_shape(dtype), dtype.itemsize
    lanes, vectors = shape.lanes, range(shape.vectors)
    vector, numbers = ir.VectorType(element, lanes), ir.VectorType(I32, lanes)
    load, store = masked(module, "load", vector, element), masked(module, "store", vector, element)
    name = f"block{rows}"
    with module.function(name, [I64, PTR, I64, I64, PTR, I64, I64, I64, PTR, I64], inline=True) as f:
        depth, a, row_step, k_step, b, ldb, columns, add, out, ldo = (p.ir for p in f.parameters)
        build = f.builder

        def number(value, kind=I64):
            return ir.Constant(kind, value)

        def at(base, index):
            return build.gep(base, [index], source_etype=element)

        def spread(value, kind):
            one = build.insert_element(ir.Constant(kind, ir.Undefined), value, number(0, I32))
            return build.shuffle_vector(one, one, ir.Constant(numbers, [0] * lanes))
        zero, align, counts = ir.Constant(vector, None), number(size, I32), spread(build.trunc(columns, I32), numbers)
        masks = [build.icmp_signed("<", ir.Constant(numbers, [v * lanes + i for i in range(lanes)]), counts)
                 for v in vectors]
        before = build.block
        head, body, done = [f.function.append_basic_block(n) for n in ("head", "body", "done")]
        starts = [at(a, build.mul(row_step, number(r))) for r in range(rows)]
        build.branch(head)
        build.position_at_end(head)
        k, in_a, in_b = build.phi(I64), build.phi(I64), build.phi(PTR)
        totals = [[build.phi(vector) for _ in vectors] for _ in range(rows)]
        build.cbranch(build.icmp_signed("<", k, depth), body, done)
        build.position_at_end(body)
        right = [build.call(load, [at(in_b, number(v * lanes)), align, masks[v], zero]) for v in vectors]
        for phi, first, after in ((k, number(0), build.add(k, number(1))), (in_a, number(0), build.add(in_a, k_step)),
                                  (in_b, b, at(in_b, ldb))):
            phi.add_incoming(first, before)
            phi.add_incoming(after, body)
        for start, row in zip(starts, totals):
            one = spread(build.load(at(start, in_a), typ=element, align=size), vector)
            for v, total in enumerate(row):
                total.add_incoming(zero, before)
                total.add_incoming(multiply_add(module, build, one, right[v], total), body)
        build.branch(head)
        build.position_at_end(done)
        lines = [at(out, build.mul(ldo, number(r))) for r in range(rows)]
        fresh = build.icmp_signed("==", add, number(0))
        for v in vectors:
            places = [at(line, number(v * lanes)) for line in lines]
            whole = build.and_(fresh, build.icmp_signed(">=", columns, number((v + 1) * lanes)))
            with build.if_else(whole) as (then, other):
                with then:
                    for row, place in zip(totals, places):
                        build.store(row[v], place, align=size)
                with other, build.if_then(build.icmp_signed(">", columns, number(v * lanes))):
                    kept = build.select(spread(fresh, ir.VectorType(I1, lanes)), ir.Constant(masks[v].type, None), masks[v])
                    for row, place in zip(totals, places):
                        old = build.call(load, [place, align, kept, zero])
                        build.call(store, [build.fadd(row[v], old), place, align, masks[v]])
    return module.ir.globals[name]
