"""Files that are written whole or not at all.

    with replacing("net.ckpt") as stream: stream.write(..)         an error leaves the old file as it was
"""
import contextlib
import os
import secrets


@contextlib.contextmanager
def replacing(path):
    """Yield a binary file that takes the place of `path` when the block has ended; folders are made.

    raises : OSError
    """
    folder, name = os.path.split(os.path.abspath(path))
    os.makedirs(folder, exist_ok=True)
    beside = os.path.join(folder, f".{name}.{secrets.token_hex(4)}")
    try:
        with open(beside, "xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside)
        raise
