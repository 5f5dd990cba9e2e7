"""Operators by plans of their signatures, below Python: from a call to the new Tensor, and its entry on the tape. Low Python.

    softmax(x, axis=1)  ->  a hash of what was given  ->  a plan that fits  ->  its kernel by address, or its function

plans.py writes the plans. Words of a plan: OPLAN_COUNT and OPLAN_NAMED, how many arguments by position and by name; OPLAN_MASK,
which of the Tensors among them have numbers on the tape; OPLAN_KEYS, the address of what the arguments must be; OPLAN_FUNCTION, a
function of these Tensors; OPLAN_KERNEL, the address of a plan of compile/short_plan.py or 0; OPLAN_CALLS, which are counted;
OPLAN_HOT, the call that Python is to see; OPLAN_BACKWARD, an object or 0; OPLAN_RECORD, the address of what an entry holds;
OPLAN_GIVEN, how many Tensors; behind it the names.

A key is one of: A_TENSOR, class, dtype, rank, sizes; AN_INT, value; A_FLOAT, bits; AN_OBJECT, address; A_TEXT, address; A_SLICE and
the keys of its three ints or objects; SOME_VALUES, class (tuple or list), count, and the keys of the items, none of them SOME_VALUES.
Tensors are counted in this order, those in a tuple or list with the others. The slot of a plan is the hash times SPREAD, of
which the highest bits count (Knuth 6.4).
"""
# flake8: noqa: F821    the names of low Python
# mypy: ignore-errors


def _integer_of(value):
    """A Python int; -1 for one of more than 64 bits, which no plan has."""
    overflow = stack(1)
    return api.PyLong_AsLongLongAndOverflow(value, overflow)


def _hash_leaf(mixed, value, tensors):
    """`mixed` with a value that is no tuple or list. A Tensor is put behind the others; their count is -1 where Python must look."""
    kind = load(value, at.TYPE)
    if kind == this.TENSOR or kind == this.PARAMETER:
        array = _array_in(value, at.ARRAY)
        before = load(tensors)
        if array == 0 or before < 0 or before >= at.MOST_ARGUMENTS:
            store(tensors, 0, -1)
            return mixed
        store(tensors + before * 8, 8, value)
        store(tensors, 0, before + 1)
        rank = load32(array, at.NDIM)
        return _mixed(mixed * 31 + rank, load(array, at.SIZES), rank) * 31 + (load(array, at.DESCR) >> 4)
    if kind == this.INT:
        return mixed * 31 + _integer_of(value)
    if kind == this.FLOAT:
        return mixed * 31 + load(value, at.DOUBLE)
    if kind == this.TEXT:
        return mixed
    if kind == this.SLICE:
        i = 0
        while i < 3:
            part = load(value + i * 8, at.START)
            mixed = mixed * 31 + (_integer_of(part) if load(part, at.TYPE) == this.INT else part >> 4)
            i += 1
        return mixed
    return mixed * 31 + (value >> 4)


def _items_of(value):
    """Where the items of a tuple or list stand."""
    if load(value, at.TYPE) == this.TUPLE:
        return value + at.ITEMS
    return load(value, at.LISTED)


def _hash_of(args, total, tensors):
    """A hash of arguments. Their Tensors stand behind `tensors`, which is how many, -1 where Python must look at one."""
    mixed = total
    store(tensors, 0, 0)
    i = 0
    while i < total:
        value = load(args + i * 8)
        kind = load(value, at.TYPE)
        if kind == this.TUPLE or kind == this.LIST:
            count = load(value, at.SIZE)
            items = _items_of(value)
            mixed = mixed * 31 + count
            j = 0
            while j < count:
                mixed = _hash_leaf(mixed, load(items + j * 8), tensors)
                j += 1
        else:
            mixed = _hash_leaf(mixed, value, tensors)
        i += 1
    return mixed * 2 + 1


def _fit_leaf(key, value):
    """Where the next key stands; 0 if the value is not what this one says."""
    kind = load(value, at.TYPE)
    form = load(key)
    if form == at.A_TENSOR:
        if kind != load(key, 8):
            return 0
        if _has_form(load(value, at.ARRAY), load(key, 16), load(key, 24), key + 32) == 0:
            return 0
        return key + 32 + load(key, 24) * 8
    if form == at.AN_INT:
        if kind != this.INT or _integer_of(value) != load(key, 8):
            return 0
    elif form == at.A_FLOAT:
        if kind != this.FLOAT or load(value, at.DOUBLE) != load(key, 8):
            return 0
    elif form == at.AN_OBJECT:
        if value != load(key, 8):
            return 0
    elif form == at.A_TEXT:
        if value != load(key, 8):
            if kind != this.TEXT:
                return 0
            if api.PyUnicode_Compare(value, load(key, 8)) != 0:
                return 0
    else:
        if form != at.A_SLICE or kind != this.SLICE:
            return 0
        i = 0
        while i < 3:
            part = load(value + i * 8, at.START)
            place = key + 8 + i * 16
            if load(place) == at.AN_INT:
                if load(part, at.TYPE) != this.INT or _integer_of(part) != load(place, 8):
                    return 0
            elif part != load(place, 8):
                return 0
            i += 1
        return key + 56
    return key + 16


def _fits(key, args, total):
    """1 if the arguments are what the keys say."""
    i = 0
    while i < total:
        value = load(args + i * 8)
        if load(key) == at.SOME_VALUES:
            count = load(key, 16)
            if load(value, at.TYPE) != load(key, 8) or load(value, at.SIZE) != count:
                return 0
            items = _items_of(value)
            key += 24
            j = 0
            while j < count:
                key = _fit_leaf(key, load(items + j * 8))
                if key == 0:
                    return 0
                j += 1
        else:
            key = _fit_leaf(key, value)
            if key == 0:
                return 0
        i += 1
    return 1


def _result_of(made, number):
    """The result with a number: an item of a tuple, or the only one."""
    if load(made, at.TYPE) == this.TUPLE:
        return load(made + number * 8, at.ITEMS)
    return made


def _fill_slot(entry, slot, record, args, numbers, first, made):
    """Make the tuple in a slot of a new entry whose first result has the number `first`: where its part of the record ends, 0 with
    an exception. A part is how many items, then a kind and a value for each. args: the Tensors, or of AN_OPERAND both operands,
    their arrays or 0, the row and the number among them as an element."""
    count = load(record)
    items = api.PyTuple_New(count)
    store(entry, slot, items)
    if items == 0:
        return 0
    record += 8
    i = 0
    while i < count:
        kind = load(record)
        value = load(record, 8)
        if kind == at.INPUT_NUMBER:
            value = api.PyLong_FromLongLong(load(numbers + value * 8))
        elif kind == at.RESULT_NUMBER:
            value = api.PyLong_FromLongLong(first + value)
        elif kind == at.AN_OPERAND:
            value = _kept(load(args + value * 8), load(args + value * 8, 16), load(args, 32), load(args, 40))
        else:
            if kind == at.AN_ARGUMENT:
                value = load(args + value * 8)
            elif kind == at.A_RESULT:
                value = _result_of(made, value)
            api.Py_IncRef(value)
        if value == 0:
            return 0
        store(items + i * 8, at.ITEMS, value)
        record += 16
        i += 1
    return record


def _enter(tape, backward, record, args, numbers, made):
    """Append the entry of an operation that gave `made`; 1, or 0 with an exception. args: as `_fill_slot` has them"""
    entry = api.PyType_GenericAlloc(this.ENTRY, 0)
    if entry == 0:
        return 0
    api.Py_IncRef(backward)
    store(entry, at.ENTRY_BACKWARD, backward)
    first = api.PyLong_AsLongLong(load(tape, at.COUNT))
    record = _fill_slot(entry, at.ENTRY_INPUTS, record, args, numbers, first, made)
    if record != 0:
        record = _fill_slot(entry, at.ENTRY_OUTPUTS, record, args, numbers, first, made)
    if record != 0:
        record = _fill_slot(entry, at.ENTRY_SAVED, record, args, numbers, first, made)
    if record == 0:
        api.Py_DecRef(entry)
        return 0
    outputs = load(entry, at.ENTRY_OUTPUTS)
    results = load(outputs, at.SIZE)
    given = 0
    i = 0
    while i < results:
        number = load(outputs + i * 8, at.ITEMS)
        if number != this.NONE:
            given += 1
            pair = api.PyTuple_New(2)
            if pair == 0:
                api.Py_DecRef(entry)
                return 0
            api.Py_IncRef(tape)
            api.Py_IncRef(number)
            store(pair, at.ITEMS, tape)
            store(pair, at.ITEMS + 8, number)
            out = _result_of(made, i)
            before = load(out, at.TAPE)
            store(out, at.TAPE, pair)
            api.Py_DecRef(before)
        i += 1
    following = api.PyLong_FromLongLong(first + given)
    if following == 0:
        api.Py_DecRef(entry)
        return 0
    before = load(tape, at.COUNT)
    store(tape, at.COUNT, following)
    api.Py_DecRef(before)
    done = api.PyList_Append(load(tape, at.ENTRIES), entry) == 0
    api.Py_DecRef(entry)
    return done


def _operate_by_plan(slots, top, state, args, count, names):
    """What an operator gives, a new reference; 0 where no plan fits, or with an exception. slots: 2 ** (64 - top) addresses of plans"""
    named = load(names, at.SIZE) if names != 0 else 0
    total = count + named
    if total == 0 or total > at.MOST_ARGUMENTS:
        return 0
    tapes = load(state, at.TAPES)
    tape = 0
    mask = 0
    held = stack(17)
    mixed = _hash_of(args, total, held)
    given = load(held)
    tensors = held + 8
    numbers = stack(16)
    if given < 0:
        return 0
    if load(tapes, at.SIZE) != 0:
        tape = load(tapes, at.ITEMS)
        if load(tapes, at.SIZE) > 1 or load(tape, at.TYPE) != this.TAPE:
            return 0
        i = 0
        while i < given:
            number = _number_on(tape, load(tensors + i * 8))
            if number == -2:
                return 0
            store(numbers + i * 8, 0, number)
            mask = mask | ((number >= 0) << i)
            i += 1
    plan = load(slots + (((mixed * 31 + mask) * at.SPREAD) >> top) * 8)
    if plan == 0:
        return 0
    if load(plan, at.OPLAN_COUNT) != count or load(plan, at.OPLAN_NAMED) != named or load(plan, at.OPLAN_MASK) != mask:
        return 0
    i = 0
    while i < named:
        if load(names + i * 8, at.ITEMS) != load(plan + i * 8, at.OPLAN_GIVEN + 8):
            return 0
        i += 1
    if _fits(load(plan, at.OPLAN_KEYS), args, total) == 0:
        return 0
    calls = load(plan, at.OPLAN_CALLS)
    if calls >= load(plan, at.OPLAN_HOT):
        return 0
    store(plan, at.OPLAN_CALLS, calls + 1)
    store(address.PLANNED, 0, this.PLANNED + 1)
    i = 0
    while i < given:                                         # a list may be changed while other threads run
        api.Py_IncRef(load(tensors + i * 8))
        i += 1
    made = _made_by_plan(plan, state, tensors, given)
    if made != 0 and load(plan, at.OPLAN_BACKWARD) != 0:
        if _enter(tape, load(plan, at.OPLAN_BACKWARD), load(plan, at.OPLAN_RECORD), tensors, numbers, made) == 0:
            api.Py_DecRef(made)
            made = 0
    i = 0
    while i < given:
        api.Py_DecRef(load(tensors + i * 8))
        i += 1
    return made


def _made_by_plan(plan, state, tensors, given):
    """What the kernel or the function of a plan gives; 0 where Python must say more, or with an exception that is none of Exception."""
    function = load(plan, at.OPLAN_FUNCTION)
    api.Py_IncRef(function)
    made = 0
    kernel = load(plan, at.OPLAN_KERNEL)
    if kernel != 0:
        if load(kernel) == state:
            made = _call_by_plan(kernel, tensors)
    if made == 0 and api.PyErr_Occurred() == 0:
        made = api.PyObject_VectorcallDict(function, tensors, given, 0)
    api.Py_DecRef(function)
    if made == 0:
        if api.PyErr_Occurred() != 0 and api.PyErr_ExceptionMatches(this.EXCEPTION) != 0:
            api.PyErr_Clear()                                # Python says it again, with the line
    return made


def call_function(self, args, count, names):
    """Planned.__call__: (self, the arguments, how many by position, names of the others)."""
    slots = load(self, at.PLANS_OF_FUNCTION)
    if slots != 0 and slots != this.NONE:
        state = _thread()
        if state != 0:
            made = _operate_by_plan(api.PyLong_AsVoidPtr(slots), at.TOP_OF_FUNCTIONS, state, args, count, names)
            if made != 0 or api.PyErr_Occurred() != 0:
                return made
    return _whole_by_python(this.CALL_FUNCTION, self, args, count, names)
