"""Reading a tape below Python: the key of its structure, and what it saved (backward.py). Low Python, as native_code.py.

One walk from the end marks the entries that are wanted, a second one writes; both look at nothing but numbers and slots.
"""
# flake8: noqa: F821    the names of low Python
# mypy: ignore-errors


def trace_tape(self, args, count):
    """(entries of a tape, numbers, how many numbers there are) -> (a key of what the entries compute on which the values
    with these numbers depend, what they saved, each once) or None. See backward.py.

    The key has for each of these entries, last first: the Backward, the counts, the numbers of inputs and results (-1 for
    None), the table of what it reads among what is saved."""
    entries = load(args)
    wanted = load(args, 8)
    total = load(entries, at.SIZE)
    items = load(entries, at.LISTED)
    numbers = api.PyLong_AsLongLong(load(args, 16))
    alive = api.PyMem_Calloc(numbers + total + 1, 8)
    if alive == 0:
        return _nothing()
    chosen = alive + numbers * 8
    i = 0
    known = 1
    while i < load(wanted, at.SIZE):
        known = known & _mark(alive, numbers, load(wanted + i * 8, at.ITEMS))
        i += 1
    words = 0
    reads = 0
    n = total - 1
    while n >= 0:
        entry = load(items + n * 8)
        if load(entry, at.TYPE) != this.ENTRY or known == 0:
            api.PyMem_Free(alive)
            return _nothing()
        outputs = load(entry, at.ENTRY_OUTPUTS)
        i = 0
        while i < load(outputs, at.SIZE):
            number = load(outputs + i * 8, at.ITEMS)
            if number != this.NONE and _is_marked(alive, numbers, number) != 0:
                store(chosen + n * 8, 0, 1)
            i += 1
        if load(chosen + n * 8) != 0:
            inputs = load(entry, at.ENTRY_INPUTS)
            i = 0
            while i < load(inputs, at.SIZE):
                known = known & _mark(alive, numbers, load(inputs + i * 8, at.ITEMS))
                i += 1
            kept = load(load(entry, at.ENTRY_SAVED), at.SIZE)
            words += 4 + load(inputs, at.SIZE) + load(outputs, at.SIZE) + kept
            reads += kept
        n -= 1
    if known == 0:
        api.PyMem_Free(alive)
        return _nothing()
    slots = 8
    while slots < 2 * reads:
        slots = slots * 2
    table = api.PyMem_Calloc(2 * slots, 8)                  # a hash table: (object, its index)
    key = api.PyBytes_FromStringAndSize(0, words * 8)
    saved = api.PyList_New(0)
    made = api.PyTuple_New(2)
    if table == 0 or key == 0 or saved == 0 or made == 0:
        if api.PyErr_Occurred() == 0:
            api.PyErr_NoMemory()
        api.PyMem_Free(table)
        api.PyMem_Free(alive)
        api.Py_DecRef(key)
        api.Py_DecRef(saved)
        api.Py_DecRef(made)
        return 0
    to = api.PyBytes_AsString(key)
    n = total - 1
    failed = 0
    while n >= 0:
        if load(chosen + n * 8) != 0:
            entry = load(items + n * 8)
            inputs = load(entry, at.ENTRY_INPUTS)
            outputs = load(entry, at.ENTRY_OUTPUTS)
            kept = load(entry, at.ENTRY_SAVED)
            store(to, 0, load(entry, at.ENTRY_BACKWARD))
            store(to, 8, load(inputs, at.SIZE))
            store(to, 16, load(outputs, at.SIZE))
            store(to, 24, load(kept, at.SIZE))
            to += 32
            i = 0
            while i < load(inputs, at.SIZE):
                store(to, 0, api.PyLong_AsLongLong(load(inputs + i * 8, at.ITEMS)))
                to += 8
                i += 1
            i = 0
            while i < load(outputs, at.SIZE):
                number = load(outputs + i * 8, at.ITEMS)
                store(to, 0, api.PyLong_AsLongLong(number) if number != this.NONE else -1)
                to += 8
                i += 1
            i = 0
            while i < load(kept, at.SIZE):
                value = load(kept + i * 8, at.ITEMS)
                slot = (value >> 4) & (slots - 1)
                while load(table + slot * 16) != 0 and load(table + slot * 16) != value:
                    slot = (slot + 1) & (slots - 1)
                if load(table + slot * 16) == 0:
                    store(table + slot * 16, 0, value)
                    store(table + slot * 16, 8, load(saved, at.SIZE))
                    failed = failed | api.PyList_Append(saved, value)
                store(to, 0, load(table + slot * 16, 8))
                to += 8
                i += 1
        n -= 1
    api.PyMem_Free(table)
    api.PyMem_Free(alive)
    store(made, at.ITEMS, key)
    store(made, at.ITEMS + 8, saved)
    if failed != 0:
        api.Py_DecRef(made)
        return 0
    return made


def _mark(alive, count, number):
    """Mark the value with a number, a Python int; 0 if there is no such value."""
    index = api.PyLong_AsLongLong(number)
    if index < 0 or index >= count:
        return 0
    store(alive + index * 8, 0, 1)
    return 1


def _is_marked(alive, count, number):
    index = api.PyLong_AsLongLong(number)
    return 0 <= index and index < count and load(alive + index * 8) != 0


def _nothing():
    api.Py_IncRef(this.NONE)
    return this.NONE
