"""What the order of a set hangs on in this process, to be guarded where a graph is compiled with it.

TEXT    : of strings and bytes, whose hashes have a seed of the process (PYTHONHASHSEED)
PROCESS : of other objects, which hash by their addresses
"""
TEXT = hash("the order of a set")
PROCESS = object()
