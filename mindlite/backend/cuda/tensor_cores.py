"""What the threads of a warp do together for products of halves: multiply tiles, load them, copy beside the work.

A kernel declares these functions by name, and they are linked in where it does: `ptx_rules` for a GPU, `simulated_rules` for the
simulator, whose threads tell each other their parts of a tile around a barrier.

    mma_bf16, mma_f16   d = a b + c: a 16 x 16, b 16 x 8, c and d 16 x 8 numbers of float32
    tile, tile_turned   four matrices of 8 x 8 halves from shared memory, each as it lies or transposed; a thread of the warp says
                        where one of the 32 rows begins: where the block's shared memory is, and the bytes from there on
    copy16, copy4       bytes from global to shared memory (the same two) beside the work; the last argument says how many there
                        are: 0 writes zeros
    copies_asked        what was asked for before belongs together;   copies_but_one, copies_all: wait for all groups but the last
    pack_bf16, pack_f16 two numbers of float32 as halves, the first in the low bits
    exp2, log2          approximate, as the GPU has them

source : NVIDIA, PTX ISA, "Matrix multiply-accumulate operation using mma instruction" (fragments of m16n8k16), "ldmatrix"
"""
import ctypes
import ctypes.util
import functools

from ...common import dtype as dt
from ...common.lazy import LazyModule
from .. import narrow_floats

ir, words = LazyModule("llvmlite.ir"), LazyModule("mindlite.backend.words")
MATHEMATICS = ("exp2f", "log2f")                             # functions of the C library that the simulator asks for


@functools.lru_cache(maxsize=None)
def signatures():
    """{name: (result, arguments)} as LLVM types."""
    i64, i32, f32, nothing = ir.IntType(64), ir.IntType(32), ir.FloatType(), words.NOTHING
    four, numbers = ir.LiteralStructType([i32] * 4), ir.LiteralStructType([f32] * 4)
    return {"mma_bf16": (numbers, [i32] * 6 + [f32] * 4), "mma_f16": (numbers, [i32] * 6 + [f32] * 4),
            "tile": (four, [i64, i32]), "tile_turned": (four, [i64, i32]),
            "copy16": (nothing, [i64, i32, i64, i32]), "copy4": (nothing, [i64, i32, i64, i32]),
            "copies_asked": (nothing, []), "copies_but_one": (nothing, []), "copies_all": (nothing, []),
            "pack_bf16": (i32, [f32, f32]), "pack_f16": (i32, [f32, f32]), "exp2": (f32, [f32]), "log2": (f32, [f32])}


# {name: (assembler, constraints, it has effects)}
_ASSEMBLER = {
    **{f"mma_{kind}": (f"mma.sync.aligned.m16n8k16.row.col.f32.{kind}.{kind}.f32 {{$0,$1,$2,$3}}, {{$4,$5,$6,$7}}, {{$8,$9}}, "
                       "{$0,$1,$2,$3};", "=f,=f,=f,=f,r,r,r,r,r,r,0,1,2,3", False) for kind in ("bf16", "f16")},
    "tile": ("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0,$1,$2,$3}, [$4];", "=r,=r,=r,=r,r,~{memory}", True),
    "tile_turned": ("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {$0,$1,$2,$3}, [$4];", "=r,=r,=r,=r,r,~{memory}", True),
    "copy16": ("cp.async.cg.shared.global [$0], [$1], 16, $2;", "r,l,r,~{memory}", True),
    "copy4": ("cp.async.ca.shared.global [$0], [$1], 4, $2;", "r,l,r,~{memory}", True),
    "copies_asked": ("cp.async.commit_group;", "~{memory}", True),
    "copies_but_one": ("cp.async.wait_group 1;", "~{memory}", True),
    "copies_all": ("cp.async.wait_group 0;", "~{memory}", True),
    "pack_bf16": ("cvt.rn.bf16x2.f32 $0, $2, $1;", "=r,f,f", False),
    "pack_f16": ("cvt.rn.f16x2.f32 $0, $2, $1;", "=r,f,f", False),
    "exp2": ("ex2.approx.ftz.f32 $0, $1;", "=f,f", False),
    "log2": ("lg2.approx.f32 $0, $1;", "=f,f", False)}
NAMES = frozenset(_ASSEMBLER)
_AT_SHARED = ("tile", "tile_turned", "copy16", "copy4")      # to the assembler, an address there has 32 bits


def _functions(module, bodies, inlined):
    """Write each function: bodies(name) -> a function of (builder, *arguments) that gives its value."""
    for name, (result, arguments) in signatures().items():
        function = ir.Function(module, ir.FunctionType(result, arguments), name)
        function.attributes.add("alwaysinline" if inlined else "noinline")
        function.attributes.add("convergent")
        b = ir.IRBuilder(function.append_basic_block())
        made = bodies(name)(b, *function.args)
        b.ret_void() if result is words.NOTHING else b.ret(made)
    return str(module)


@functools.lru_cache(maxsize=None)
def ptx_rules():
    """The LLVM IR of these functions for a GPU."""
    def body(name):
        text, constraints, effects = _ASSEMBLER[name]

        def write(b, *args):
            given = [b.add(b.trunc(args[0], ir.IntType(32)), args[1]), *args[2:]] if name in _AT_SHARED else args
            return b.asm(ir.FunctionType(signatures()[name][0], [x.type for x in given]), text, constraints, given, effects)
        return write
    return _functions(ir.Module("tensor_cores"), body, True)


# ---------------------------------------------------------------- the simulator

@functools.lru_cache(maxsize=None)
def simulator_symbols():
    """{name: address} of what `simulated_rules` asks of the C library."""
    library = ctypes.CDLL(ctypes.util.find_library("m"))
    return {name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in MATHEMATICS}


@functools.lru_cache(maxsize=None)
def simulated_rules(threads):
    """The LLVM IR of these functions for the simulator. threads: the most of a block"""
    module = ir.Module("tensor_cores")
    i16, i32, i64, f32 = ir.IntType(16), ir.IntType(32), ir.IntType(64), ir.FloatType()
    said = ir.GlobalVariable(module, ir.ArrayType(i64, threads * 8), "said")     # 8 words of each thread
    said.linkage, said.initializer = "internal", ir.Constant(said.value_type, None)
    pointer = ir.PointerType()

    def spoken(b, thread, k):
        """The address of the word k of a thread."""
        return b.gep(said, [i64(0), b.add(b.mul(thread, i64(8)), i64(k))])

    def in_warp(b):
        """(this thread, the first one of its warp, its number there)"""
        thread = words.call(b, "thread")
        return thread, b.and_(thread, i64(-32)), b.and_(thread, i64(31))

    def tell(b, thread, *values):
        for k, value in enumerate(values):
            b.store(value if value.type == i64 else b.zext(value, i64), spoken(b, thread, k))
        words.call(b, "barrier", result=words.NOTHING)

    def loaded(turned):
        def write(b, base, offset):
            thread, first, lane = in_warp(b)
            tell(b, thread, b.add(base, b.zext(offset, i64)))
            four, pair = b.lshr(lane, i64(2)), b.and_(lane, i64(3))
            made = ir.Constant(signatures()["tile"][0], ir.Undefined)
            for matrix in range(4):
                parts = []
                for half in range(2):
                    row, column = (b.add(b.shl(pair, i64(1)), i64(half)), four) if turned else (
                        four, b.add(b.shl(pair, i64(1)), i64(half)))
                    begins = b.load(spoken(b, b.add(first, b.add(row, i64(8 * matrix))), 0), typ=i64)
                    place = b.inttoptr(b.add(begins, b.shl(column, i64(1))), pointer)
                    parts.append(b.zext(b.load(place, typ=i16), i32))
                made = b.insert_value(made, b.or_(parts[0], b.shl(parts[1], i32(16))), matrix)
            words.call(b, "barrier", result=words.NOTHING)
            return made
        return write

    def widened(b, bits, kind):
        if kind == "f16":
            return b.fpext(b.bitcast(bits, ir.HalfType()), f32)
        return b.bitcast(b.shl(b.zext(bits, i32), i32(16)), f32)

    def multiplied(kind):
        def write(b, *args):
            thread, first, lane = in_warp(b)
            tell(b, thread, *args[:6])
            four, pair = b.lshr(lane, i64(2)), b.and_(lane, i64(3))

            def number(line, k, register):
                """The number of a or b that the thread of a line has for k."""
                held = b.load(spoken(b, b.add(first, b.add(b.shl(line, i64(2)), i64(k % 8 // 2))), register), typ=i64)
                return widened(b, b.trunc(b.lshr(held, i64(16 * (k % 2))), i16), kind)
            made = ir.Constant(signatures()["mma_f16"][0], ir.Undefined)
            for k in range(4):
                line, column = k // 2, b.add(b.shl(pair, i64(1)), i64(k % 2))
                total = args[6 + k]
                for j in range(16):
                    total = b.fadd(total, b.fmul(number(four, j, line + 2 * (j // 8)), number(column, j, 4 + j // 8)))
                made = b.insert_value(made, total, k)
            words.call(b, "barrier", result=words.NOTHING)
            return made
        return write

    def copied(count):
        def write(b, base, offset, source, given):
            to, kind = b.inttoptr(b.add(base, b.zext(offset, i64)), pointer), ir.IntType(8 * count)
            source = b.inttoptr(source, pointer)
            with b.if_else(b.icmp_signed("==", given, i32(0))) as (none, some):
                with none:
                    b.store(kind(0), to, align=4)
                with some:
                    b.store(b.load(source, typ=kind, align=4), to, align=4)
        return write

    def packed(dtype):
        def write(b, low, high):
            low, high = (b.zext(narrow_floats.narrow(b, x, dt.bfloat16) if dtype is dt.bfloat16 else
                                b.bitcast(b.fptrunc(x, ir.HalfType()), i16), i32) for x in (low, high))
            return b.or_(low, b.shl(high, i32(16)))
        return write

    def asked(name):
        function = ir.Function(module, ir.FunctionType(f32, [f32]), name)
        return lambda b, x: b.call(function, [x])
    bodies = {"mma_bf16": multiplied("bf16"), "mma_f16": multiplied("f16"), "tile": loaded(False), "tile_turned": loaded(True),
              "copy16": copied(16), "copy4": copied(4), "pack_bf16": packed(dt.bfloat16), "pack_f16": packed(dt.float16),
              "exp2": asked("exp2f"), "log2": asked("log2f")}
    return _functions(module, lambda name: bodies.get(name, lambda b: None), False)
