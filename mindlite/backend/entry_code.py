"""The builtin below python_entry.py: from ndarrays and DeviceArrays to addresses in a context, then the Flow. Low Python."""
# flake8: noqa: F821    the names of low Python
# mypy: ignore-errors


def _array_of(item, args):
    """The ndarray that an item of a plan names, if it is as the item says; else 0."""
    kind = load(item)
    found = load(item, 8) if kind == at.HELD else load(args + load(item, 8) * 8)
    if load(found, at.TYPE) != load(item, 16):
        return 0
    if kind != at.ARRAY:
        found = _array_in(found, at.SLOT)
        if found == 0:
            return 0
    if load32(found, at.FLAGS) & 257 != 257 or _has_form(found, load(item, 24), load(item, 32), load(item, 40)) == 0:
        return 0
    return found


def _away_of(item, args):
    """The DeviceArray that an item names, if it is as the item says; else 0."""
    kind = load(item) - at.AWAY
    found = load(item, 8) if kind == at.HELD else load(args + load(item, 8) * 8)
    if load(found, at.TYPE) != load(item, 16):
        return 0
    if kind != at.ARRAY:
        if load(found, at.SLOT) != 0:
            return 0
        found = load(found, at.AWAY_SLOT)
        if found == 0 or load(found, at.TYPE) != this.DEVICE_ARRAY:
            return 0
    if load(found, at.AWAY_DTYPE) != load(item, 24) or load(found, at.AWAY_DEVICE) != load(item, 32):
        return 0
    shape = load(found, at.AWAY_SHAPE)
    if shape != load(item, 40) and 255 & api.PyObject_RichCompareBool(shape, load(item, 40), 2) != 1:
        return 0                                             # they are tuples of int: no comparison of theirs raises
    return found


def fit_entry(plan, args, count):
    """0 if the first `count` arguments of a plan, and what it holds, are as its items say; at.MISFIT. Nothing runs."""
    item = plan + at.HEAD
    end = item + load(plan, 24) * at.WIDTH
    while item < end:
        kind = load(item)
        away = kind >= at.AWAY
        if away != 0:
            kind -= at.AWAY
        if kind == at.HELD or load(item, 8) < count:
            if away != 0:
                if _away_of(item, args) == 0:
                    return at.MISFIT
            elif _array_of(item, args) == 0:
                return at.MISFIT
        item += at.WIDTH
    return 0


def run_entry(plan, args, count):
    """The status of the run, at.MISFIT where nothing has run. plan: its address"""
    if load(plan, 16) != count:
        return at.MISFIT
    context = load(plan, 8)
    items = load(plan, 24)
    arrays = stack(items)
    item = plan + at.HEAD
    n = 0
    while n < items:
        if load(item) >= at.AWAY:
            array = _away_of(item, args)
            if array == 0:
                return at.MISFIT
            address = api.PyLong_AsLongLong(load(array, at.AWAY_ADDRESS))
        else:
            array = _array_of(item, args)
            if array == 0:
                return at.MISFIT
            address = load(array, at.DATA)
        store(context + load(item, 48) * 8, 0, address)
        store(arrays + n * 8, 0, array)
        item += at.WIDTH
        n += 1
    if load(plan, 32) != 0:                                  # nothing else runs meanwhile, so nothing goes away
        return call(load(plan), context)
    n = 0
    while n < items:                                         # they live until the run ends, whatever other threads do
        api.Py_IncRef(load(arrays + n * 8))
        n += 1
    thread = api.PyEval_SaveThread()
    status = call(load(plan), context)
    api.PyEval_RestoreThread(thread)
    n = 0
    while n < items:
        api.Py_DecRef(load(arrays + n * 8))
        n += 1
    return status


def fit(self, args, count):
    """`fit_entry` for Python: True or False, by their numbers."""
    return api.PyBool_FromLong(fit_entry(api.PyLong_AsVoidPtr(self), args, count) == 0)


def enter(self, args, count):
    """The same for Python: (the address of a plan, an int; the arguments) -> an int."""
    return api.PyLong_FromLongLong(run_entry(api.PyLong_AsVoidPtr(self), args, count))
