"""The register tile: a product so small that its result stays in registers. All products and convolutions end in it.

    tile :  c[r, j] (+)= sum over k of a[k, r] b[k, j]      6 rows x 2 vectors of 8 float32 with AVX2

`tile` takes a *packed* left operand: panels of `rows` rows, [k][row], so that each step of k reads two vectors of b and
broadcasts the rows' numbers one after the other: 12 multiply-adds for 9 loads, all of a core's rate (Goto & van de
Geijn 2008; Van Zee & van de Geijn 2015). The rows of b may stand anywhere (`offsets`), and each vector begins where it
likes (`strip`), so a convolution can read its picture where it is. Measured with AVX2 and operands in the second-level
cache: 97 % of the rate of multiply-adds.

The number of rows and vectors depends on how many registers there are: 12 accumulators and 3 more of 16, or 24 of 32.
"""
import functools
import itertools
from dataclasses import dataclass

from llvmlite import ir

from ...common.dtype import dtype as to_dtype
from ...common.once import once
from ..loops import loop_hint
from .native import I1, I8, I32, I64, LIBRARIES, PTR, Module, Value, code_of, compute_type


@dataclass(frozen=True)
class Shape:
    """The shape of the tile for a dtype: rows, vectors in a row, lanes of a vector; columns = vectors * lanes."""
    rows: int
    vectors: int
    lanes: int

    @property
    def columns(self):
        """How many columns the tile has."""
        return self.vectors * self.lanes

    def whole(self, count):
        """The least number of columns of whole tiles that is not below `count`: blocks of so many begin where a tile does,
        wherever a chunk begins."""
        return -(-count // self.columns) * self.columns


@functools.cache
def tile_shape(dtype, target):
    """The Shape for float32 or float64."""
    return Shape(target.tile_rows, target.tile_vectors, target.lanes * 4 // dtype.itemsize)


@once
def tile_code(dtype, target):
    """The machine code of `tile` for a dtype, compiled once for all kernels that use it."""
    return code_of(write_tile, dtype, target=target, passes=0)[1]


LIBRARIES["mindlite_tile_"] = lambda short, target: tile_code(to_dtype(short), target).address("tile")
TILE_ARGUMENTS = [I64, I64, PTR, PTR, PTR, I64, I64]


def external_tile(module, dtype):
    """`tile` for use in `module`."""
    return module.external(f"mindlite_tile_{dtype.short}", ir.VoidType(), TILE_ARGUMENTS)


def write_tile(target, dtype):
    """The Module of tile(rows, depth, a, offsets, strip, c_step, add): the rows of all panels, for the vectors of one strip.

    a       : panels of shape.rows rows, the last one has what is left; [depth][rows of the panel] each
    strip   : for each of shape.vectors vectors 3 int64: addresses of b and of c, and how many lanes count
    offsets : int64; row k of b stands offsets[k] elements behind the vector's address; whole vectors are read
    c_step  : elements from row to row of c, where only the lanes that count are written
    add     : 1 adds to what stands there
    """
    module, shape = Module(f"tile_{dtype.short}", target), tile_shape(dtype, target)
    parts = [write_rows(module, dtype, shape, rows + 1) for rows in range(shape.rows)]
    with module.function("tile", TILE_ARGUMENTS) as f:
        rows, depth, a, offsets, strip, c_step, add = f.parameters
        size = dtype.itemsize
        rest = [f.function.append_basic_block(f"rows{n + 1}") for n in range(shape.rows - 1)]
        end = f.function.append_basic_block("end")
        panel, skipped = f.variable(PTR, a), f.variable(I64, 0)
        whole = rows // shape.rows
        with f.loop(0, whole):
            f.call(parts[-1], depth, panel.get(), offsets, strip, c_step, skipped.get(), add)
            panel.set(Value(f, f.builder.gep(panel.get().ir, [(depth * (shape.rows * size)).ir], source_etype=I8)))
            skipped.set(skipped.get() + c_step * shape.rows)
        switch = f.builder.switch((rows - whole * shape.rows).ir, end)
        for n, block in enumerate(rest):
            switch.add_case(ir.Constant(I64, n + 1), block)
            f.builder.position_at_end(block)
            f.call(parts[n], depth, panel.get(), offsets, strip, c_step, skipped.get(), add)
            f.builder.branch(end)
        f.builder.position_at_end(end)
    return module


def write_rows(module, dtype, shape, rows):
    """The tile of exactly so many rows; `skipped`: elements of c above its first row."""
    element, lanes, vectors = compute_type(dtype), shape.lanes, range(shape.vectors)
    vector, size = ir.VectorType(element, lanes), dtype.itemsize
    with module.function(f"rows{rows}", [I64, PTR, PTR, PTR, I64, I64, I64], inline=True) as f:
        depth, a, offsets, strip, c_step, skipped, add = (p.ir for p in f.parameters)
        build = f.builder

        def number(value, kind=I64):
            return ir.Constant(kind, value)

        def fetched(base, index, kind, step=element, align=8):
            return build.load(build.gep(base, [index], source_etype=step), typ=kind, align=align)

        bases = [fetched(strip, number(3 * v), PTR, I64) for v in vectors]
        counts = [fetched(strip, number(3 * v + 2), I64, I64) for v in vectors]

        def targets():
            """Where each vector of c stands: computed anew before and after the loop, which needs all registers."""
            lines = [build.gep(fetched(strip, number(3 * v + 1), PTR, I64), [skipped], source_etype=element)
                     for v in vectors]
            return [[build.gep(line, [build.mul(c_step, number(r))], source_etype=element) for line in lines]
                    for r in range(rows)]
        masks = [first_lanes(build, count, lanes) for count in counts]
        load, store = masked(module, "load", vector, element), masked(module, "store", vector, element)
        zero, align = ir.Constant(vector, None), number(size, I32)
        with build.if_else(build.icmp_signed("!=", add, number(0))) as (then, other):
            with then:
                before = targets()
                old = [[build.call(load, [before[r][v], align, masks[v], zero]) for v in vectors] for r in range(rows)]
                adding = build.block
            with other:
                storing = build.block
        start = [build.phi(vector) for _ in range(rows) for _ in vectors]
        for phi, value in zip(start, itertools.chain(*old)):
            phi.add_incoming(value, adding)
            phi.add_incoming(zero, storing)

        def step(k, carried):
            at_a, *totals = carried
            offset = fetched(offsets, k, I64, I64)
            right = [fetched(base, offset, vector, align=size) for base in bases]
            yield build.gep(at_a, [number(rows)], source_etype=element)
            for r in range(rows):
                left = spread(build, fetched(at_a, number(r), element, align=size), vector)
                for v in vectors:
                    yield multiply_add(module, build, left, right[v], totals[r * shape.vectors + v])
        _, *totals = folded(f, depth, [a, *start], step)
        after = [*itertools.chain(*targets())]
        full = functools.reduce(build.and_, [build.icmp_signed("==", count, number(lanes)) for count in counts])
        with build.if_else(full) as (then, other):
            with then:
                for total, there in zip(totals, after):
                    build.store(total, there, align=size)
            with other:
                for total, there, mask in zip(totals, after, masks * rows):
                    build.call(store, [total, there, align, mask])
    return module.ir.globals[f"rows{rows}"]


def folded(f, count, start, step, by=1):
    """LLVM values that are carried through a loop over k in range(0, count, by), from `start` on: step(k, them) gives the next
    ones. Nothing of it is vectorised or unrolled. count: an LLVM value"""
    build, before = f.builder, f.builder.block
    head, body, done = (f.function.append_basic_block(n) for n in ("head", "body", "done"))
    build.branch(head)
    build.position_at_end(head)
    k, carried = build.phi(I64), [build.phi(value.type) for value in start]
    build.cbranch(build.icmp_signed("<", k, count), body, done)
    build.position_at_end(body)
    made = list(step(k, carried))
    for phi, first, after in zip((k, *carried), (ir.Constant(I64, 0), *start), (build.add(k, ir.Constant(I64, by)), *made)):
        phi.add_incoming(first, before)
        phi.add_incoming(after, build.block)
    build.branch(head).set_metadata("llvm.loop", loop_hint(f.module.ir, "rare"))
    build.position_at_end(done)
    return carried


def spread(build, value, kind):
    """A number in all lanes of a vector type."""
    one = build.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(I32, 0))
    return build.shuffle_vector(one, one, ir.Constant(ir.VectorType(I32, kind.count), [0] * kind.count))


def lane_numbers(lanes):
    """The vector of 0, 1, .."""
    return ir.Constant(ir.VectorType(I32, lanes), list(range(lanes)))


def first_lanes(build, count, lanes):
    """The mask of the first `count` lanes, an LLVM value of 64 bits."""
    kind = ir.VectorType(I32, lanes)
    return build.icmp_signed("<", lane_numbers(lanes), spread(build, build.trunc(count, I32), kind))


def multiply_add(module, build, a, b, c):
    """a * b + c, rounded once where the CPU can."""
    suffix = f"v{a.type.count}f{32 if isinstance(a.type.element, ir.FloatType) else 64}"
    return build.call(module.external(f"llvm.fmuladd.{suffix}", a.type, [a.type] * 3), [a, b, c])


def masked(module, what, vector, element):
    """LLVM's masked load or store of a vector."""
    kind = "f32" if isinstance(element, ir.FloatType) else "f64"
    mask = ir.VectorType(I1, vector.count)
    if what == "load":
        return module.external(f"llvm.masked.load.v{vector.count}{kind}.p0", vector, [PTR, I32, mask, vector])
    return module.external(f"llvm.masked.store.v{vector.count}{kind}.p0", ir.VoidType(), [vector, PTR, I32, mask])
