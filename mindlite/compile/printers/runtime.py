"""What all three printers share at run time: the context, the pool of blocks, tapes, outputs, the trace.

A *context* is a vector of i64 that one run works with; the constants below name its places. The functions here are
written once, in LLVM IR, compiled once and kept on disk; native code and the register machine call them directly,
Python through ctypes. So storages, tapes and traces cannot differ between printers.

    rt_static(context, first, count, nbytes, avoid*, navoid) -> pointer       a planned storage, 0 if nbytes is more than planned
    rt_alloc(context, slots*, count, nbytes, avoid*, navoid, id) -> pointer   a dynamic one, 0 if there is no memory
    rt_kill_static(context, first, count)   rt_kill(context, slots*, count, id)
    rt_tape_new(context) -> tape   rt_tape_push(tape, from*, nbytes) -> 0 or 1   rt_tape_pop(tape) -> pointer or 0
    rt_output(context, index, from*, nbytes, dims*, ndims) -> 0 or 1
    rt_end(context)   ends a run: tapes freed, blocks free for the next run      rt_clear(context)   frees the pool

A block of the pool is malloc'ed with a head of 64 bytes before its data: [nbytes, capacity, in use, next, malloc's
pointer]. A tape is [base, length, capacity, next]; a record is its bytes, padded to 16, and 16 bytes with their
number. LIFO order; a push may move the whole tape, which is why what was popped is valid until the next push only.
"""
import ctypes
import functools

from ...backend import narrow_floats
from ...backend.machine_code import c_address, compile_made

# places in the context
TABLE = 1             # -> [address, bytes] of each planned storage, then the handles
POOL = 2              # -> first block
TAPES = 3             # -> first tape
CALLBACK = 4          # address of the Python callback, (index, args*, results*) -> status
DEPTH, LIMIT = 5, 6   # calls of Flows that are open, and how many may be
FAIL_SITE, FAIL_STATUS = 7, 8
POOL_USED, POOL_PEAK, POOL_TOTAL = 9, 10, 11
TRACE, TRACE_LENGTH, TRACE_CAPACITY = 12, 13, 14        # events: 1 alloc or 0 kill, id, offset or -1, bytes
VERIFY = 15
OUTPUTS = 16          # -> records of OUTPUT_RECORD numbers: pointer, bytes, number of dims, dims
KERNELS = 17          # -> addresses of kernels (native: and then of constant arrays)
ARENA = 18
LAUNCHER = 19         # address of the launcher
CODE, FRAME, RESULTS = 20, 21, 22                       # register machine: -> table, size of a frame, results
FAIL_VALUES = 24      # values of a failed Check
MAX_VALUES = 16
PARAMS = 40
MAX_DIMS = 12
OUTPUT_RECORD = 3 + MAX_DIMS

SYMBOLS = {f"ml_{name}": name for name in
           ("malloc", "free", "realloc", "pow", "exp", "log", "sin", "cos", "tanh", "fmod")}


DECLARATIONS = """
declare ptr @ml_malloc(i64)
declare void @ml_free(ptr)
declare ptr @ml_realloc(ptr, i64)
declare double @ml_pow(double, double)
declare double @ml_exp(double)
declare double @ml_log(double)
declare double @ml_sin(double)
declare double @ml_cos(double)
declare double @ml_tanh(double)
declare double @ml_fmod(double, double)
declare double @llvm.fabs.f64(double)
declare double @llvm.floor.f64(double)
declare double @llvm.sqrt.f64(double)
declare double @llvm.copysign.f64(double, double)
declare i64 @llvm.fptosi.sat.i64.f64(double)
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.abs.i64(i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
"""

# Arithmetic that needs more than one instruction: inlined by the passes, the same code for every printer.
ARITHMETIC = """
define i64 @rt_floordiv(i64 %a, i64 %b) alwaysinline {
  %zero = icmp eq i64 %b, 0
  %minus = icmp eq i64 %b, -1
  %special = or i1 %zero, %minus
  %divisor = select i1 %special, i64 1, i64 %b
  %q = sdiv i64 %a, %divisor
  %r = srem i64 %a, %divisor
  %inexact = icmp ne i64 %r, 0
  %signs = xor i64 %r, %divisor
  %differ = icmp slt i64 %signs, 0
  %down = and i1 %inexact, %differ
  %one = zext i1 %down to i64
  %floored = sub i64 %q, %one
  %negated = sub i64 0, %a
  %x = select i1 %minus, i64 %negated, i64 %floored
  %y = select i1 %zero, i64 0, i64 %x
  ret i64 %y
}
define i64 @rt_mod(i64 %a, i64 %b) alwaysinline {
  %zero = icmp eq i64 %b, 0
  %minus = icmp eq i64 %b, -1
  %special = or i1 %zero, %minus
  %divisor = select i1 %special, i64 1, i64 %b
  %r = srem i64 %a, %divisor
  %inexact = icmp ne i64 %r, 0
  %signs = xor i64 %r, %divisor
  %differ = icmp slt i64 %signs, 0
  %up = and i1 %inexact, %differ
  %add = select i1 %up, i64 %divisor, i64 0
  %x = add i64 %r, %add
  ret i64 %x
}
define i64 @rt_shl(i64 %a, i64 %b) alwaysinline {
  %big = icmp ugt i64 %b, 63
  %n = and i64 %b, 63
  %x = shl i64 %a, %n
  %y = select i1 %big, i64 0, i64 %x
  ret i64 %y
}
define i64 @rt_shr(i64 %a, i64 %b) alwaysinline {
  %big = icmp ugt i64 %b, 63
  %n = select i1 %big, i64 63, i64 %b
  %x = ashr i64 %a, %n
  ret i64 %x
}
define double @rt_fdiv(double %a, double %b) alwaysinline {
  %x = fdiv double %a, %b
  ret double %x
}
define double @rt_fsqrt(double %a) alwaysinline {
  %x = call double @llvm.sqrt.f64(double %a)
  ret double %x
}
define double @rt_fmod(double %a, double %b) {
  %m = call double @ml_fmod(double %a, double %b)
  %zero = fcmp oeq double %m, 0.0
  br i1 %zero, label %exact, label %inexact
exact:
  %signed = call double @llvm.copysign.f64(double 0.0, double %b)
  ret double %signed
inexact:
  %m_negative = fcmp olt double %m, 0.0
  %b_negative = fcmp olt double %b, 0.0
  %differ = xor i1 %m_negative, %b_negative
  %sum = fadd double %m, %b
  %nan = fcmp uno double %m, %m
  %plain = xor i1 %nan, true
  %adjust = and i1 %differ, %plain
  %x = select i1 %adjust, double %sum, double %m
  ret double %x
}
define double @rt_ffloordiv(double %a, double %b) {
  %by_zero = fcmp oeq double %b, 0.0
  br i1 %by_zero, label %infinite, label %finite
infinite:
  %i = fdiv double %a, %b
  ret double %i
finite:
  %m = call double @ml_fmod(double %a, double %b)
  %difference = fsub double %a, %m
  %div = fdiv double %difference, %b
  %exact = fcmp oeq double %m, 0.0
  %m_negative = fcmp olt double %m, 0.0
  %b_negative = fcmp olt double %b, 0.0
  %differ = xor i1 %m_negative, %b_negative
  %inexact = xor i1 %exact, true
  %adjust = and i1 %inexact, %differ
  %less = fsub double %div, 1.0
  %d = select i1 %adjust, double %less, double %div
  %is_zero = fcmp oeq double %d, 0.0
  br i1 %is_zero, label %zero, label %nonzero
zero:
  %quotient = fdiv double %a, %b
  %signed = call double @llvm.copysign.f64(double 0.0, double %quotient)
  ret double %signed
nonzero:
  %floor = call double @llvm.floor.f64(double %d)
  %rest = fsub double %d, %floor
  %up = fcmp ogt double %rest, 0.5
  %more = fadd double %floor, 1.0
  %x = select i1 %up, double %more, double %floor
  ret double %x
}
"""

STORAGE = """
define void @rt_trace(ptr %ctx, i64 %kind, i64 %id, i64 %offset, i64 %nbytes) {
  %base_p = getelementptr i64, ptr %ctx, i64 {TRACE}
  %length_p = getelementptr i64, ptr %ctx, i64 {TRACE_LENGTH}
  %capacity_p = getelementptr i64, ptr %ctx, i64 {TRACE_CAPACITY}
  %length = load i64, ptr %length_p
  %capacity = load i64, ptr %capacity_p
  %full = icmp uge i64 %length, %capacity
  br i1 %full, label %grow, label %write
grow:
  %doubled = mul i64 %capacity, 2
  %wanted = call i64 @llvm.smax.i64(i64 %doubled, i64 256)
  %wanted_bytes = mul i64 %wanted, 32
  %old = load ptr, ptr %base_p
  %new = call ptr @ml_realloc(ptr %old, i64 %wanted_bytes)
  %failed = icmp eq ptr %new, null
  br i1 %failed, label %done, label %grown
grown:
  store ptr %new, ptr %base_p
  store i64 %wanted, ptr %capacity_p
  br label %write
write:
  %base = load ptr, ptr %base_p
  %index = mul i64 %length, 4
  %e0 = getelementptr i64, ptr %base, i64 %index
  %e1 = getelementptr i64, ptr %e0, i64 1
  %e2 = getelementptr i64, ptr %e0, i64 2
  %e3 = getelementptr i64, ptr %e0, i64 3
  store i64 %kind, ptr %e0
  store i64 %id, ptr %e1
  store i64 %offset, ptr %e2
  store i64 %nbytes, ptr %e3
  %next = add i64 %length, 1
  store i64 %next, ptr %length_p
  br label %done
done:
  ret void
}

; 1 if one of the pointers avoid[0..navoid) lies in [start, start + nbytes)
define PRIVATE i1 @rt_pointed(ptr %start, i64 %nbytes, ptr %avoid, i64 %navoid) {
entry:
  %from = ptrtoint ptr %start to i64
  br label %head
head:
  %i = phi i64 [0, %entry], [%next, %body]
  %more = icmp ult i64 %i, %navoid
  br i1 %more, label %body, label %no
body:
  %a = getelementptr i64, ptr %avoid, i64 %i
  %pointer = load i64, ptr %a
  %distance = sub i64 %pointer, %from
  %inside = icmp ult i64 %distance, %nbytes
  %next = add i64 %i, 1
  br i1 %inside, label %yes, label %head
yes:
  ret i1 true
no:
  ret i1 false
}

define PRIVATE i1 @rt_verifies(ptr %ctx) alwaysinline {
  %p = getelementptr i64, ptr %ctx, i64 {VERIFY}
  %v = load i64, ptr %p
  %b = icmp ne i64 %v, 0
  ret i1 %b
}

define ptr @rt_static(ptr %ctx, i64 %first, i64 %count, i64 %nbytes, ptr %avoid, i64 %navoid) {
entry:
  %table_p = getelementptr i64, ptr %ctx, i64 {TABLE}
  %table = load ptr, ptr %table_p
  %last = sub i64 %count, 1
  br label %head
head:
  %i = phi i64 [0, %entry], [%next, %body]
  %number = add i64 %first, %i
  %row = mul i64 %number, 2
  %address_p = getelementptr i64, ptr %table, i64 %row
  %size_p = getelementptr i64, ptr %address_p, i64 1
  %address = load ptr, ptr %address_p
  %size = load i64, ptr %size_p
  %is_last = icmp uge i64 %i, %last
  br i1 %is_last, label %chosen, label %body
body:
  %taken = call i1 @rt_pointed(ptr %address, i64 %size, ptr %avoid, i64 %navoid)
  %next = add i64 %i, 1
  br i1 %taken, label %head, label %chosen
chosen:
  %verifies = call i1 @rt_verifies(ptr %ctx)
  br i1 %verifies, label %verify, label %done
verify:
  %too_large = icmp sgt i64 %nbytes, %size
  br i1 %too_large, label %wrong, label %fits
fits:
  %arena_p = getelementptr i64, ptr %ctx, i64 {ARENA}
  %arena = load i64, ptr %arena_p
  %place = ptrtoint ptr %address to i64
  %offset = sub i64 %place, %arena
  call void @rt_trace(ptr %ctx, i64 1, i64 %number, i64 %offset, i64 %size)
  call void @llvm.memset.p0.i64(ptr %address, i8 -1, i64 %size, i1 false)
  br label %done
done:
  ret ptr %address
wrong:
  ret ptr null
}

define void @rt_kill_static(ptr %ctx, i64 %first, i64 %count) {
entry:
  %table_p = getelementptr i64, ptr %ctx, i64 {TABLE}
  %table = load ptr, ptr %table_p
  %arena_p = getelementptr i64, ptr %ctx, i64 {ARENA}
  %arena = load i64, ptr %arena_p
  br label %head
head:
  %i = phi i64 [0, %entry], [%next, %body]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %body, label %done
body:
  %number = add i64 %first, %i
  %row = mul i64 %number, 2
  %address_p = getelementptr i64, ptr %table, i64 %row
  %size_p = getelementptr i64, ptr %address_p, i64 1
  %address = load ptr, ptr %address_p
  %size = load i64, ptr %size_p
  %place = ptrtoint ptr %address to i64
  %offset = sub i64 %place, %arena
  call void @rt_trace(ptr %ctx, i64 0, i64 %number, i64 %offset, i64 %size)
  call void @llvm.memset.p0.i64(ptr %address, i8 -1, i64 %size, i1 false)
  %next = add i64 %i, 1
  br label %head
done:
  ret void
}

define PRIVATE void @rt_release(ptr %ctx, ptr %data, i64 %id) {
  %nbytes_p = getelementptr i64, ptr %data, i64 -8
  %capacity_p = getelementptr i64, ptr %data, i64 -7
  %in_use_p = getelementptr i64, ptr %data, i64 -6
  %nbytes = load i64, ptr %nbytes_p
  %capacity = load i64, ptr %capacity_p
  store i64 0, ptr %in_use_p
  %used_p = getelementptr i64, ptr %ctx, i64 {POOL_USED}
  %used = load i64, ptr %used_p
  %less = sub i64 %used, %capacity
  store i64 %less, ptr %used_p
  %verifies = call i1 @rt_verifies(ptr %ctx)
  br i1 %verifies, label %verify, label %done
verify:
  call void @rt_trace(ptr %ctx, i64 0, i64 %id, i64 -1, i64 %nbytes)
  call void @llvm.memset.p0.i64(ptr %data, i8 -1, i64 %nbytes, i1 false)
  br label %done
done:
  ret void
}

define void @rt_kill(ptr %ctx, ptr %slots, i64 %count, i64 %id) {
entry:
  br label %head
head:
  %i = phi i64 [0, %entry], [%next, %step]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %body, label %done
body:
  %slot = getelementptr i64, ptr %slots, i64 %i
  %data = load ptr, ptr %slot
  %empty = icmp eq ptr %data, null
  br i1 %empty, label %step, label %release
release:
  %own = add i64 %id, %i
  call void @rt_release(ptr %ctx, ptr %data, i64 %own)
  store ptr null, ptr %slot
  br label %step
step:
  %next = add i64 %i, 1
  br label %head
done:
  ret void
}

define ptr @rt_alloc(ptr %ctx, ptr %slots, i64 %count, i64 %nbytes, ptr %avoid, i64 %navoid, i64 %id) {
entry:
  %last = sub i64 %count, 1
  %negative = icmp slt i64 %nbytes, 0
  br i1 %negative, label %fail, label %choose
choose:
  %i = phi i64 [0, %entry], [%next, %filled]
  %slot = getelementptr i64, ptr %slots, i64 %i
  %own = add i64 %id, %i
  %held = load ptr, ptr %slot
  %empty = icmp eq ptr %held, null
  br i1 %empty, label %search, label %occupied
occupied:
  %is_last = icmp uge i64 %i, %last
  br i1 %is_last, label %replace, label %filled
filled:
  %held_nbytes_p = getelementptr i64, ptr %held, i64 -8
  %held_nbytes = load i64, ptr %held_nbytes_p
  %taken = call i1 @rt_pointed(ptr %held, i64 %held_nbytes, ptr %avoid, i64 %navoid)
  %next = add i64 %i, 1
  br i1 %taken, label %choose, label %replace
replace:
  call void @rt_release(ptr %ctx, ptr %held, i64 %own)
  store ptr null, ptr %slot
  br label %search
search:
  %pool_p = getelementptr i64, ptr %ctx, i64 {POOL}
  %first = load ptr, ptr %pool_p
  %twice = mul i64 %nbytes, 2
  %most = add i64 %twice, 4096
  br label %head
head:
  %block = phi ptr [%first, %search], [%after, %step]
  %best = phi ptr [null, %search], [%best_now, %step]
  %best_capacity = phi i64 [%most, %search], [%best_capacity_now, %step]
  %end = icmp eq ptr %block, null
  br i1 %end, label %found, label %look
look:
  %capacity_p = getelementptr i64, ptr %block, i64 -7
  %in_use_p = getelementptr i64, ptr %block, i64 -6
  %capacity = load i64, ptr %capacity_p
  %in_use = load i64, ptr %in_use_p
  %free = icmp eq i64 %in_use, 0
  %holds = icmp sge i64 %capacity, %nbytes
  %closer = icmp slt i64 %capacity, %best_capacity
  %good1 = and i1 %free, %holds
  %good = and i1 %good1, %closer
  br label %step
step:
  %best_now = select i1 %good, ptr %block, ptr %best
  %best_capacity_now = select i1 %good, i64 %capacity, i64 %best_capacity
  %after_p = getelementptr i64, ptr %block, i64 -5
  %after = load ptr, ptr %after_p
  br label %head
found:
  %none = icmp eq ptr %best, null
  br i1 %none, label %make, label %use
make:
  %padded0 = add i64 %nbytes, 127
  %padded1 = and i64 %padded0, -64
  %total = add i64 %padded1, 128
  %raw = call ptr @ml_malloc(i64 %total)
  %failed = icmp eq ptr %raw, null
  br i1 %failed, label %fail, label %made
made:
  %raw_i = ptrtoint ptr %raw to i64
  %up = add i64 %raw_i, 127
  %aligned = and i64 %up, -64
  %fresh = inttoptr i64 %aligned to ptr
  %fresh_capacity = getelementptr i64, ptr %fresh, i64 -7
  store i64 %padded1, ptr %fresh_capacity
  %fresh_next = getelementptr i64, ptr %fresh, i64 -5
  store ptr %first, ptr %fresh_next
  %fresh_raw = getelementptr i64, ptr %fresh, i64 -4
  store ptr %raw, ptr %fresh_raw
  store ptr %fresh, ptr %pool_p
  %total_p = getelementptr i64, ptr %ctx, i64 {POOL_TOTAL}
  %total_before = load i64, ptr %total_p
  %total_now = add i64 %total_before, %padded1
  store i64 %total_now, ptr %total_p
  br label %use
use:
  %data = phi ptr [%best, %found], [%fresh, %made]
  %data_nbytes = getelementptr i64, ptr %data, i64 -8
  store i64 %nbytes, ptr %data_nbytes
  %data_in_use = getelementptr i64, ptr %data, i64 -6
  store i64 1, ptr %data_in_use
  store ptr %data, ptr %slot
  %data_capacity_p = getelementptr i64, ptr %data, i64 -7
  %data_capacity = load i64, ptr %data_capacity_p
  %used_p = getelementptr i64, ptr %ctx, i64 {POOL_USED}
  %used = load i64, ptr %used_p
  %used_now = add i64 %used, %data_capacity
  store i64 %used_now, ptr %used_p
  %peak_p = getelementptr i64, ptr %ctx, i64 {POOL_PEAK}
  %peak = load i64, ptr %peak_p
  %peak_now = call i64 @llvm.smax.i64(i64 %peak, i64 %used_now)
  store i64 %peak_now, ptr %peak_p
  %verifies = call i1 @rt_verifies(ptr %ctx)
  br i1 %verifies, label %verify, label %done
verify:
  call void @rt_trace(ptr %ctx, i64 1, i64 %own, i64 -1, i64 %nbytes)
  call void @llvm.memset.p0.i64(ptr %data, i8 -1, i64 %nbytes, i1 false)
  br label %done
done:
  ret ptr %data
fail:
  ret ptr null
}

define void @rt_end(ptr %ctx) {
entry:
  %tapes_p = getelementptr i64, ptr %ctx, i64 {TAPES}
  %first_tape = load ptr, ptr %tapes_p
  br label %tapes
tapes:
  %tape = phi ptr [%first_tape, %entry], [%next_tape, %free_tape]
  %no_tape = icmp eq ptr %tape, null
  br i1 %no_tape, label %tapes_done, label %free_tape
free_tape:
  %base = load ptr, ptr %tape
  %next_tape_p = getelementptr i64, ptr %tape, i64 3
  %next_tape = load ptr, ptr %next_tape_p
  call void @ml_free(ptr %base)
  call void @ml_free(ptr %tape)
  br label %tapes
tapes_done:
  store ptr null, ptr %tapes_p
  %pool_p = getelementptr i64, ptr %ctx, i64 {POOL}
  %first = load ptr, ptr %pool_p
  br label %blocks
blocks:
  %block = phi ptr [%first, %tapes_done], [%next, %free_block]
  %end = icmp eq ptr %block, null
  br i1 %end, label %done, label %free_block
free_block:
  %in_use = getelementptr i64, ptr %block, i64 -6
  store i64 0, ptr %in_use
  %next_p = getelementptr i64, ptr %block, i64 -5
  %next = load ptr, ptr %next_p
  br label %blocks
done:
  %used_p = getelementptr i64, ptr %ctx, i64 {POOL_USED}
  store i64 0, ptr %used_p
  ret void
}

define void @rt_clear(ptr %ctx) {
entry:
  %pool_p = getelementptr i64, ptr %ctx, i64 {POOL}
  %first = load ptr, ptr %pool_p
  br label %blocks
blocks:
  %block = phi ptr [%first, %entry], [%next, %free_block]
  %end = icmp eq ptr %block, null
  br i1 %end, label %done, label %free_block
free_block:
  %next_p = getelementptr i64, ptr %block, i64 -5
  %next = load ptr, ptr %next_p
  %raw_p = getelementptr i64, ptr %block, i64 -4
  %raw = load ptr, ptr %raw_p
  call void @ml_free(ptr %raw)
  br label %blocks
done:
  store ptr null, ptr %pool_p
  %total_p = getelementptr i64, ptr %ctx, i64 {POOL_TOTAL}
  store i64 0, ptr %total_p
  ret void
}

define ptr @rt_tape_new(ptr %ctx) {
  %tape = call ptr @ml_malloc(i64 32)
  %failed = icmp eq ptr %tape, null
  br i1 %failed, label %done, label %fill
fill:
  %tapes_p = getelementptr i64, ptr %ctx, i64 {TAPES}
  %first = load ptr, ptr %tapes_p
  %length = getelementptr i64, ptr %tape, i64 1
  %capacity = getelementptr i64, ptr %tape, i64 2
  %next = getelementptr i64, ptr %tape, i64 3
  store ptr null, ptr %tape
  store i64 0, ptr %length
  store i64 0, ptr %capacity
  store ptr %first, ptr %next
  store ptr %tape, ptr %tapes_p
  br label %done
done:
  ret ptr %tape
}

define i64 @rt_tape_push(ptr %tape, ptr %from, i64 %nbytes) {
check:
  %negative = icmp slt i64 %nbytes, 0
  br i1 %negative, label %fail, label %entry
entry:
  %length_p = getelementptr i64, ptr %tape, i64 1
  %capacity_p = getelementptr i64, ptr %tape, i64 2
  %length = load i64, ptr %length_p
  %capacity = load i64, ptr %capacity_p
  %padded0 = add i64 %nbytes, 15
  %padded = and i64 %padded0, -16
  %end = add i64 %length, %padded
  %wanted = add i64 %end, 16
  %full = icmp ugt i64 %wanted, %capacity
  br i1 %full, label %grow, label %write
grow:
  %doubled = mul i64 %capacity, 2
  %more = call i64 @llvm.smax.i64(i64 %doubled, i64 %wanted)
  %room = call i64 @llvm.smax.i64(i64 %more, i64 1024)
  %old = load ptr, ptr %tape
  %new = call ptr @ml_realloc(ptr %old, i64 %room)
  %failed = icmp eq ptr %new, null
  br i1 %failed, label %fail, label %grown
grown:
  store ptr %new, ptr %tape
  store i64 %room, ptr %capacity_p
  br label %write
write:
  %base = load ptr, ptr %tape
  %to = getelementptr i8, ptr %base, i64 %length
  call void @llvm.memmove.p0.p0.i64(ptr %to, ptr %from, i64 %nbytes, i1 false)
  %foot = getelementptr i8, ptr %base, i64 %end
  store i64 %nbytes, ptr %foot
  store i64 %wanted, ptr %length_p
  ret i64 0
fail:
  ret i64 1
}

define i64 @rt_tape_push_scalar(ptr %tape, i64 %value) {
  %cell = alloca i64
  store i64 %value, ptr %cell
  %status = call i64 @rt_tape_push(ptr %tape, ptr %cell, i64 8)
  ret i64 %status
}

define ptr @rt_tape_pop(ptr %tape) {
  %length_p = getelementptr i64, ptr %tape, i64 1
  %length = load i64, ptr %length_p
  %empty = icmp eq i64 %length, 0
  br i1 %empty, label %none, label %some
some:
  %base = load ptr, ptr %tape
  %foot_at = sub i64 %length, 16
  %foot = getelementptr i8, ptr %base, i64 %foot_at
  %nbytes = load i64, ptr %foot
  %padded0 = add i64 %nbytes, 15
  %padded = and i64 %padded0, -16
  %start = sub i64 %foot_at, %padded
  store i64 %start, ptr %length_p
  %data = getelementptr i8, ptr %base, i64 %start
  ret ptr %data
none:
  ret ptr null
}

define i64 @rt_output(ptr %ctx, i64 %index, ptr %from, i64 %nbytes, ptr %dims, i64 %ndims) {
  %negative = icmp slt i64 %nbytes, 0
  br i1 %negative, label %fail, label %take
take:
  %outputs_p = getelementptr i64, ptr %ctx, i64 {OUTPUTS}
  %outputs = load ptr, ptr %outputs_p
  %row = mul i64 %index, {OUTPUT_RECORD}
  %data_p = getelementptr i64, ptr %outputs, i64 %row
  %old = load ptr, ptr %data_p
  %room = call i64 @llvm.smax.i64(i64 %nbytes, i64 1)
  %new = call ptr @ml_realloc(ptr %old, i64 %room)
  %failed = icmp eq ptr %new, null
  br i1 %failed, label %fail, label %fill
fill:
  store ptr %new, ptr %data_p
  call void @llvm.memmove.p0.p0.i64(ptr %new, ptr %from, i64 %nbytes, i1 false)
  %nbytes_p = getelementptr i64, ptr %data_p, i64 1
  store i64 %nbytes, ptr %nbytes_p
  %ndims_p = getelementptr i64, ptr %data_p, i64 2
  store i64 %ndims, ptr %ndims_p
  %dims_p = getelementptr i64, ptr %data_p, i64 3
  %dims_bytes = mul i64 %ndims, 8
  call void @llvm.memmove.p0.p0.i64(ptr %dims_p, ptr %dims, i64 %dims_bytes, i1 false)
  ret i64 0
fail:
  ret i64 1
}
"""


def filled(text):
    """IR text with {NAME} replaced by the place of that name."""
    for name, value in globals().items():
        if isinstance(value, int) and name.isupper():
            text = text.replace("{" + name + "}", str(value))
    return text


def module_text():
    """The IR of the shared functions, with everything they use, but for those of `narrow_floats`."""
    return DECLARATIONS + ARITHMETIC + filled(STORAGE).replace("PRIVATE", "internal")


def symbols():
    """{name: address} of what the shared functions use from outside."""
    return {name: c_address(c_name) for name, c_name in SYMBOLS.items()}


_I, _D = ctypes.c_int64, ctypes.c_double
SIGNATURES = {
    "rt_floordiv": (_I, [_I, _I]), "rt_mod": (_I, [_I, _I]), "rt_shl": (_I, [_I, _I]), "rt_shr": (_I, [_I, _I]),
    "rt_fdiv": (_D, [_D, _D]), "rt_fsqrt": (_D, [_D]), "rt_static": (_I, [_I] * 6), "rt_alloc": (_I, [_I] * 7),
    "rt_kill_static": (None, [_I] * 3), "rt_kill": (None, [_I] * 4), "rt_end": (None, [_I]), "rt_clear": (None, [_I]),
    "rt_trace": (None, [_I] * 5), "rt_tape_new": (_I, [_I]), "rt_tape_push": (_I, [_I] * 3), "rt_output": (_I, [_I] * 6),
    "rt_tape_push_scalar": (_I, [_I] * 2), "rt_tape_pop": (_I, [_I]),
    "rt_fmod": (_D, [_D, _D]), "rt_ffloordiv": (_D, [_D, _D]), **narrow_floats.SIGNATURES,
}


class Runtime:
    """The shared functions of this process: `address[name]` for generated code, and as attributes for Python."""

    def __init__(self):
        self.code = runtime_code()
        self.address = {name: self.code.address(name) for name in SIGNATURES}
        for name, (result, arguments) in SIGNATURES.items():
            setattr(self, name, ctypes.CFUNCTYPE(result, *arguments)(self.address[name]))
        self.address.update(symbols())
        for name in ("pow", "exp", "log", "sin", "cos", "tanh"):
            arguments = [_D] * (2 if name == "pow" else 1)
            setattr(self, name, ctypes.CFUNCTYPE(_D, *arguments)(c_address(name)))


@functools.lru_cache(maxsize=None)
def runtime_code():
    """Its MachineCode, which may be compiled while Python goes on. LLVM's passes would take as long as all the rest."""
    def make():
        return "runtime", module_text() + narrow_floats.accessors(), set(SYMBOLS)
    return compile_made(module_text(), make, symbols().__getitem__, level=1, ahead=True)[1]


@functools.lru_cache(maxsize=None)
def runtime():
    """The one Runtime, compiled or loaded on first use."""
    return Runtime()
