"""The simulator's machine: its fibers, and what a thread asks of it (simulator.py). Low Python.

A fiber is PLACES (where its stack ends), ENDED, MET (at how many barriers it was), SAID (its word of a shuffle).
"""
# flake8: noqa: F821    the names of low Python
# mypy: ignore-errors


def thread():
    return this.NOW


def threads():
    return this.COUNT


def own_block():
    return this.BLOCK


def own_blocks():
    return this.BLOCKS


def warp_barrier():
    barrier()


def _next():
    return this.NOW + this.STEP & this.COUNT - 1


def _go(mine, number):
    """Go on with another fiber."""
    store(address.NOW, 0, number)
    api.fiber_switch(address.PLACES + mine * 8, load(address.PLACES, number * 8))


def barrier():
    now = this.NOW
    store(address.MET, now * 8, load(address.MET, now * 8) + 1)
    following = _next()
    if load(address.ENDED, following * 8) != 0:              # it waits for nobody: they are at different barriers
        store(address.STATUS, 0, at.APART)
        api.fiber_switch(address.PLACES + now * 8, this.HOME)
    _go(now, following)


def shuffle(x, distance):
    """Of 32 bits each, of which only those count."""
    now = this.NOW
    store(address.SAID, now * 8, x)
    barrier()
    y = load(address.SAID, (now ^ (distance & 4294967295)) * 8)
    barrier()
    return y


def _fiber():
    call(this.ENTRY, this.WORDS)
    now = this.NOW
    store(address.ENDED, now * 8, 1)
    met = load(address.MET, now * 8)
    if this.EXPECTED != -1 and this.EXPECTED != met:
        store(address.STATUS, 0, at.APART)
    store(address.EXPECTED, 0, met)
    following = _next()
    if load(address.ENDED, following * 8) != 0:              # the last one
        api.fiber_switch(address.PLACES + now * 8, this.HOME)
    _go(now, following)


def launch(entry, words, count, blocks, step):
    store(address.ENTRY, 0, entry)
    store(address.WORDS, 0, words)
    store(address.COUNT, 0, count)
    store(address.BLOCKS, 0, blocks)
    store(address.STEP, 0, step)
    store(address.STATUS, 0, 0)
    block = 0
    while block < blocks and this.STATUS == 0:
        store(address.BLOCK, 0, block)
        store(address.EXPECTED, 0, -1)
        t = 0
        while t < count:
            top = address.STACKS + (t + 1) * at.STACK - 128  # six registers, then where it goes on
            store(top, 48, address._fiber)
            store(address.PLACES, t * 8, top)
            store(address.ENDED, t * 8, 0)
            store(address.MET, t * 8, 0)
            t += 1
        first = count - 1 if step < 0 else 0
        store(address.NOW, 0, first)
        api.fiber_switch(address.HOME, load(address.PLACES, first * 8))
        block += 1
    return this.STATUS
