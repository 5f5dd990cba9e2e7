"""How a kernel with an extent is run: `launch`, called by address from every printer. Small work stays on the calling
thread.

    int64_t launch(kernel, int64_t *args, int64_t extent, int64_t cost)        the kernel's status

Work is extent * cost; from `Target.parallel_from` on, [0, extent) is cut into one chunk per thread, or per item if those
are fewer. What an item gives does not depend on the chunk that it is in, so neither the number of threads nor the places
of the cuts show in a result. Where a chunk has so many items that it makes no difference (`Target.spare` times as many),
it begins at a multiple of a power of two, up to 64: then no two threads write to one cache line of a result that begins
at one, and vectors are whole. Workers are created at the first such launch and wait: they look at a counter for some
microseconds, then offer their core between one look and the next, then sleep on a condition variable. Whoever is free
takes the next chunk, the caller too: a worker that gets no core delays nothing. A launch that finds another one under way
(two Python threads) runs its chunks by itself, so nothing ever waits for a lock. If chunks fail, the first one's status is
the result.

The system may wake two threads of a launch on one core and leave them there for many launches, though another core is
idle: each then waits for the other. A worker that finds a thread of this launch on its core asks for another core
(`_APART`), and before a long launch the caller lets a worker go that stands in line behind it. As there may be no other core,
a worker does not keep one on which it only waits: hence the offers.

After a fork the child has no workers and makes its own; at the interpreter's exit they are ended and joined. Where
there is no pthread (Windows) every launch is sequential.
"""
import atexit
import ctypes
import functools
import os
import platform

from .machine_code import c_address, compile_ir
from .target import current

MAX_THREADS = 64
_SPINS, _YIELDS = 200, 100     # looks in a row, then looks between which the core is offered to others
_PLACES = ("sched_getcpu", "sched_getaffinity", "sched_setaffinity")       # where there are these
_THREADS = ("pthread_create", "pthread_join", "pthread_mutex_init", "pthread_mutex_lock", "pthread_mutex_unlock",
            "pthread_cond_init", "pthread_cond_wait", "pthread_cond_broadcast", "sched_yield")

_SEQUENTIAL = """
define i64 @launch(ptr %kernel, ptr %args, i64 %extent, i64 %cost) {
  %status = tail call i64 %kernel(ptr %args, i64 0, i64 %extent)
  ret i64 %status
}
"""

# the cores of the threads that take part in a launch are bits; a mask of 1024 cores is what the C library takes
_APART = """
declare i32 @ml_sched_getcpu()
declare i32 @ml_sched_getaffinity(i32, i64, ptr)
declare i32 @ml_sched_setaffinity(i32, i64, ptr)
@cores = internal global [16 x i64] zeroinitializer, align 64

; note that this thread's core takes part; whether another thread of the launch is on it
define internal i1 @occupy() {
entry:
  %core = call i32 @ml_sched_getcpu()
  %known = icmp ult i32 %core, 1024
  br i1 %known, label %note, label %unknown
note:
  %n = zext i32 %core to i64
  %word = lshr i64 %n, 6
  %low = and i64 %n, 63
  %bit = shl i64 1, %low
  %p = getelementptr i64, ptr @cores, i64 %word
  %old = atomicrmw or ptr %p, i64 %bit seq_cst
  %mine = and i64 %old, %bit
  %taken = icmp ne i64 %mine, 0
  ret i1 %taken
unknown:
  ret i1 false
}

; the caller's core is the first of a launch
define internal void @begin_apart() {
entry:
  store [16 x i64] zeroinitializer, ptr @cores
  %taken = call i1 @occupy()
  ret void
}

; a worker on a core that is taken goes to one that it may use and no other thread of the launch has, if there is one. It may
; go anywhere again afterwards
define internal void @stand_apart() {
entry:
  %before = alloca [16 x i64]
  %free = alloca [16 x i64]
  %taken = call i1 @occupy()
  br i1 %taken, label %ask, label %done
ask:
  store [16 x i64] zeroinitializer, ptr %before
  %failed = call i32 @ml_sched_getaffinity(i32 0, i64 128, ptr %before)
  %bad = icmp ne i32 %failed, 0
  br i1 %bad, label %done, label %head
head:
  %i = phi i64 [0, %ask], [%next, %head]
  %any = phi i64 [0, %ask], [%more, %head]
  %before_p = getelementptr i64, ptr %before, i64 %i
  %may = load i64, ptr %before_p
  %cores_p = getelementptr i64, ptr @cores, i64 %i
  %used = load atomic i64, ptr %cores_p monotonic, align 8
  %unused = xor i64 %used, -1
  %word = and i64 %may, %unused
  %free_p = getelementptr i64, ptr %free, i64 %i
  store i64 %word, ptr %free_p
  %more = or i64 %any, %word
  %next = add i64 %i, 1
  %again = icmp ult i64 %next, 16
  br i1 %again, label %head, label %judge
judge:
  %none = icmp eq i64 %more, 0
  br i1 %none, label %done, label %go
go:
  %r1 = call i32 @ml_sched_setaffinity(i32 0, i64 128, ptr %free)
  %r2 = call i32 @ml_sched_setaffinity(i32 0, i64 128, ptr %before)
  %also = call i1 @occupy()
  br label %done
done:
  ret void
}
"""
_ANYWHERE = """
define internal void @begin_apart() {
  ret void
}
define internal void @stand_apart() {
  ret void
}
"""

# ready and sleepers are read and written in one total order (seq_cst): either the worker that goes to sleep sees
# the new job, or the launcher sees the sleeper and, through the mutex, wakes it.
_PARALLEL = """
declare i32 @ml_pthread_create(ptr, ptr, ptr, ptr)
declare i32 @ml_pthread_join(i64, ptr)
declare i32 @ml_pthread_mutex_init(ptr, ptr)
declare i32 @ml_pthread_mutex_lock(ptr)
declare i32 @ml_pthread_mutex_unlock(ptr)
declare i32 @ml_pthread_cond_init(ptr, ptr)
declare i32 @ml_pthread_cond_wait(ptr, ptr)
declare i32 @ml_pthread_cond_broadcast(ptr)
declare i32 @ml_sched_yield()
declare i64 @llvm.umax.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.ctlz.i64(i64, i1)
PAUSE_DECLARATION

@busy = internal global i64 0, align 64
@left = internal global i64 0, align 64
@ready = internal global i64 0, align 64
@pending = internal global i64 0, align 64
@sleepers = internal global i64 0, align 64
@threads = internal global i64 1, align 64
@chunks = internal global i64 1, align 64
@started = internal global i64 0
@first_seen = internal global i64 0
@stop = internal global i64 0
@job_kernel = internal global ptr null
@job_args = internal global ptr null
@job_extent = internal global i64 0
@statuses = internal global [64 x i64] zeroinitializer, align 64
@handles = internal global [64 x i64] zeroinitializer, align 64
@mutex = internal global [16 x i64] zeroinitializer, align 64
@condition = internal global [16 x i64] zeroinitializer, align 64

; where chunk t begins: at extent t / threads, rounded down to a multiple of the greatest power of two that is at most
; 1/SPARE of a chunk
define internal i64 @cut(i64 %t, i64 %threads, i64 %extent) {
  %fine = mul i64 %threads, SPARE
  %share = udiv i64 %extent, %fine
  %share.1 = call i64 @llvm.umax.i64(i64 %share, i64 1)
  %most = call i64 @llvm.umin.i64(i64 %share.1, i64 WHOLE_LINE)
  %zeros = call i64 @llvm.ctlz.i64(i64 %most, i1 true)
  %top = lshr i64 -9223372036854775808, %zeros
  %mask = sub i64 0, %top
  %b = mul i64 %extent, %t
  %even = udiv i64 %b, %threads
  %begin = and i64 %even, %mask
  %last = icmp eq i64 %t, %threads
  %cut = select i1 %last, i64 %extent, i64 %begin
  ret i64 %cut
}

define internal i64 @chunk(i64 %t, i64 %threads) {
  %kernel = load ptr, ptr @job_kernel
  %args = load ptr, ptr @job_args
  %extent = load i64, ptr @job_extent
  %begin = call i64 @cut(i64 %t, i64 %threads, i64 %extent)
  %t1 = add i64 %t, 1
  %end = call i64 @cut(i64 %t1, i64 %threads, i64 %extent)
  %status = call i64 %kernel(ptr %args, i64 %begin, i64 %end)
  ret i64 %status
}

; run chunks that nobody has begun until none is left; who comes late finds no more than 0 left, whatever is launched next
define internal void @participate() {
entry:
  br label %claim
claim:
  %left = atomicrmw sub ptr @left, i64 1 seq_cst
  %mine = icmp sgt i64 %left, 0
  br i1 %mine, label %run, label %done
run:
  %chunks = load i64, ptr @chunks
  %t = sub i64 %chunks, %left
  %status = call i64 @chunk(i64 %t, i64 %chunks)
  %status_p = getelementptr i64, ptr @statuses, i64 %t
  store i64 %status, ptr %status_p
  %p = atomicrmw sub ptr @pending, i64 1 seq_cst
  br label %claim
done:
  ret void
}

define internal ptr @worker(ptr %number) {
entry:
  %start = load i64, ptr @first_seen
  br label %wait
wait:
  %seen = phi i64 [%start, %entry], [%now, %work]
  br label %spin
spin:
  %i = phi i64 [0, %wait], [%i1, %again], [%i1, %let]
  %r = load atomic i64, ptr @ready seq_cst, align 8
  %new = icmp ne i64 %r, %seen
  br i1 %new, label %awake, label %again
again:
  PAUSE
  %i1 = add i64 %i, 1
  %soon = icmp ult i64 %i1, SPINS
  br i1 %soon, label %spin, label %let
let:
  %y = call i32 @ml_sched_yield()
  %patient = icmp ult i64 %i1, PATIENCE
  br i1 %patient, label %spin, label %sleep
sleep:
  %l = call i32 @ml_pthread_mutex_lock(ptr @mutex)
  %s0 = atomicrmw add ptr @sleepers, i64 1 seq_cst
  br label %doze
doze:
  %r2 = load atomic i64, ptr @ready seq_cst, align 8
  %new2 = icmp ne i64 %r2, %seen
  br i1 %new2, label %rise, label %cond_wait
cond_wait:
  %w = call i32 @ml_pthread_cond_wait(ptr @condition, ptr @mutex)
  br label %doze
rise:
  %s1 = atomicrmw sub ptr @sleepers, i64 1 seq_cst
  %u = call i32 @ml_pthread_mutex_unlock(ptr @mutex)
  br label %awake
awake:
  %now = load atomic i64, ptr @ready seq_cst, align 8
  %stopping = load atomic i64, ptr @stop seq_cst, align 8
  %ends = icmp ne i64 %stopping, 0
  br i1 %ends, label %done, label %work
work:
  call void @stand_apart()
  call void @participate()
  br label %wait
done:
  ret ptr null
}

define internal void @announce() {
  %r = atomicrmw add ptr @ready, i64 1 seq_cst
  %s = load atomic i64, ptr @sleepers seq_cst, align 8
  %any = icmp ne i64 %s, 0
  br i1 %any, label %wake, label %done
wake:
  %l = call i32 @ml_pthread_mutex_lock(ptr @mutex)
  %b = call i32 @ml_pthread_cond_broadcast(ptr @condition)
  %u = call i32 @ml_pthread_mutex_unlock(ptr @mutex)
  br label %done
done:
  ret void
}

; make the workers that are missing; if the system gives fewer, that many threads are used from now on
define internal void @start() {
entry:
  %seen = load i64, ptr @ready
  store i64 %seen, ptr @first_seen
  store i64 0, ptr @stop
  %m = call i32 @ml_pthread_mutex_init(ptr @mutex, ptr null)
  %c = call i32 @ml_pthread_cond_init(ptr @condition, ptr null)
  %threads = load i64, ptr @threads
  br label %head
head:
  %t = phi i64 [1, %entry], [%next, %body]
  %more = icmp ult i64 %t, %threads
  br i1 %more, label %body, label %done
body:
  %handle = getelementptr i64, ptr @handles, i64 %t
  %number = inttoptr i64 %t to ptr
  %failed = call i32 @ml_pthread_create(ptr %handle, ptr null, ptr @worker, ptr %number)
  %next = add i64 %t, 1
  %bad = icmp ne i32 %failed, 0
  br i1 %bad, label %fewer, label %head
fewer:
  store i64 %t, ptr @threads
  br label %done
done:
  store i64 1, ptr @started
  ret void
}

define i64 @launch(ptr %kernel, ptr %args, i64 %extent, i64 %cost) {
entry:
  %work = mul i64 %extent, %cost
  %small = icmp slt i64 %work, WORTH_IT
  br i1 %small, label %alone, label %large
large:
  %all = load i64, ptr @threads
  %wanted = call i64 @llvm.umin.i64(i64 %all, i64 %extent)
  %one = icmp slt i64 %wanted, 2
  br i1 %one, label %alone, label %take
take:
  %got = cmpxchg ptr @busy, i64 0, i64 1 seq_cst seq_cst
  %mine = extractvalue { i64, i1 } %got, 1
  br i1 %mine, label %check, label %serial
check:
  %running = load i64, ptr @started
  %absent = icmp eq i64 %running, 0
  br i1 %absent, label %create, label %fork
create:
  call void @start()
  br label %fork
fork:
  %there = load i64, ptr @threads
  %chunks = call i64 @llvm.umin.i64(i64 %there, i64 %extent)
  store i64 %chunks, ptr @chunks
  store ptr %kernel, ptr @job_kernel
  store ptr %args, ptr @job_args
  store i64 %extent, ptr @job_extent
  store atomic i64 %chunks, ptr @pending seq_cst, align 8
  store atomic i64 %chunks, ptr @left seq_cst, align 8
  call void @begin_apart()
  call void @announce()
  %long = icmp sge i64 %work, WORTH_YIELDING
  br i1 %long, label %offer, label %ours
offer:
  %o = call i32 @ml_sched_yield()
  br label %ours
ours:
  call void @participate()
  br label %join
join:
  %i = phi i64 [0, %ours], [%i1, %pause], [0, %yield]
  %left = load atomic i64, ptr @pending seq_cst, align 8
  %over = icmp eq i64 %left, 0
  br i1 %over, label %collect, label %pause
pause:
  PAUSE
  %i1 = add i64 %i, 1
  %patient = icmp ult i64 %i1, SPINS
  br i1 %patient, label %join, label %yield
yield:
  %y = call i32 @ml_sched_yield()
  br label %join
collect:
  %t = phi i64 [0, %join], [%next, %look]
  %ended = icmp uge i64 %t, %chunks
  br i1 %ended, label %release, label %look
look:
  %status_p = getelementptr i64, ptr @statuses, i64 %t
  %status = load i64, ptr %status_p
  %next = add i64 %t, 1
  %fine = icmp eq i64 %status, 0
  br i1 %fine, label %collect, label %release
release:
  %result = phi i64 [0, %collect], [%status, %look]
  store atomic i64 0, ptr @busy seq_cst, align 8
  ret i64 %result
; another launch is under way: the same chunks, one after the other
serial:
  %c = phi i64 [0, %take], [%c1, %step]
  %begin = call i64 @cut(i64 %c, i64 %wanted, i64 %extent)
  %c1 = add i64 %c, 1
  %stop.1 = call i64 @cut(i64 %c1, i64 %wanted, i64 %extent)
  %cs = call i64 %kernel(ptr %args, i64 %begin, i64 %stop.1)
  %good = icmp eq i64 %cs, 0
  br i1 %good, label %step, label %bad
step:
  %finished = icmp uge i64 %c1, %wanted
  br i1 %finished, label %bad, label %serial
bad:
  ret i64 %cs
alone:
  %s = call i64 %kernel(ptr %args, i64 0, i64 %extent)
  ret i64 %s
}

; end the workers and use `count` threads from now on; 0 if a launch is under way, then nothing has changed
define i64 @set_threads(i64 %count) {
entry:
  %got = cmpxchg ptr @busy, i64 0, i64 1 seq_cst seq_cst
  %mine = extractvalue { i64, i1 } %got, 1
  br i1 %mine, label %check, label %no
check:
  %running = load i64, ptr @started
  %absent = icmp eq i64 %running, 0
  br i1 %absent, label %set, label %end
end:
  store atomic i64 1, ptr @stop seq_cst, align 8
  call void @announce()
  %threads = load i64, ptr @threads
  br label %head
head:
  %t = phi i64 [1, %end], [%next, %body]
  %more = icmp ult i64 %t, %threads
  br i1 %more, label %body, label %set
body:
  %handle_p = getelementptr i64, ptr @handles, i64 %t
  %handle = load i64, ptr %handle_p
  %j = call i32 @ml_pthread_join(i64 %handle, ptr null)
  %next = add i64 %t, 1
  br label %head
set:
  store i64 0, ptr @started
  store i64 %count, ptr @threads
  store atomic i64 0, ptr @busy seq_cst, align 8
  ret i64 1
no:
  ret i64 0
}

; in the child of a fork: there are no workers, and no launch is under way
define void @forget() {
  store i64 0, ptr @started
  store i64 0, ptr @sleepers
  store i64 0, ptr @pending
  store i64 0, ptr @busy
  ret void
}
"""


def _text():
    x86, target = platform.machine().lower() in ("x86_64", "amd64"), current()
    return (_PARALLEL.replace("PAUSE_DECLARATION", "declare void @llvm.x86.sse2.pause()" if x86 else "")
            .replace("PAUSE", "call void @llvm.x86.sse2.pause()" if x86 else "fence seq_cst")
            .replace("SPINS", str(_SPINS)).replace("PATIENCE", str(_SPINS + _YIELDS)).replace("SPARE", str(target.spare))
            .replace("WHOLE_LINE", str(target.line)).replace("WORTH_IT", str(target.parallel_from))
            .replace("WORTH_YIELDING", str(target.yield_from)))


class _Launcher:
    def __init__(self):
        self.code, self.parallel = launcher_code()
        if not self.parallel:
            return
        self.set_threads = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(self.code.address("set_threads"))
        forget = ctypes.CFUNCTYPE(None)(self.code.address("forget"))
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=forget)
        atexit.register(self.set_threads, 1)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.code.engine))     # a daemon thread may launch to the very end


@functools.lru_cache(maxsize=None)
def launcher_code():
    """(its MachineCode, which may be compiled while Python goes on; whether it has threads)."""
    try:
        symbols = {f"ml_{name}": c_address(name) for name in _THREADS}
    except KeyError:
        return compile_ir(_SEQUENTIAL, keep=True, name="launcher", ahead=True), False
    try:
        symbols |= {f"ml_{name}": c_address(name) for name in _PLACES}
        text = _APART + _text()
    except KeyError:
        text = _ANYWHERE + _text()
    return compile_ir(text, symbols, level=1, keep=True, name="launcher", ahead=True), True


@functools.lru_cache(maxsize=None)
def _launcher():
    made = _Launcher()
    if made.parallel:
        made.set_threads(default_threads())
    return made


def default_threads():
    """The threads of the current Target, at most MAX_THREADS."""
    return min(current().threads, MAX_THREADS)


def set_threads(count):
    """Use `count` threads for large launches from now on; workers are ended and made anew. 1: everything is sequential.

    out : True, or False if a launch is under way in another thread, or threads are not to be had: nothing has changed
    """
    launcher = _launcher()
    return launcher.parallel and bool(launcher.set_threads(max(1, min(count, MAX_THREADS))))


def launch_address():
    """The address of `launch`."""
    return _launcher().code.address("launch")
