"""How a launch is cut and who does the pieces (launcher.py says how it works). Low Python (backend/low_python.py).

READY and SLEEPERS are read and written in one total order: either the worker that goes to sleep sees the new job, or the launcher
sees the sleeper and, through the mutex, wakes it.
"""
# flake8: noqa: F821    the names of low Python
# mypy: ignore-errors


def _occupy():
    """Note that this thread's core takes part, a bit of CORES; 1 if another thread of the launch is on it."""
    core = api.ml_sched_getcpu()
    if core < 0 or core >= 1024:                             # a mask of 1024 cores is what the C library takes
        return 0
    bit = 1 << (core & 63)
    return atomic_or(address.CORES + (core >> 6) * 8, bit) & bit != 0


def _begin_apart():
    """The caller's core is the first of a launch."""
    if at.AFFINITY:
        i = 0
        while i < 16:
            store(address.CORES, i * 8, 0)
            i += 1
        _occupy()


def _stand_apart():
    """A worker on a core that is taken goes to one that it may use and no other thread of the launch has, if there is one. It may
    go anywhere again afterwards."""
    if at.AFFINITY:
        before = stack(16)
        free = stack(16)
        if _occupy() == 0:
            return 0
        i = 0
        while i < 16:
            store(before, i * 8, 0)
            i += 1
        if api.ml_sched_getaffinity(0, 128, before) != 0:
            return 0
        some = 0
        i = 0
        while i < 16:
            word = load(before, i * 8) & (atomic_load(address.CORES + i * 8) ^ -1)
            store(free, i * 8, word)
            some = some | word
            i += 1
        if some != 0:
            api.ml_sched_setaffinity(0, 128, free)
            api.ml_sched_setaffinity(0, 128, before)
            _occupy()


def _cut(t, threads, extent):
    """Where chunk t begins: at extent t / threads, rounded down to a multiple of the greatest power of two that is at most
    1 / SPARE of a chunk, and a cache line."""
    if t == threads:
        return extent
    share = extent // (threads * at.SPARE)
    step = 1
    while step * 2 <= share and step * 2 <= at.WHOLE_LINE:
        step = step * 2
    return extent * t // threads & -step


def _participate():
    """Run chunks that nobody has begun until none is left; who comes late finds no more than 0 left, whatever is launched next."""
    left = atomic_add(address.LEFT, -1)
    while left > 0:
        chunks = this.CHUNKS
        t = chunks - left
        begin = _cut(t, chunks, this.EXTENT)
        store(address.STATUSES, t * 8, call(this.KERNEL, this.ARGS, begin, _cut(t + 1, chunks, this.EXTENT)))
        atomic_add(address.PENDING, -1)
        left = atomic_add(address.LEFT, -1)


def _sleep(seen):
    """Until another job is there than the one that was seen last."""
    api.ml_pthread_mutex_lock(address.MUTEX)
    atomic_add(address.SLEEPERS, 1)
    while atomic_load(address.READY) == seen:
        api.ml_pthread_cond_wait(address.CONDITION, address.MUTEX)
    atomic_add(address.SLEEPERS, -1)
    api.ml_pthread_mutex_unlock(address.MUTEX)


def _worker(number):
    seen = this.FIRST_SEEN
    while 1:
        looks = 0
        while atomic_load(address.READY) == seen:
            pause()
            looks += 1
            if looks >= at.PATIENCE:
                _sleep(seen)
            elif looks >= at.SPINS:
                api.ml_sched_yield()
        seen = atomic_load(address.READY)
        if atomic_load(address.STOP) != 0:
            return 0
        _stand_apart()
        _participate()


def _announce():
    atomic_add(address.READY, 1)
    if atomic_load(address.SLEEPERS) != 0:
        api.ml_pthread_mutex_lock(address.MUTEX)
        api.ml_pthread_cond_broadcast(address.CONDITION)
        api.ml_pthread_mutex_unlock(address.MUTEX)


def _start():
    """Make the workers that are missing; if the system gives fewer, that many threads are used from now on."""
    store(address.FIRST_SEEN, 0, this.READY)
    store(address.STOP, 0, 0)
    api.ml_pthread_mutex_init(address.MUTEX, 0)
    api.ml_pthread_cond_init(address.CONDITION, 0)
    t = 1
    while t < this.THREADS:
        if api.ml_pthread_create(address.HANDLES + t * 8, 0, address._worker, t) != 0:
            store(address.THREADS, 0, t)
        t += 1
    store(address.STARTED, 0, 1)


def _one_by_one(kernel, args, extent, chunks):
    """Another launch is under way: the same chunks, one after the other."""
    c = 0
    status = 0
    while c < chunks and status == 0:
        status = call(kernel, args, _cut(c, chunks, extent), _cut(c + 1, chunks, extent))
        c += 1
    return status


def _fork(kernel, args, extent, work):
    """A launch by all threads, the first status that is not 0."""
    if this.STARTED == 0:
        _start()
    chunks = this.THREADS if this.THREADS < extent else extent
    store(address.CHUNKS, 0, chunks)
    store(address.KERNEL, 0, kernel)
    store(address.ARGS, 0, args)
    store(address.EXTENT, 0, extent)
    atomic_store(address.PENDING, chunks)
    atomic_store(address.LEFT, chunks)
    _begin_apart()
    _announce()
    if work >= at.WORTH_YIELDING:
        api.ml_sched_yield()
    _participate()
    looks = 0
    while atomic_load(address.PENDING) != 0:
        pause()
        looks += 1
        if looks >= at.SPINS:
            api.ml_sched_yield()
            looks = 0
    t = 0
    status = 0
    while t < chunks and status == 0:
        status = load(address.STATUSES, t * 8)
        t += 1
    atomic_store(address.BUSY, 0)
    return status


def launch(kernel, args, extent, cost):
    work = extent * cost
    if work < at.WORTH_IT:
        return call(kernel, args, 0, extent)
    chunks = this.THREADS if this.THREADS < extent else extent
    if chunks < 2:
        return call(kernel, args, 0, extent)
    if exchange(address.BUSY, 0, 1) == 0:
        return _one_by_one(kernel, args, extent, chunks)
    return _fork(kernel, args, extent, work)


def set_threads(count):
    """End the workers and use `count` threads from now on; 0 if a launch is under way, then nothing has changed."""
    if exchange(address.BUSY, 0, 1) == 0:
        return 0
    if this.STARTED != 0:
        atomic_store(address.STOP, 1)
        _announce()
        t = 1
        while t < this.THREADS:
            api.ml_pthread_join(load(address.HANDLES, t * 8), 0)
            t += 1
    store(address.STARTED, 0, 0)
    store(address.THREADS, 0, count)
    atomic_store(address.BUSY, 0)
    return 1


def forget():
    """In the child of a fork: there are no workers, and no launch is under way."""
    store(address.STARTED, 0, 0)
    store(address.SLEEPERS, 0, 0)
    store(address.PENDING, 0, 0)
    store(address.BUSY, 0, 0)
