"""What a Flow asks of a GPU, as machine code: launches and copies (driver.py; the rest is its `answer`). Low Python.

this.DEVICE: the address of the GPU's context, stream, most blocks, an error's number, what replays do (graphs.py);
this.ANSWER: the function of Python
"""
# flake8: noqa: F821    the names of low Python
# mypy: ignore-errors


def _within(number):
    """A number between 1 and 2 ** 30."""
    return 1 if number < 1 else at.MOST if number > at.MOST else number


def _launched(args, count):
    """CUDA's status of a launch; -1 where Python has noted why there is none. args: stream, record, extent, cost, words"""
    record = load(args, 8)
    if load(record, 16) == 0:
        return _called(args, count)
    while load(record) == 0 or load(record, 8) != this.INDEX:
        if call(this.ANSWER, at.LAUNCH, args, count) != 1:
            return -1
    api.cuCtxSetCurrent(load(this.DEVICE))
    nominal = load(record, 24)
    blocks = (_within(load(args, 16)) * _within(load(args, 24)) + nominal) // nominal
    if blocks > load(this.DEVICE, 16):
        blocks = load(this.DEVICE, 16)
    size = stack(1)
    store(size, 0, load(record, 32))
    extra = stack(5)
    store(extra, 0, 1)                                       # CU_LAUNCH_PARAM_BUFFER_POINTER, _BUFFER_SIZE, _END
    store(extra, 8, args + 16)
    store(extra, 16, 2)
    store(extra, 24, size)
    store(extra, 32, 0)
    return api.cuLaunchKernel(load(record), blocks, 1, 1, load(record, 16), 1, 1, 0, load(this.DEVICE, 8), 0, extra)


def _argument(kind, value, args):
    """An argument of a call of a library: a number, a pointer of the launch and an offset, where that pointer stands, the stream."""
    place = args + 40 + (kind >> 8) * 8
    kind = kind & 255
    if kind == at.NUMBER:
        return value
    if kind == at.STREAM:
        return load(this.DEVICE, 8)
    return place if kind == at.PLACE else load(place) + value


def _called(args, count):
    """Make the calls of a handle (library_call.py), the first word of a launch; as `_launched`, and the library's number above."""
    handle = load(args, 32)
    while load(handle) != this.INDEX + 1:
        if call(this.ANSWER, at.LAUNCH, args, count) != 1:
            return -1
    api.cuCtxSetCurrent(load(this.DEVICE))
    words = stack(16)
    one = load(handle, 8)
    last = one + load(handle, 16) * at.WIDTH
    while one < last:
        n = 0
        while n < 16:
            store(words, n * 8, _argument(load(one + n * 16, 16), load(one + n * 16, 24), args))
            n += 1
        status = 4294967295 & call(load(one), load(words), load(words, 8), load(words, 16), load(words, 24), load(words, 32),
                                   load(words, 40), load(words, 48), load(words, 56), load(words, 64), load(words, 72),
                                   load(words, 80), load(words, 88), load(words, 96), load(words, 104), load(words, 112),
                                   load(words, 120))
        if status != 0:
            return status | load(one, 8) << 32
        one += at.WIDTH
    return 0


def _copied(args):
    """CUDA's status of a copy. args: stream, to, from, bytes, 1 from the GPU, 2 on it"""
    api.cuCtxSetCurrent(load(this.DEVICE))
    to = load(args, 8)
    source = load(args, 16)
    nbytes = load(args, 24)
    kind = load(args, 32)
    stream = load(this.DEVICE, 8)
    if nbytes == 0:
        return 0
    if kind != 1:
        return api.cuMemcpyDtoDAsync_v2(to, source, nbytes, stream)
    status = api.cuMemcpyDtoHAsync_v2(to, source, nbytes, stream)
    return status if status != 0 else api.cuStreamSynchronize(stream)


def entry(what, args, count):
    if what != at.LAUNCH and what != at.COPY:
        return call(this.ANSWER, what, args, count)
    if what == at.COPY and load(args, 32) == 0:              # through pinned memory (staging.py)
        return call(this.ANSWER, at.FROM_CPU, args, count)
    if load(this.DEVICE, 32) == at.REPLAYED:
        return 0                                             # the graph does it
    status = _launched(args, count) if what == at.LAUNCH else _copied(args)
    if status == 0:
        return 0
    if status != -1:
        store(this.DEVICE, 24, status)
        call(this.ANSWER, at.COPY, args, count)
    return at.FAILED
