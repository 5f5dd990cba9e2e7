"""dataclass, made at the first instance: declaring a hundred classes costs no import a tenth of a second.

    from ..common.records import dataclass                    @dataclass(frozen=True)  class Alloc(Instruction): ..

What `dataclasses.dataclass` writes for a class (the source of six methods, each compiled by exec) is 1 ms of work, and most
programs use few of the classes that they import. Until then `__init__`, and `__setstate__` for an instance that is read from a
file or another process, stand for it. Classes with slots, or with an `__init__` of their own, are made at once.
"""
import dataclasses
import threading
from typing import TYPE_CHECKING

_PENDING = "_pending_dataclass"
_lock = threading.RLock()

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    def dataclass(cls=None, /, **options):
        """As dataclasses.dataclass."""
        def declare(cls):
            if options.get("slots") or any(name in cls.__dict__ for name in ("__init__", "__setstate__")):
                complete(cls.__base__)
                return dataclasses.dataclass(**options)(cls)

            def __init__(self, *args, **kwargs):
                complete(cls)
                cls.__init__(self, *args, **kwargs)

            def __setstate__(self, state):
                complete(cls)
                self.__dict__.update(state)
            cls.__init__, cls.__setstate__ = __init__, __setstate__
            setattr(cls, _PENDING, options)
            return cls
        return declare if cls is None else declare(cls)


def complete(cls):
    """Make what was declared of a class and of the classes that it is based on."""
    with _lock:
        for each in reversed(cls.__mro__):
            options = each.__dict__.get(_PENDING)
            if options is None:
                continue
            dataclasses.dataclass(**{**options, "init": False})(each)
            if options.get("init", True):                    # made for a class below, and put in place in one step
                below = dataclasses.make_dataclass(each.__name__, (), bases=(each,), frozen=options.get("frozen", False),
                                                   repr=False, eq=False)
                each.__init__ = below.__init__
            del each.__setstate__
            delattr(each, _PENDING)
