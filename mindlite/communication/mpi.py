"""Ranks as processes that talk MPI, through mpi4py (Dalcin and Fang 2021). Only this module knows it.

Calls are made on a copy of the communicator by the thread that wants them, or by the one that communicates beside the program
(`Engine.begin`), one at a time. A third thread looks for calls that are past their deadline: a rank that has died or stopped is
reported, in place of a wait for ever. A collective begins with an exchange of 512 bytes, a hash of what the rank is about to do
and the array itself if it is that small; what differs is reported before it corrupts or hangs. An exception that ends the
program, here or on another rank, ends all ranks: `MPI_Abort` with status 70.

Collectives of ranks on one machine go through memory that they share (shared_memory.py), others are MPI's (`_Messages`). Large
arrays go in pieces of 4 MiB then, in place: one call for 64 MiB was measured four times slower.
"""
import atexit
import contextlib
import faulthandler
import fcntl
import hashlib
import importlib
import math
import os
import pathlib
import stat
import struct
import sys
import termios
import threading
import time
from fractions import Fraction

import numpy as np

from ..common.config import config
from ..common.errors import ArgumentError, RankError
from ..common.location import is_framework
from ..common.locks import new_lock
from ..common.ranks import FOLDS, Engine, described, folded, kind_of, kinds_of, packed, unpacked
from .shared_memory import HASH, RECORD, Differ, check_exchange, mapped_by_all, shared
from .windows import SharedWindow, Windows

PIECE = 4 << 20                                  # bytes
STATUS = 70                                      # EX_SOFTWARE of sysexits.h
TICK = 0.1                                       # seconds between two looks at the deadlines
PATIENCE, PASS_ON = 2.0, 0.2                     # seconds for the launcher to read what a rank has written, and to pass it on
INLINE = RECORD - HASH                           # bytes of an array that travels with the hash
PARTED = "the ranks have parted: release() was called, or the program has ended"
KIND = 64                                        # bytes of what an array is, behind one that is sent to one rank
_NATIVE = {"f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "c8", "c16"}


class MpiEngine(Engine):
    """The engine of a process that mpirun has started. timeout: seconds until a rank that waits gives up

    raises : ArgumentError where mpi4py, or the library that it needs, is missing
    """

    def __init__(self, timeout=None):
        self.timeout = config.ranks_timeout if timeout is None else timeout
        self.mpi = _joined(self.timeout)
        world = self.mpi.COMM_WORLD.Dup()
        super().__init__(world.Get_rank(), world.Get_size())
        self.library = self.mpi.Get_library_version()[:200]
        self.world, self.numbers, self.ended = world, {}, ""
        self.node = world.Split_type(self.mpi.COMM_TYPE_SHARED)          # the ranks on this machine
        self.machines = world.allgather(self.node.bcast(self.rank))     # that of each rank, by its first rank
        self.ways: dict = {}                                 # {ranks: SharedMemory or _Messages}
        self.communicators: dict = {}
        self.windows: dict = {}                              # {ranks: Windows}
        self.is_rank = True                                  # False in a process that was forked from it
        os.register_at_fork(after_in_child=self._part_from_parent)
        if self.node.Get_rank() == 0:
            _unlink_named_memory()
        self.gave_threads = False                            # config.threads is what `init` has made of `cores`
        self.cores = share_of_cores(self.node.allgather(_own_cores()), self.node.Get_rank())
        self.talks, self.calls = new_lock(), {}       # {thread: (when the call is late, what it is)}
        threading.Thread(target=self._look_at_the_clock, name="deadlines", daemon=True).start()
        self._end_on_exceptions()

    # -- calls and their deadlines

    def _look_at_the_clock(self):
        """End all ranks when a call is late: it is in MPI's hands, and cannot be interrupted."""
        while self.calls or not self.ended:
            time.sleep(min(TICK, self.timeout / 4))
            for thread, (late, what) in list(self.calls.items()):
                if time.monotonic() > late:
                    self.abort(f"rank {self.rank} waits in {what}{_line_of(thread)}, and the others have not come after "
                               f"{self.timeout:g} seconds")

    def _run(self, what, job):
        """job(), which calls MPI. An exception that leaves it midway, one of a signal's handler for instance, ends what this rank
        has to do with the others: they are elsewhere then. raises : RankError if it fails; all ranks end if it takes too long"""
        this = threading.get_ident()
        if this in self.calls:
            raise RankError(f"rank {self.rank} is in {self.calls[this][1]}; what has interrupted it, a signal's handler, cannot "
                            f"communicate: {what}", hint="let the handler set a flag, and look at it between two steps")
        with self.talks:
            if self.ended:
                raise RankError(self.ended)
            self.calls[this] = time.monotonic() + self.timeout, what
            try:
                return job()
            except _Failure as failure:
                self.ended, note = failure.args
                raise RankError(self.ended, note=note) from None
            except self.mpi.Exception as error:
                self.ended = f"rank {self.rank}: MPI says {error}"
                raise RankError(self.ended) from error
            except BaseException as error:
                self.ended = f"rank {self.rank} has left {what} by {type(error).__name__}, out of step with the others"
                raise
            finally:
                del self.calls[this]

    def _part_from_parent(self):
        """In a forked process, a worker of a dataset for one: it sees the memory of the ranks and would speak as one of them."""
        self.is_rank, self.beside, self.calls = False, None, {}
        self.ended = f"a process that was forked from rank {self.rank} is none of the ranks, and cannot communicate"

    def _agreed(self, ranks, what, job, inline=None, details=""):
        """job(communicator of the ranks), once all of them have said that they do the same. inline: an array of at most INLINE
        bytes that travels with that; then it is job(everybody's, a row for each rank). details: what this rank tells besides
        where the job finds that the ranks differ"""
        number = self.numbers[ranks] = self.numbers.get(ranks, 0) + 1
        what = f"collective {number} of the ranks {list(ranks)}: {what}"

        def checked():
            way = self._way(ranks)
            try:
                way.announce(_mark(what), None if inline is None else inline.reshape(-1).view(np.uint8))
                if inline is None:
                    done = job(way)
                    way.settle()
                    return done
                theirs = way.settle()
            except Differ:
                self._tell(ranks, way, what + details)
            rows = np.ascontiguousarray(theirs[:, HASH:HASH + inline.nbytes])
            return job(rows.view(inline.dtype).reshape(len(ranks), *inline.shape))
        return self._run(what, checked)

    def _tell(self, ranks, way, what):
        """raises : _Failure, which says what each rank was about to do"""
        way.announce(0, np.frombuffer(what.encode()[:INLINE].ljust(INLINE, b"\0"), np.uint8))
        said = [bytes(row[HASH:]).rstrip(b"\0").decode("utf-8", "replace") for row in way.settle()]
        raise _Failure("the ranks do not do the same: " + "; ".join(
            f"rank {rank}: {line}" for rank, line in zip(ranks, said)), f"rank {self.rank} of {self.size}")

    def _way(self, ranks):
        """What moves the arrays of these ranks."""
        if ranks not in self.ways:
            everybody = len(ranks) == self.size
            tag = int.from_bytes(hashlib.blake2b(repr(ranks).encode(), digest_size=2).digest(), "big") % 32000
            communicator = self.world if everybody else self.world.Create_group(self.world.Get_group().Incl(ranks), tag)
            self.communicators[ranks] = communicator
            together = 1 < len(ranks) and self._share_a_machine(ranks)
            self.ways[ranks] = together and shared(communicator, config.shared_memory) or _Messages(communicator, self.mpi)
        return self.ways[ranks]

    def _share_a_machine(self, ranks):
        return len({self.machines[rank] for rank in ranks}) == 1

    # -- what an engine defines

    def fold(self, array, reduction, ranks, owned=False, kind=""):
        what = f"fold by {reduction} of {kind or kind_of(array)}"
        if 0 < array.nbytes <= INLINE:
            return self._agreed(ranks, what, lambda arrays: folded(list(arrays), reduction), array)
        return self._agreed(ranks, what, lambda way: self._folded(way, array, reduction, owned))

    def _folded(self, way, array, reduction, owned=False):
        narrow = array.dtype.str[1:] not in _NATIVE
        out = array.astype(np.uint8 if array.dtype.kind == "b" else np.float32) if narrow else array if owned else array.copy()
        flat = out.reshape(-1)
        way.fold([flat], reduction, flat)
        with np.errstate(all="ignore"):                      # beyond float16 is inf
            return out.astype(array.dtype) if narrow else out

    def fold_joined(self, arrays, reduction, ranks):
        dtype, size = arrays[0].dtype, sum([array.size for array in arrays])
        if dtype.str[1:] not in _NATIVE or size * dtype.itemsize <= INLINE:
            return super().fold_joined(arrays, reduction, ranks)
        out = np.empty(size, dtype)
        self._agreed(ranks, f"fold by {reduction} of {kinds_of(arrays)}",
                     lambda way: way.fold([array.reshape(-1) for array in arrays], reduction, out))
        return out

    def around(self):
        return tuple([rank for rank in range(self.size) if self.machines[rank] == self.machines[self.rank]])

    def reach(self, groups):
        return "near" if all(map(self._share_a_machine, groups)) else "far"

    def is_near(self, group):
        ranks = self.members(group)
        return 1 < len(ranks) and config.shared_memory and self._share_a_machine(ranks) and not isinstance(
            self.ways.get(ranks), _Messages)

    def open_window(self, shapes, dtype, group):
        ranks = self.members(group)
        if ranks not in self.windows:
            self.windows[ranks] = Windows(ranks.index(self.rank), lambda *wanted: self._rows(ranks, *wanted))
        return self.windows[ranks].open(shapes, dtype) or super().open_window(shapes, dtype, group)

    def _rows(self, ranks, nbytes, shapes, dtype):
        """Memory for Windows; None where these ranks cannot share it."""
        self.in_turn()

        def job(way):
            if isinstance(way, _Messages):
                return None
            way.settle()
            return mapped_by_all(self.communicators[ranks], 2 * len(ranks) * nbytes)
        what = f"memory for a sum, where it is read, of {' and '.join([described(dtype, shape) for shape in shapes])}"
        memory = self._agreed(ranks, what, job)
        return None if memory is None else np.frombuffer(memory, np.uint8).reshape(2, len(ranks), nbytes)

    def put_down(self, window, arrays, ranks):
        what = f"sum, where it is read, of {kinds_of(arrays)}"
        if not isinstance(window, SharedWindow):
            sizes = [sum([array.size for array in arrays])] * len(ranks)

            def job(way):
                out = np.empty(sum(sizes), arrays[0].dtype)
                way.gather(packed(arrays).view(np.uint8), [size * out.itemsize for size in sizes], out.view(np.uint8))
                return unpacked(out, [array.shape for array in arrays] * len(ranks))
            return self._agreed(ranks, what, job)
        for mine, array in zip(window.mine, arrays) if arrays is not window.mine else ():
            if array is not mine:
                mine[...] = array
        self._agreed(ranks, f"{what} in {window.place()}", lambda way: None)
        return window.met()

    def fold_parts(self, parts, reduction, ranks):
        place = ranks.index(self.rank)
        what = f"fold of parts by {reduction}: {', '.join(map(kind_of, parts))}"
        dtype, shape, sizes = parts[0].dtype, parts[place].shape, [part.size for part in parts]

        def job(way):
            flat = np.concatenate([part.reshape(-1) for part in parts])
            if dtype.str[1:] not in _NATIVE:
                begin = sum(sizes[:place])
                return self._folded(way, flat, reduction)[begin:begin + sizes[place]].reshape(shape)
            out = np.empty(sizes[place], dtype)
            way.fold_parts(flat, sizes, out, reduction)
            return out.reshape(shape)
        return self._agreed(ranks, what, job)

    def exchange(self, parts, shapes, ranks):
        dtype, sizes = parts[0].dtype, [math.prod(shape) * parts[0].itemsize for shape in shapes]
        goes, comes = [[described(dtype, tuple(shape)) for shape in each] for each in ([part.shape for part in parts], shapes)]

        def job(way):
            flat = np.concatenate([part.reshape(-1).view(np.uint8) for part in parts])
            out = np.empty(sum(sizes), np.uint8)
            table = [part.nbytes for part in parts], [*map(_mark, goes)], sizes, [*map(_mark, comes)]
            way.exchange(flat, np.array(table, np.uint64), out)
            ends = np.cumsum(sizes)
            return [out[end - size:end].view(dtype).reshape(shape) for size, end, shape in zip(sizes, ends, shapes)]
        return self._agreed(ranks, f"exchange of {dtype}", job,
                            details=f", sends {' and '.join(goes)}, waits for {' and '.join(comes)}")

    def gather(self, array, shapes, ranks):
        sizes = [math.prod(shape) * array.itemsize for shape in shapes]

        def job(way):
            out = np.empty(sum(sizes) // array.itemsize, array.dtype)
            way.gather(array.reshape(-1).view(np.uint8), sizes, out.view(np.uint8))
            return out
        what = f"gather of {array.dtype}, {' and '.join([str(list(shape)) for shape in shapes])}"
        if 0 < array.nbytes <= INLINE and len(set(sizes)) == 1:
            return self._agreed(ranks, what, lambda arrays: arrays.reshape(-1), array)
        return self._agreed(ranks, what, job)

    def spread(self, array, root, ranks):
        def job(way):
            out = array.copy()
            way.spread(out.reshape(-1).view(np.uint8), root)
            return out
        return self._agreed(ranks, f"broadcast from {root} of {kind_of(array)}", job)

    def deliver(self, array, to, tag):
        letter = _letter(array)
        self._run(f"send of {kind_of(array)} to rank {to} with tag {tag}",
                  lambda: self.world.Send([letter, self.mpi.BYTE], to, tag))

    def hand_over(self, array, to, tag):
        letter, what = _letter(array), f"send of {kind_of(array)} to rank {to} with tag {tag}"
        request = self._run(what, lambda: self.world.Issend([letter, self.mpi.BYTE], to, tag))    # done when it is received
        return _Ticket(self, f"the end of the {what}", request, lambda size, letter=letter: None)

    def collect(self, shape, dtype, source, tag):
        kind = described(dtype, tuple(shape))

        def job():
            status = self.mpi.Status()
            message = self.world.Mprobe(source, tag, status)
            letter = np.empty(status.Get_count(self.mpi.BYTE), np.uint8)
            message.Recv([letter, self.mpi.BYTE])
            return self._opened(letter, shape, dtype, source)
        return self._run(f"receive of {kind} from rank {source} with tag {tag}", job)

    def look_out(self, shape, dtype, source, tag):
        what = f"receive of {described(dtype, tuple(shape))} from rank {source} with tag {tag}"
        letter = np.empty(math.prod(shape) * dtype.itemsize + KIND, np.uint8)
        request = self._run(what, lambda: self.world.Irecv([letter, self.mpi.BYTE], source, tag))

        def opened(size):
            return self._opened(letter[:size], shape, dtype, source)
        return _Ticket(self, what, request, opened)

    def _opened(self, letter, shape, dtype, source):
        """The array of a letter. raises : _Failure where it is another one"""
        kind, came = described(dtype, tuple(shape)), bytes(letter[-KIND:]).rstrip(b"\0").decode("utf-8", "replace")
        if came != kind[:KIND]:
            raise _Failure(f"rank {self.rank} waits for {kind} from rank {source}, which has sent {came}", "")
        return letter[:-KIND].view(dtype).reshape(shape)

    # -- the end

    def close(self):
        self.in_turn()
        if not self.ended:
            self._agreed(tuple(range(self.size)), "the end of the program", lambda way: None)
            self.ended = PARTED

    def abort(self, message):
        """End all ranks. The message goes to standard error; does not return."""
        try:
            print(f"mindlite: {message}", file=sys.stderr, flush=True)
            _wait_until_read()
        finally:
            self.mpi.COMM_WORLD.Abort(STATUS)

    def _end_on_exceptions(self):
        """An exception that ends the program ends all ranks; so does the end of one while others wait for it."""
        before = sys.excepthook

        def end(kind, error, frames):
            before(kind, error, frames)
            sys.stderr.flush()
            if self.is_rank:
                self.abort(f"rank {self.rank} ends by {kind.__name__}, and so do all {self.size}")
        sys.excepthook = end
        atexit.register(self._at_exit)

    def _at_exit(self):
        """Wait for the others; a program that has caught a failure of its ranks, or a thread's, has failed all the same."""
        if not self.is_rank:
            return
        try:
            self.close()
        except RankError as error:
            self.abort(f"rank {self.rank} has ended before the others: {error}")
        if self.ended != PARTED:
            self.abort(f"rank {self.rank} has ended behind a failure: {self.ended}")
        if not self.mpi.Is_finalized():
            self.mpi.Finalize()


def _own_cores():
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))


def share_of_cores(cores, rank):
    """How many cores a rank may keep busy, at least one: each of its cores is shared by those who may use it, too.

    cores : the set of cores of each rank on its machine
    """
    return max(1, int(sum([Fraction(1, sum([core in others for others in cores])) for core in cores[rank]])))


class _Messages:
    """MPI's collectives between the ranks of a communicator, with the methods of SharedMemory."""

    def __init__(self, communicator, mpi):
        self.communicator, self.mpi, self.count = communicator, mpi, communicator.Get_size()
        self.operations = {"sum": mpi.SUM, "prod": mpi.PROD, "max": mpi.MAX, "min": mpi.MIN, "any": mpi.MAX, "all": mpi.MIN}
        self.extrema = {name: _extremum(mpi, FOLDS[name]) for name in ("max", "min")}

    def _operation(self, reduction, dtype):
        return self.extrema.get(reduction if dtype.kind in "fc" else "", self.operations[reduction])

    def announce(self, mark, data):
        record = np.zeros(RECORD, np.uint8)
        record[:HASH] = np.frombuffer(mark.to_bytes(HASH, "little"), np.uint8)
        if data is not None:
            record[HASH:HASH + data.size] = data
        self.records = np.empty((self.count, RECORD), np.uint8)
        self.communicator.Allgather(record, self.records)
        if (self.records[:, :HASH] != record[:HASH]).any():
            raise Differ

    def settle(self):
        return self.records

    def fold(self, arrays, reduction, out):
        if arrays[0] is not out:
            np.concatenate(arrays, out=out)
        step = PIECE // out.itemsize
        for begin in range(0, out.size, step):
            self.communicator.Allreduce(self.mpi.IN_PLACE, out[begin:begin + step],
                                        self._operation(reduction, out.dtype))

    def fold_parts(self, array, sizes, out, reduction):
        self.communicator.Reduce_scatter(array, out, sizes, self._operation(reduction, out.dtype))

    def gather(self, array, sizes, out):
        self.communicator.Allgatherv([array, self.mpi.BYTE], [out, sizes, self.mpi.BYTE])

    def exchange(self, array, table, out):
        told = np.empty((self.count, *table.shape), table.dtype)
        self.communicator.Allgather(table, told)
        check_exchange(told)
        self.communicator.Alltoallv([array, table[0].tolist(), self.mpi.BYTE], [out, table[2].tolist(), self.mpi.BYTE])

    def spread(self, array, root):
        for begin in range(0, array.size, PIECE):
            self.communicator.Bcast([array[begin:begin + PIECE], self.mpi.BYTE], root)


def _extremum(mpi, fold):
    """MPI's operation that folds as NumPy does: MPI's own MAX of nan and 1 is either, by who sends first."""
    def combine(theirs, ours, datatype):
        arrays = [np.frombuffer(part, to_numpy_dtype(datatype)) for part in (theirs, ours)]
        with np.errstate(all="ignore"):
            fold(*arrays, out=arrays[1])
    to_numpy_dtype = importlib.import_module("mpi4py.util.dtlib").to_numpy_dtype
    return mpi.Op.Create(combine, commute=True)


class _Ticket:
    """Of a message that is under way. opened(number of bytes that have come): what it holds; it keeps their memory"""

    def __init__(self, engine, what, request, opened):
        self.engine, self.what, self.request, self.opened = engine, what, request, opened
        self.over, self.value = False, None

    def is_over(self):
        """True once the receiver has it. raises : RankError"""
        return self.over or self.engine._run(self.what, lambda: self._look(self.request.Test))

    def wait(self):
        """What it holds, once the receiver has it. raises : RankError"""
        if not self.over:
            self.engine._run(self.what, lambda: self._look(self.request.Wait))
        return self.value

    def _look(self, ask):
        status = self.engine.mpi.Status()
        try:
            self.over = ask(status)
        except self.engine.mpi.Exception as error:
            raise _Failure(f"rank {self.engine.rank}: {self.what}: another array has come ({error})", "") from error
        if self.over:
            self.value, self.opened = self.opened(status.Get_count(self.engine.mpi.BYTE)), None
        return self.over


def _mark(text):
    """A number of HASH bytes that stands for a text."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=HASH).digest(), "little")


class _Failure(Exception):
    """(message, note) of the RankError that the caller raises."""


def _joined(timeout):
    """The module of mpi4py, once all ranks have called MPI_Init. A rank that has ended before, by an error in its imports,
    never comes. MPI_Init cannot be interrupted, nor end the others, and no thread of Python runs meanwhile: so faulthandler shows
    where this rank waits after the timeout and ends it, and each of the others ends itself."""
    where = sys.__stderr__
    if where is None:                                        # a program without standard error
        return _load()
    faulthandler.dump_traceback_later(timeout, exit=True, file=where)
    try:
        return _load()
    finally:
        faulthandler.cancel_dump_traceback_later()


def _load():
    try:
        import mpi4py
        mpi4py.rc.thread_level = "multiple"
        mpi4py.rc.finalize = False                           # in a process that was forked from a rank it would end all ranks
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise ArgumentError("ranks as processes need mpi4py and an MPI library", note=str(error).splitlines()[0],
                            hint="pip install 'mindlite[mpi]'") from error
    return MPI


def _unlink_named_memory():
    """Remove the names of mpich's files in /dev/shm, which all ranks of this machine have mapped: mpich does it at the end, and
    leaves 1 MiB a rank there for ever where a rank is killed, or ends all. The memory stays until the last rank has ended."""
    with contextlib.suppress(FileNotFoundError):             # there is no /proc where it is not Linux
        for line in pathlib.Path("/proc/self/maps").read_text().splitlines():
            if line.rpartition(" ")[2].startswith("/dev/shm/mpich_shm_"):
                pathlib.Path(line.rpartition(" ")[2]).unlink(missing_ok=True)


def _wait_until_read():
    """Wait until the launcher has passed on what this process wrote: it ends all at once when asked, and what it has not read
    from the pipes of standard output and error is lost (seen with mpich: the end of a traceback was missing)."""
    sys.stdout.flush()
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and any(map(_unread, (1, 2))):
        time.sleep(0.01)
    time.sleep(PASS_ON)


def _unread(descriptor):
    """The bytes in a pipe that nobody has read; 0 for what is no pipe."""
    if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        return 0
    return struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)))[0]


def _line_of(thread):
    """Where the user's program is in a thread: ", at file.py:3 in train"; "" where it is nowhere, as in one that communicates."""
    frame = sys._current_frames().get(thread)
    while frame is not None and is_framework(frame.f_code.co_filename):
        frame = frame.f_back
    return "" if frame is None else f", at {frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}"


def _letter(array):
    """The bytes of an array, and behind them what it is."""
    letter = np.zeros(array.nbytes + KIND, np.uint8)
    letter[:array.nbytes] = array.reshape(-1).view(np.uint8)
    described = kind_of(array).encode()[:KIND]
    letter[array.nbytes:array.nbytes + len(described)] = np.frombuffer(described, np.uint8)
    return letter
