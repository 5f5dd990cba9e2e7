"""Elementwise operators of eager mode below Python: from `x + y` to the new Tensor, and its entry on the tape.

    x + y  ->  binary(operator, x, y)  ->  the loop that NumPy's add has for this dtype, called by address

This is low Python (backend/low_python.py): all values are integers of 64 bits, nothing of it runs as Python. native.py
fills the tables that it reads. What fits no table (another class, dtype, layout, an error, several tapes) is left to
Python, which does it all from the beginning: nothing has happened until the result is complete.

An operator is a run of words: OP_FORWARD and OP_REFLECTED, functions of Python for what does not fit; OP_INPUTS, one or two;
OP_PLANS, the address of PLANS words; OP_ROWS, how many dtypes; then as many rows:

    ROW_IN, ROW_OUT    the NumPy dtypes of operands and result        ROW_LOOP, ROW_DATA   NumPy's loop
    ROW_FORM           how a Python number becomes an element         ROW_STEP, ROW_MADE   bytes of an element, in and out
    ROW_LIMIT          results with as many elements are made by larger kernels       ROW_TAPED  0: no gradient

A plan says how one signature is recorded: which operands have numbers, ranks, dtype and PLAN_SIZES; PLAN_BACKWARD, an object or
0; PLAN_RECORD, the address of what an entry holds (native_plans.py).
"""
# flake8: noqa: F821    the names of low Python
# mypy: ignore-errors


def _thread():
    """The ThreadState of this thread, 0 where it has none yet or operators have another meaning there."""
    entries = api.PyThreadState_GetDict()
    if entries == 0:
        return 0
    state = api.PyDict_GetItem(entries, this.KEY)
    if state == 0:
        return 0
    if load(load(state, at.INTERPRETERS), at.SIZE) != 0:
        return 0
    return state


def _array_of(value):
    """The plain ndarray of a Tensor, or the one that `value` is; 0 for anything else."""
    kind = load(value, at.TYPE)
    if kind == this.TENSOR or kind == this.PARAMETER:
        value = _array_in(value, at.ARRAY)
        if value == 0:
            return 0
    elif kind != this.NDARRAY:
        return 0
    if load32(value, at.FLAGS) & 257 != 257:                 # contiguous and aligned
        return 0
    return value


def _row_of(operator, dtype):
    row = operator + at.OP_ROWS + 8
    end = row + load(operator, at.OP_ROWS) * at.ROW
    while row < end:
        if load(row, at.ROW_IN) == dtype:
            return row
        row += at.ROW
    return 0


def _element_of(value, form, to):
    """1 if the Python number `value` is an element, which is then at `to`; 0 if not."""
    kind = load(value, at.TYPE)
    if kind == this.FLOAT:
        bits = load(value, at.DOUBLE)
    elif kind == this.INT:
        overflow = stack(1)
        number = api.PyLong_AsLongLongAndOverflow(value, overflow)
        if load32(overflow) != 0:
            return 0
        if form == 32 and (number > 2147483647 or number < -2147483648):
            return 0
        if form >= 32:                                       # integers of so many bits
            store(to, 0, number)
            return 1
        if number > 9007199254740992 or number < -9007199254740992:
            return 0
        bits = to_float(number)
    else:
        return 0
    if form == 1:
        single = to_single(bits)
        if single & 0x7f800000 == 0x7f800000:                # too large: NumPy has a word to say
            return 0
        store(to, 0, single)
        return 1
    if form == 2:
        store(to, 0, bits)
        return 1
    return 0


def _number_on(tape, value):
    """The number of a value on a tape; -1 if it has none, -2 if Python must say."""
    kind = load(value, at.TYPE)
    if kind == this.TENSOR:
        pairs = load(value, at.TAPE)
        if pairs == 0:
            return -2
        if pairs == this.NONE:
            return -1
        if load(pairs, at.TYPE) != this.TUPLE:
            return -2
        end = load(pairs, at.SIZE)
        i = 0
        while i < end:
            if load(pairs + i * 8, at.ITEMS) == tape:
                return api.PyLong_AsLongLong(load(pairs + i * 8, at.ITEMS + 8))
            i += 2
        return -1
    if kind == this.PARAMETER:
        if load(value, at.TAPE) != this.NONE or load(tape, at.USED) != this.NONE:
            return -2
        named = load(tape, at.NAMED)
        if api.PyDict_Size(named) == 0:
            return -1
        key = api.PyLong_FromVoidPtr(value)
        if key == 0:
            return -2
        pair = api.PyDict_GetItem(named, key)
        api.Py_DecRef(key)
        if pair == 0:
            return -1
        number = load(pair, at.ITEMS + 8)
        if number == this.NONE:
            return -1
        return api.PyLong_AsLongLong(number)
    return -1


def _mixed(mixed, sizes, rank):
    """A hash with some sizes mixed in."""
    i = 0
    while i < rank:
        mixed = mixed * 31 + load(sizes + i * 8)
        i += 1
    return mixed


def _plan_of(operator, row, numbered, x, y):
    """The plan of a signature, 0 where none has been made."""
    rank_x = load32(x, at.NDIM) if x != 0 else 0
    rank_y = load32(y, at.NDIM) if y != 0 else 0
    sizes_x = load(x, at.SIZES) if x != 0 else 0
    sizes_y = load(y, at.SIZES) if y != 0 else 0
    mixed = (numbered * 31 + rank_x) * 31 + rank_y
    mixed = _mixed(_mixed(mixed, sizes_x, rank_x), sizes_y, rank_y)
    mixed = mixed ^ (mixed >> 6) ^ (mixed >> 17)
    plan = load(load(operator, at.OP_PLANS) + (mixed & (at.PLANS - 1)) * 8)
    if plan == 0:
        return 0
    if load(plan) != numbered or load(plan, 8) != rank_x or load(plan, 16) != rank_y:
        return 0
    if load(plan, 24) != load(row, at.ROW_IN):
        return 0
    key = plan + at.PLAN_SIZES
    if _equal_sizes(key, sizes_x, rank_x) == 0 or _equal_sizes(key + rank_x * 8, sizes_y, rank_y) == 0:
        return 0
    return plan


def _wrapped(array):
    """A new Tensor around an ndarray or DeviceArray, which it takes over."""
    made = api.PyType_GenericAlloc(this.TENSOR, 0)
    if made == 0:
        api.Py_DecRef(array)
        return 0
    none = this.NONE
    if load(array, at.TYPE) == this.NDARRAY:
        store(made, at.ARRAY, array)
    else:
        store(made, at.AWAY, array)
    store(made, at.TAPE, none)
    store(made, at.INIT, none)
    store(made, at.SHAPE, none)
    api.Py_IncRef(none)
    api.Py_IncRef(none)
    api.Py_IncRef(none)
    return made


def _new_array(dtype, rank, sizes):
    api.Py_IncRef(dtype)                                     # the call takes it
    return call(this.NEW_ARRAY, this.NDARRAY, dtype, rank, sizes, 0, 0, 0, 0)


def _kept(value, array, row, element):
    """What is saved of an operand, a new reference: the Tensor itself, or one around the array or number."""
    kind = load(value, at.TYPE)
    if kind == this.TENSOR or kind == this.PARAMETER:
        api.Py_IncRef(value)
        return value
    if array != 0:
        api.Py_IncRef(array)
        return _wrapped(array)
    array = _new_array(load(row, at.ROW_IN), 0, 0)
    if array == 0:
        return 0
    if load(row, at.ROW_STEP) == 8:
        store(load(array, at.DATA), 0, load(element))
    else:
        store32(load(array, at.DATA), 0, load32(element))
    return _wrapped(array)


def _compute(row, inputs, base_x, base_y, to, axes, counts, steps_x, steps_y, elements):
    """Run NumPy's loop over all elements: one call for each run of the innermost axis."""
    loop = load(row, at.ROW_LOOP)
    data = load(row, at.ROW_DATA)
    made = load(row, at.ROW_MADE)
    pointers = stack(3)
    steps = stack(3)
    count = stack(1)
    store(count, 0, load(counts))
    last = (inputs - 1) * 8
    store(steps, 0, load(steps_x))
    store(steps, 8, load(steps_y))
    store(steps + last, 8, made)
    if axes <= 1:
        store(pointers, 0, base_x)
        store(pointers, 8, base_y)
        store(pointers + last, 8, to)
        call(loop, pointers, count, steps, data)
        return 0
    iterations = stack(9)
    i = 0
    while i < axes:
        store(iterations + i * 8, 0, 0)
        i += 1
    run = load(counts) * made
    while elements > 0:
        store(pointers, 0, base_x)
        store(pointers, 8, base_y)
        store(pointers + last, 8, to)
        call(loop, pointers, count, steps, data)
        to += run
        elements -= load(counts)
        i = 1
        while i < axes:
            iteration = load(iterations + i * 8) + 1
            base_x += load(steps_x + i * 8)
            base_y += load(steps_y + i * 8)
            if iteration < load(counts + i * 8):
                store(iterations + i * 8, 0, iteration)
                break
            base_x -= iteration * load(steps_x + i * 8)
            base_y -= iteration * load(steps_y + i * 8)
            store(iterations + i * 8, 0, 0)
            i += 1
    return 0


def _operate(operator, a, b):
    """A new Tensor; 0 where Python must do it, or with an exception. b: 0 for an operator of one operand."""
    state = _thread()
    if state == 0:
        return 0
    tapes = load(state, at.TAPES)
    if load(tapes, at.SIZE) > 1:
        return 0
    x = _array_of(a)
    y = _array_of(b) if b != 0 else 0
    some = x if x != 0 else y
    if some == 0:
        return 0
    row = _row_of(operator, load(some, at.DESCR))
    if row == 0:
        return 0
    element = stack(1)
    if x == 0:
        if _element_of(a, load(row, at.ROW_FORM), element) == 0:
            return 0
    elif b != 0:
        if y == 0:
            if _element_of(b, load(row, at.ROW_FORM), element) == 0:
                return 0
        elif load(y, at.DESCR) != load(x, at.DESCR):
            return 0
    plan = 0
    tape = 0
    number_a = -1
    number_b = -1
    if load(tapes, at.SIZE) == 1 and load(row, at.ROW_TAPED) != 0:
        tape = load(tapes, at.ITEMS)
        if load(tape, at.TYPE) != this.TAPE:
            return 0
        number_a = _number_on(tape, a)
        number_b = _number_on(tape, b) if b != 0 else -1
        if number_a == -2 or number_b == -2:
            return 0
        if number_a >= 0 or number_b >= 0:
            plan = _plan_of(operator, row, (number_a >= 0) + 2 * (number_b >= 0), x, y)
            if plan == 0:
                return 0
    # the sizes of the result, and the axes of the loop: neighbours that lie alike in both operands are one axis
    rank_x = load32(x, at.NDIM) if x != 0 else 0
    rank_y = load32(y, at.NDIM) if y != 0 else 0
    rank = rank_x if rank_x > rank_y else rank_y
    if rank > 8:
        return 0
    sizes_x = load(x, at.SIZES) if x != 0 else 0
    sizes_y = load(y, at.SIZES) if y != 0 else 0
    sizes = stack(9)
    counts = stack(9)
    steps_x = stack(9)
    steps_y = stack(9)
    store(counts, 0, 1)
    store(steps_x, 0, 0)
    store(steps_y, 0, 0)
    axes = 0
    elements = 1
    step = load(row, at.ROW_STEP)
    next_x = step
    next_y = step
    i = 1
    while i <= rank:
        dx = load(sizes_x + (rank_x - i) * 8) if i <= rank_x else 1
        dy = load(sizes_y + (rank_y - i) * 8) if i <= rank_y else 1
        size = dx
        if dx != dy:
            if dx == 1:
                size = dy
            elif dy != 1:
                return 0                                     # Python says what is wrong
        store(sizes + (rank - i) * 8, 0, size)
        elements = elements * size
        if size != 1:
            by_x = next_x if dx != 1 else 0
            by_y = next_y if dy != 1 else 0
            innermost = counts + (axes - 1) * 8
            if axes > 0 and by_x == load(steps_x + (axes - 1) * 8) * load(innermost) and \
                    by_y == load(steps_y + (axes - 1) * 8) * load(innermost):
                store(innermost, 0, load(innermost) * size)
            else:
                store(counts + axes * 8, 0, size)
                store(steps_x + axes * 8, 0, by_x)
                store(steps_y + axes * 8, 0, by_y)
                axes += 1
        next_x = next_x * dx
        next_y = next_y * dy
        i += 1
    if elements >= load(row, at.ROW_LIMIT):
        return 0
    out = _new_array(load(row, at.ROW_OUT), rank, sizes)
    if out == 0:
        return 0
    if elements > 0:
        base_x = load(x, at.DATA) if x != 0 else element
        base_y = load(y, at.DATA) if y != 0 else element
        inputs = load(operator, at.OP_INPUTS)
        if elements < at.WORTH_RELEASING:
            _compute(row, inputs, base_x, base_y, load(out, at.DATA), axes, counts, steps_x, steps_y, elements)
        else:                                                # other threads run meanwhile; the arrays stay
            held_x = x if x != 0 else this.NONE
            held_y = y if y != 0 else this.NONE
            api.Py_IncRef(held_x)
            api.Py_IncRef(held_y)
            thread = api.PyEval_SaveThread()
            _compute(row, inputs, base_x, base_y, load(out, at.DATA), axes, counts, steps_x, steps_y, elements)
            api.PyEval_RestoreThread(thread)
            missing = 0
            if plan != 0:                                    # another thread may have put its own there
                plan = _plan_of(operator, row, (number_a >= 0) + 2 * (number_b >= 0), x, y)
                missing = plan == 0
            api.Py_DecRef(held_x)
            api.Py_DecRef(held_y)
            if missing != 0:
                api.Py_DecRef(out)
                return 0
        if api.PyErr_Occurred() != 0:                        # a negative power of an integer: Python says it again
            api.PyErr_Clear()
            api.Py_DecRef(out)
            return 0
    made = _wrapped(out)
    if made == 0 or plan == 0:
        return made
    if load(plan, at.PLAN_BACKWARD) != 0:
        numbers = stack(2)
        store(numbers, 0, number_a)
        store(numbers, 8, number_b)
        operands = stack(6)                                  # as AN_OPERAND of a record reads them
        store(operands, 0, a)
        store(operands, 8, b)
        store(operands, 16, x)
        store(operands, 24, y)
        store(operands, 32, row)
        store(operands, 40, element)
        if _enter(tape, load(plan, at.PLAN_BACKWARD), load(plan, at.PLAN_RECORD), operands, numbers, made) == 0:
            api.Py_DecRef(made)
            return 0
    return made


def _by_python(function, a, b):
    """function(a, b), or function(a) where b is 0."""
    given = stack(2)
    store(given, 0, a)
    store(given, 8, b)
    return api.PyObject_VectorcallDict(function, given, 2 if b != 0 else 1, 0)


def _method(operator, self, other):
    made = _operate(operator, self, other)
    if made != 0 or api.PyErr_Occurred() != 0:
        return made
    return _by_python(load(operator, at.OP_FORWARD), self, other)


def _reflected(operator, self, other):
    made = _operate(operator, other, self)
    if made != 0 or api.PyErr_Occurred() != 0:
        return made
    return _by_python(load(operator, at.OP_REFLECTED), self, other)


def _whole_by_python(function, self, args, count, names):
    """function(self, *args, **those with names)."""
    given = stack(count + 1)
    store(given, 0, self)
    i = 0
    while i < count:
        store(given + i * 8, 8, load(args + i * 8))
        i += 1
    if names == 0:
        return api.PyObject_VectorcallDict(function, given, count + 1, 0)
    keywords = api.PyDict_New()
    if keywords == 0:
        return 0
    i = 0
    while i < load(names, at.SIZE):
        if api.PyDict_SetItem(keywords, load(names + i * 8, at.ITEMS), load(args + (count + i) * 8)) != 0:
            api.Py_DecRef(keywords)
            return 0
        i += 1
    made = api.PyObject_VectorcallDict(function, given, count + 1, keywords)
    api.Py_DecRef(keywords)
    return made


def call_primitive(self, args, count, names):
    """Primitive.__call__: (self, the arguments, how many by position, names of the others). Machine code knows some."""
    known = load(self, at.NATIVE)
    if names == 0 and known != 0 and known != this.NONE:
        operator = api.PyLong_AsVoidPtr(known)
        if count == load(operator, at.OP_INPUTS):
            made = _operate(operator, load(args), load(args, 8) if count == 2 else 0)
            if made != 0 or api.PyErr_Occurred() != 0:
                return made
    slots = load(self, at.PLANS_OF)
    if slots != 0 and slots != this.NONE:
        state = _thread()
        if state != 0:
            made = _operate_by_plan(api.PyLong_AsVoidPtr(slots), at.TOP, state, args, count, names)
            if made != 0 or api.PyErr_Occurred() != 0:
                return made
    return _whole_by_python(this.CALL, self, args, count, names)
