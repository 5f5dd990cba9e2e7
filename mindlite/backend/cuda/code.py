"""Kernels for the threads of a GPU: from the LLVM IR of their parts to one kernel, and from that to PTX.

    text = kernel_text([part])                 LLVM IR: @kernel(i64 extent, i64 cost, i64, ..) runs over the blocks of its parts
    ptx(text, "sm_90")                          the text that NVIDIA's driver assembles; LLVM alone makes it

A part (`nvptx`, `library`) is the text of a module with two functions, `part(block, args..)` and
`blocks(args..)`, and begins with a line "; shared N": so many bytes its threads share. What a thread asks of its machine is
declared there and defined here, in PTX_RULES for a GPU, in `simulator` for the CPU. The words of a kernel are 64 bits each
and are handed over by value, in the order in which the Flow has them: the extent of the parallel axis, what an item of it
costs, then pointers, sizes and bits of doubles. Parts that need the extent have it as their first word.
"""
import functools
import re

from ...common.lazy import LazyModule
from .. import object_code

llvm = LazyModule("llvmlite.binding")
TRIPLE = "nvptx64-nvidia-cuda"
MOST_THREADS = 256             # of a block
MOST_WORDS = 500               # of a kernel: CUDA takes 4096 bytes of parameters
ARCHITECTURES = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_100")

# What a thread asks, on a GPU.
PTX_RULES = """
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
declare void @llvm.nvvm.barrier0()
declare void @llvm.nvvm.bar.warp.sync(i32)
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
define i64 @thread() alwaysinline { %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x() %y = zext i32 %x to i64 ret i64 %y }
define i64 @threads() alwaysinline { %x = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x() %y = zext i32 %x to i64 ret i64 %y }
define i64 @own_block() alwaysinline { %x = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() %y = zext i32 %x to i64 ret i64 %y }
define i64 @own_blocks() alwaysinline { %x = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x() %y = zext i32 %x to i64 ret i64 %y }
define void @barrier() alwaysinline convergent { call void @llvm.nvvm.barrier0() ret void }
define void @warp_barrier() alwaysinline convergent { call void @llvm.nvvm.bar.warp.sync(i32 -1) ret void }
define i32 @shuffle(i32 %x, i32 %distance) alwaysinline convergent {
  %y = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %x, i32 %distance, i32 31) ret i32 %y }
"""
# The remainder of a division, exact: the divisor, doubled as often as it fits, is taken away; each difference is exact.
_FMOD = """
define {t} @{name}({t} %x, {t} %y) {{
entry:
  %a = call {t} @llvm.fabs.{s}({t} %x)
  %b = call {t} @llvm.fabs.{s}({t} %y)
  %finite = fcmp olt {t} %a, {inf}
  %divides = fcmp ogt {t} %b, {zero}
  %fine = and i1 %finite, %divides
  br i1 %fine, label %outer, label %none
outer:
  %r = phi {t} [ %a, %entry ], [ %less, %take ]
  %more = fcmp oge {t} %r, %b
  br i1 %more, label %grow, label %done
grow:
  %d = phi {t} [ %b, %outer ], [ %twice, %grow ]
  %twice = fadd {t} %d, %d
  %fits = fcmp ole {t} %twice, %r
  br i1 %fits, label %grow, label %take
take:
  %less = fsub {t} %r, %d
  br label %outer
done:
  %signed = call {t} @llvm.copysign.{s}({t} %r, {t} %x)
  ret {t} %signed
none:
  %nan = fdiv {t} {zero}, {zero}
  %odd = fadd {t} %nan, %y
  ret {t} %odd
}}
declare {t} @llvm.fabs.{s}({t})
declare {t} @llvm.copysign.{s}({t}, {t})
"""
FUNCTIONS = {"fmodf": _FMOD.format(t="float", s="f32", name="fmodf", inf="0x7FF0000000000000", zero="0.0"),
             "fmod": _FMOD.format(t="double", s="f64", name="fmod", inf="0x7FF0000000000000", zero="0.0")}


HEAD = 2                       # words before those of the parts: the extent and what an item costs


def words_of(part):
    """How many words a part takes."""
    found, = re.findall(r'^define.*@"?blocks"?\((.*?)\)', part, re.MULTILINE)
    return found.count("i64")


def kernel_text(parts, places=None, extent=False):
    """The texts of a kernel, as a tuple for `linked`: (LLVM IR of @kernel, the distinct parts).

    parts  : texts of parts
    places : for each part the places of its words among the arguments of the kernel; by default one part takes all
    extent : the last word of the one part is the extent
    """
    if places is None:
        count = words_of(parts[0])
        places = [[*range(count - 1), -HEAD] if extent else range(count)]
    places = [[place + HEAD for place in own] for own in places]
    words = max([HEAD, *(place + 1 for own in places for place in own)])
    distinct = list(dict.fromkeys(parts))
    shared = max(int(part.split("\n", 1)[0].removeprefix("; shared ")) for part in parts)
    args = [f"i64 %a{k}" for k in range(words)]
    lines = [f"@shared = addrspace(3) global [{max(shared, 8)} x i8] undef, align 16",
             "declare i64 @own_block()", "declare i64 @own_blocks()"]
    for number, part in enumerate(distinct):
        count = len(places[parts.index(part)])
        lines += [f"declare void @part{number}({', '.join(['i64'] * (count + 1))})",
                  f"declare i64 @blocks{number}({', '.join(['i64'] * count)})"]
    lines += [f"define void @kernel({', '.join(args)}) {{", "entry:",
              "  %first = call i64 @own_block()", "  %step = call i64 @own_blocks()"]
    total = "0"
    for k, (part, own) in enumerate(zip(parts, places)):
        given = ", ".join(f"i64 %a{place}" for place in own)
        lines += [f"  %n{k} = call i64 @blocks{distinct.index(part)}({given})", f"  %e{k} = add i64 {total}, %n{k}"]
        total = f"%e{k}"
    lines += ["  br label %head", "head:", "  %b = phi i64 [ %first, %entry ], [ %next, %again ]",
              f"  %more = icmp slt i64 %b, {total}", "  br i1 %more, label %test0, label %done"]
    start = "0"
    for k, (part, own) in enumerate(zip(parts, places)):
        given = ", ".join(f"i64 %a{place}" for place in own)
        after = f"test{k + 1}" if k + 1 < len(parts) else "again"
        lines += [
            f"test{k}:", f"  %mine{k} = icmp slt i64 %b, %e{k}", f"  br i1 %mine{k}, label %do{k}, label %{after}",
            f"do{k}:", f"  %b{k} = sub i64 %b, {start}",
            f"  call void @part{distinct.index(part)}({', '.join(filter(None, [f'i64 %b{k}', given]))})", "  br label %again"]
        start = f"%e{k}"
    lines += ["again:", "  %next = add i64 %b, %step", "  br label %head", "done:", "  ret void", "}"]
    renamed = tuple(re.sub(r'@"?(part|blocks)"?\(', rf"@\g<1>{number}(", part) for number, part in enumerate(distinct))
    return "\n".join(lines), renamed


def linked(texts, rules, machine, entry="kernel"):
    """The LLVM module of a kernel: its texts and what a thread asks, as one, optimised for a target machine.

    texts : of `kernel_text`;   rules: LLVM IR. Everything but its entry is internal
    """
    main, parts = texts
    module = llvm.parse_assembly(main)
    for part in parts:
        module.link_in(llvm.parse_assembly(part))
    module.link_in(llvm.parse_assembly(rules))
    for name, text in FUNCTIONS.items():
        if any(f.name == name for f in module.functions):
            module.link_in(llvm.parse_assembly(text))
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


@functools.lru_cache(maxsize=None)
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
    main = main.replace("define void @kernel(", "define ptx_kernel void @kernel(") + (
        "\n!nvvm.annotations = !{!0}\n!0 = !{ptr @kernel, !\"maxntidx\", i32 " + f"{MOST_THREADS}}}\n")
    with object_code.lock:
        machine = _target().create_target_machine(cpu=architecture, opt=3)
        return machine.emit_assembly(linked((main, parts), PTX_RULES, machine))
