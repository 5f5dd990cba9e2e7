"""A process that compiles: frames of LLVM IR text on stdin, frames of object code on stdout, in the same order.

A frame is its length as a little-endian int64, then its bytes. The protocol of `cache.compile_many`.
"""
import struct
import sys

from .machine_code import compile_object


def main():
    """Read until the end of stdin."""
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    while head := source.read(8):
        code = compile_object(source.read(struct.unpack("<q", head)[0]).decode())
        sink.write(struct.pack("<q", len(code)) + code)
        sink.flush()


if __name__ == "__main__":
    main()
