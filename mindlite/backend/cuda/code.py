"""Kernels for the threads of a GPU: from the LLVM IR of their parts to one kernel, and from that to PTX.

    text = kernel_text([part])                 LLVM IR: @kernel(i64 extent, i64 cost, i64, ..) runs over the blocks of its parts
    ptx(text, "sm_90")                          the text that NVIDIA's driver assembles; LLVM makes it, and needs nothing else

A part (`nvptx`, `library`) is the text of a module with two functions, `part(block, args..)` and
`blocks(args..)`, and begins with a line "; shared N": so many bytes its threads share (", M blocks": a multiprocessor should
hold so many). What a thread asks of its machine is declared there and defined here, in `ptx_rules` for a GPU, in `simulator` for
the CPU. The words of a kernel are 64 bits each and are handed over by value, in the order in which the Flow has them: the extent
of the parallel axis, what an item of it costs, then pointers, sizes and bits of doubles. Parts that need the extent have it as
their first word.
"""
import functools
import math
import re

from ...common.lazy import LazyModule
from ...common.once import once
from .. import object_code
from . import tensor_cores

llvm, ir = LazyModule("llvmlite.binding"), LazyModule("llvmlite.ir")
words = LazyModule("mindlite.backend.words")
TRIPLE = "nvptx64-nvidia-cuda"
MOST_THREADS = 256             # of a block
MOST_WORDS = 500               # of a kernel: CUDA takes 4096 bytes of parameters
ARCHITECTURES = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_100")

# What a thread asks, and the register of a GPU that says it.
REGISTERS = {"thread": "tid", "threads": "ntid", "own_block": "ctaid", "own_blocks": "nctaid"}


@functools.lru_cache(maxsize=None)
def ptx_rules():
    """The LLVM IR of what a thread asks of a GPU."""
    module, half, nothing = ir.Module("rules"), ir.IntType(32), words.NOTHING

    def write(name, result, arguments, value):
        function = ir.Function(module, ir.FunctionType(result, arguments), name)
        function.attributes.add("alwaysinline")
        function.attributes.add("convergent")
        b = ir.IRBuilder(function.append_basic_block())
        made = value(b, *function.args)
        b.ret_void() if result is nothing else b.ret(made)
    for name, register in REGISTERS.items():
        asked = f"llvm.nvvm.read.ptx.sreg.{register}.x"
        write(name, words.WORD, [], lambda b: b.zext(words.call(b, asked, result=half), words.WORD))
    write("barrier", nothing, [], lambda b: words.call(b, "llvm.nvvm.barrier0", result=nothing))
    write("warp_barrier", nothing, [], lambda b: words.call(b, "llvm.nvvm.bar.warp.sync", half(-1), result=nothing))
    write("to_bf16", ir.IntType(16), [ir.FloatType()], lambda b, x: b.asm(
        ir.FunctionType(ir.IntType(16), [ir.FloatType()]), "cvt.rn.bf16.f32 $0, $1;", "=h,f", [x], False))
    write("shuffle", half, [half, half], lambda b, x, distance: words.call(
        b, "llvm.nvvm.shfl.sync.bfly.i32", half(-1), x, distance, half(31), result=half))
    return str(module)


@functools.lru_cache(maxsize=None)
def function_text(name):
    """The LLVM IR of a function of the C library, one of FUNCTIONS.

    The remainder of a division, exact: the divisor, doubled as often as it fits, is taken away; each difference is exact.
    """
    type_, suffix = (ir.FloatType(), "f32") if name == "fmodf" else (ir.DoubleType(), "f64")
    module, zero = ir.Module(name), type_(0.0)
    function = ir.Function(module, ir.FunctionType(type_, [type_, type_]), name)
    x, y = function.args
    entry, outer, grow, take, done, none = map(function.append_basic_block, ("entry", "outer", "grow", "take", "done", "none"))
    b = ir.IRBuilder(entry)
    a, divisor = (words.call(b, f"llvm.fabs.{suffix}", v, result=type_) for v in (x, y))
    b.cbranch(b.and_(b.fcmp_ordered("<", a, type_(math.inf)), b.fcmp_ordered(">", divisor, zero)), outer, none)
    b.position_at_end(outer)
    rest = b.phi(type_)
    b.cbranch(b.fcmp_ordered(">=", rest, divisor), grow, done)
    b.position_at_end(grow)
    taken = b.phi(type_)
    twice = b.fadd(taken, taken)
    b.cbranch(b.fcmp_ordered("<=", twice, rest), grow, take)
    b.position_at_end(take)
    less = b.fsub(rest, taken)
    b.branch(outer)
    for phi, first, before, again, block in ((rest, a, entry, less, take), (taken, divisor, outer, twice, grow)):
        phi.add_incoming(first, before)
        phi.add_incoming(again, block)
    b.position_at_end(done)
    b.ret(words.call(b, f"llvm.copysign.{suffix}", rest, x, result=type_))
    b.position_at_end(none)
    b.ret(b.fadd(b.fdiv(zero, zero), y))
    return str(module)


FUNCTIONS = ("fmodf", "fmod")
HEAD = 2                       # words before those of the parts: the extent and what an item costs


def words_of(text, name="blocks"):
    """How many words a part takes, or the function with a name."""
    found, = re.findall(rf'^define.*@"?{name}"?\((.*?)\)', text, re.MULTILINE)
    return found.count("i64")


def kernel_text(parts, positions=None, extent=False):
    """The texts of a kernel, as a tuple for `linked`: (LLVM IR of @kernel, the distinct parts).

    parts  : texts of parts
    positions : for each part the positions of its words among the arguments of the kernel; by default one part takes all
    extent : the last word of the one part is the extent
    """
    if positions is None:
        taken = words_of(parts[0])
        positions = [[*range(taken - 1), -HEAD] if extent else range(taken)]
    positions = [[position + HEAD for position in own] for own in positions]
    count = max([HEAD, *(position + 1 for own in positions for position in own)])
    distinct = list(dict.fromkeys(parts))
    heads = [part.split("\n", 1)[0].removeprefix("; shared ").removesuffix(" blocks").split(", ") for part in parts]
    shared, blocks = max(int(head[0]) for head in heads), [int(head[1]) for head in heads if len(head) > 1]
    module = ir.Module("kernel")
    room = ir.GlobalVariable(module, ir.ArrayType(ir.IntType(8), max(shared, 8)), "shared", addrspace=3)
    room.initializer, room.align = ir.Constant(room.value_type, ir.Undefined), 16
    function = ir.Function(module, ir.FunctionType(words.NOTHING, [words.WORD] * count), "kernel")
    module.add_named_metadata("nvvm.annotations").add(
        module.add_metadata([function, "maxntidx", ir.IntType(32)(MOST_THREADS)]))
    if blocks:
        module.add_named_metadata("nvvm.annotations").add(
            module.add_metadata([function, "minctasm", ir.IntType(32)(min(blocks))]))
    given = [[function.args[position] for position in own] for own in positions]
    b = ir.IRBuilder(function.append_basic_block("entry"))
    first, step, ends = words.call(b, "own_block"), words.call(b, "own_blocks"), [words.word(0)]
    for part, own in zip(parts, given):
        ends.append(b.add(ends[-1], words.call(b, f"blocks{distinct.index(part)}", *own)))
    entry, (head, again, done) = b.block, map(function.append_basic_block, ("head", "again", "done"))
    b.branch(head)
    b.position_at_end(head)
    block = b.phi(words.WORD)
    block.add_incoming(first, entry)
    tests = [function.append_basic_block("test") for _ in parts]
    b.cbranch(b.icmp_signed("<", block, ends[-1]), tests[0], done)
    for k, (part, own) in enumerate(zip(parts, given)):
        b.position_at_end(tests[k])
        mine = function.append_basic_block("do")
        b.cbranch(b.icmp_signed("<", block, ends[k + 1]), mine, (*tests, again)[k + 1])
        b.position_at_end(mine)
        words.call(b, f"part{distinct.index(part)}", b.sub(block, ends[k]), *own, result=words.NOTHING)
        b.branch(again)
    b.position_at_end(again)
    block.add_incoming(b.add(block, step), again)
    b.branch(head)
    b.position_at_end(done)
    b.ret_void()
    renamed = tuple(re.sub(r'@"?(part|blocks)"?\(', rf"@\g<1>{number}(", part) for number, part in enumerate(distinct))
    return str(module), renamed


def linked(texts, rules, together, machine, entry="kernel"):
    """The LLVM module of a kernel: its texts and what a thread asks, as one, optimised for a target machine.

    texts : of `kernel_text`;   rules: LLVM IR;   together: () -> that of `tensor_cores`, asked for where a part needs it
    Everything but its entry is internal
    """
    main, parts = texts
    module = llvm.parse_assembly(main)
    for part in parts:
        module.link_in(llvm.parse_assembly(part))
    if any(f.name in tensor_cores.NAMES for f in module.functions):
        module.link_in(llvm.parse_assembly(together()))
    module.link_in(llvm.parse_assembly(rules))
    for name in FUNCTIONS:
        if any(f.name == name for f in module.functions):
            module.link_in(llvm.parse_assembly(function_text(name)))
    for thing in (*module.functions, *module.global_variables):
        if not thing.is_declaration and thing.name != entry:
            thing.linkage = llvm.Linkage.internal
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    module.verify()
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization = tuning.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
    return module


@once
def _target():
    object_code.initialise()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(TRIPLE)


def ptx(texts, architecture):
    """The PTX of a kernel, its entry named `kernel`.

    texts        : of `kernel_text`
    architecture : "sm_90": the compute capability that it is for, one of ARCHITECTURES or another that LLVM knows
    """
    main, parts = texts
    main = main.replace('define void @"kernel"(', 'define ptx_kernel void @"kernel"(')
    with object_code.lock:
        machine = _target().create_target_machine(cpu=architecture, opt=3)
        return machine.emit_assembly(linked((main, parts), ptx_rules(), tensor_cores.ptx_rules, machine))
