"""Guards: what was read at compile time (globals, closure cells, attributes) and must still be so at a call."""

_MISSING = object()


def current_value(kind, owner, name):
    """What a guard would read now."""
    if kind == "item":
        return owner.get(name, _MISSING)
    if kind == "cell":
        try:
            return owner.cell_contents
        except ValueError:
            return _MISSING
    return getattr(owner, name, _MISSING)


def same_value(a, b):
    """Is what was read still the same? Objects by identity, numbers, strings and tuples of them by value."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, (int, float, str, bytes, complex)):
        return a == b
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same_value, a, b))
    if hasattr(a, "__func__"):
        return a.__func__ is b.__func__ and a.__self__ is b.__self__
    return False


def guards_hold(guards):
    """True if everything that was read at compile time is as it was."""
    for kind, owner, name, value in guards:
        if kind == "item":
            now = owner.get(name, _MISSING)
        else:
            now = current_value(kind, owner, name)
        if now is not value and not same_value(now, value):
            return False
    return True


def changed_guard(guards):
    """Words for the first guard that does not hold."""
    for kind, owner, name, value in guards:
        if not same_value(current_value(kind, owner, name), value):
            where = "" if kind == "attr" and owner is None else f"{type(owner).__name__}." if kind == "attr" else ""
            return f"{where}{name}"
    return "nothing"
