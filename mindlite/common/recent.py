"""Recent: a dict that forgets. What is cached for each tuple of sizes or each signature has a bound.

    layouts = Recent()
    layouts.find(sizes)                        the value, which is the latest from now on; None
    layouts.put(sizes, layout, most=1024)      the value, entered; what came longest ago goes where there are more than `most`
"""
from typing import Any

from .locks import new_lock

_lock = new_lock()


class Recent(dict):
    """A dict in the order in which its entries were last put or found. A look-up by [] or get does not count."""
    __slots__ = ()

    def find(self, key: Any) -> Any:
        """The value of a key, which becomes the latest; None where there is none."""
        with _lock:
            value = self.pop(key, None)
            if value is not None:
                self[key] = value
        return value

    def put(self, key: Any, value: Any, most: int) -> Any:
        """Enter a value, which is not None, and forget the oldest beyond `most`. out : the value"""
        with _lock:
            self.pop(key, None)
            self[key] = value
            while len(self) > most:
                del self[next(iter(self))]
        return value

    def latest(self) -> Any:
        """The value that was put or found last; None where there is none."""
        with _lock:
            return self[next(reversed(self))] if self else None
