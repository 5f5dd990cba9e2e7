"""Calls of compiled functions below Python, by the plans of compile/short_plan.py. Low Python, as native_code.py.

    f(x, y)  ->  the plan of this thread that fits; its test; new arrays; the Flow; new Tensors
"""
# flake8: noqa: F821    the names of low Python
# mypy: ignore-errors


def _new_results(plan, outs, arrays):
    """Make the new arrays of a plan behind its arguments in `arrays`: how many were made."""
    arguments = load(plan, at.PLAN_ARGUMENTS)
    word = plan + at.PLAN_HEAD
    i = 0
    while i < outs:
        if load(word) == 0:                                  # of a device, which Python asks for memory
            array = api.PyObject_VectorcallDict(load(word, 16), arrays, 0, 0)
        else:
            array = _new_array(load(word), load(word, 8), load(word, 16))
        if array == 0:
            return i
        store(arrays + (arguments + i) * 8, 0, array)
        word += 24
        i += 1
    return i


def _drop(values, start, end):
    """Give up the references number `start` to `end` of a row of them."""
    while start < end:
        api.Py_DecRef(load(values + start * 8))
        start += 1
    return 0


def _changed(checks):
    """The number, from 1, of the first check of a plan whose object is not the one that it was; 0 if all are: Python sees why."""
    check = checks + 8
    end = check + load(checks) * at.CHECK
    while check < end:
        kind = load(check)
        if kind == at.CHECK_ITEM:
            if api.PyDict_GetItem(load(check, 8), load(check, 16)) != load(check, 24):
                return (check - checks) // at.CHECK + 1
        else:
            if kind == at.CHECK_CELL:
                found = api.PyCell_Get(load(check, 8))
            else:
                found = api.PyObject_GetAttr(load(check, 8), load(check, 16))
            if found == 0:
                if api.PyErr_Occurred() != 0 and api.PyErr_ExceptionMatches(this.EXCEPTION) != 0:
                    api.PyErr_Clear()                        # Python reads it again and does what is right
                return (check - checks) // at.CHECK + 1
            read = found
            if kind == at.CHECK_METHOD:
                if load(found, at.TYPE) != this.METHOD or load(found, at.BOUND) != load(check, 32):
                    read = 0
                else:
                    read = load(found, at.FUNCTION)
            api.Py_DecRef(found)
            if read != load(check, 24):
                return (check - checks) // at.CHECK + 1
        check += at.CHECK
    return 0


def _call_by_plan(plan, args):
    """The value of a call, 0 where it does not fit or with an exception (compile/short_plan.py)."""
    store(plan, at.PLAN_REFUSED, 0)
    arguments = load(plan, at.PLAN_ARGUMENTS)
    outs = load(plan, at.PLAN_OUTS)
    arenas = load(plan, at.PLAN_ARENAS)
    if load(arenas, at.DEPTH) != this.OUTSIDE:               # a run is under way in this thread
        return 0
    buffer = load(plan, at.PLAN_BUFFER)
    if buffer != 0 and load(load(load(arenas, at.BUFFERS), at.LISTED)) != buffer:
        return 0
    arrays = stack(24)
    i = 0
    while i < arguments:
        value = load(args + i * 8)
        store(arrays + i * 8, 0, value)
        if load(plan, at.PLAN_DISTINCT) != 0:
            j = 0
            while j < i:
                if load(args + j * 8) == value:
                    return 0
                j += 1
        i += 1
    changed = _changed(load(plan, at.PLAN_CHECKS))
    if changed != 0:
        store(plan, at.PLAN_REFUSED, changed)
        return 0
    test = load(plan, at.PLAN_TEST)
    if test != 0:
        holds = api.PyObject_VectorcallDict(test, args, arguments, 0)
        if holds == 0:
            return 0
        api.Py_DecRef(holds)
        if holds != this.TRUE:
            store(plan, at.PLAN_REFUSED, at.BY_TEST)
            return 0
    fits = load(plan, at.PLAN_FITS)
    if fits != 0:                                            # before a device is asked for memory
        if call(fits, load(plan, at.PLAN_ENTRY), arrays, arguments) != 0:
            return 0
    made = _new_results(plan, outs, arrays)
    status = -1
    if made == outs:
        status = call(load(plan, at.PLAN_ENTER), load(plan, at.PLAN_ENTRY), arrays, arguments + outs)
    if status != 0:
        _drop(arrays, arguments, arguments + made)
        if status == -1:
            return 0
        return api.PyObject_VectorcallDict(load(plan, at.PLAN_FAILED), args, arguments, 0)
    store(plan, at.PLAN_CALLS, load(plan, at.PLAN_CALLS) + 1)
    i = arguments
    while i < arguments + outs:                              # the arrays become Tensors
        value = _wrapped(load(arrays + i * 8))
        if value == 0:                                       # that array is given up already
            _drop(arrays, arguments, i)
            return _drop(arrays, i + 1, arguments + outs)
        store(arrays + i * 8, 0, value)
        i += 1
    numbers = plan + at.PLAN_HEAD + outs * 24
    results = load(plan, at.PLAN_RESULTS)
    if results == -1:
        return load(arrays + (arguments + load(numbers)) * 8)
    value = api.PyTuple_New(results)
    if value == 0:
        return _drop(arrays, arguments, arguments + outs)
    i = 0
    while i < results:
        store(value + i * 8, at.ITEMS, load(arrays + (arguments + load(numbers + i * 8)) * 8))
        i += 1
    return value


def call_compiled(self, args, count, names):
    """A call of a compiled function: by the first plan that fits, else by Python."""
    if names == 0:
        state = _thread()
        if state != 0 and load(load(state, at.TAPES), at.SIZE) == 0:
            plans = load(self, at.PLAN_LIST)
            i = 0
            while plans != 0 and i + 1 < load(plans, at.SIZE):
                items = load(plans, at.LISTED)
                plan = load(load(items + i * 8), at.DATA)
                if load(plan) == state and load(plan, at.PLAN_ARGUMENTS) == count:
                    keeper = load(items + i * 8, 8)
                    api.Py_IncRef(keeper)
                    made = _call_by_plan(plan, args)
                    api.Py_DecRef(keeper)
                    if made != 0 or api.PyErr_Occurred() != 0:
                        return made
                i += 2
    return _whole_by_python(this.COMPILED, self, args, count, names)
