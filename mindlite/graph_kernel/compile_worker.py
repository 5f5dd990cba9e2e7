"""A process that compiles: frames of text (LLVM IR or Python) on stdin, frames of object code on stdout, in the same order.

A frame is its length as a little-endian int64, then its bytes. The protocol of `cache.compile_many`.
"""
import struct
import sys

from .cache import compile_text


def main():
    """Read until the end of stdin."""
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    while head := source.read(8):
        code = compile_text(source.read(struct.unpack("<q", head)[0]).decode())
        sink.write(struct.pack("<q", len(code)) + code)
        sink.flush()


if __name__ == "__main__":
    main()
