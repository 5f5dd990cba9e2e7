"""Where functions of other people's libraries lie: libraries that the process has loaded, or that packages brought.

    library = ctypes.CDLL(next(loaded_libraries(r"openblas")));   symbol_address(library, "scipy_cblas_sgemm64_")
"""
import ctypes
import glob
import importlib.util
import os
import re
import sys


def symbol_address(library, name):
    """The address of the function `name` in a ctypes library as an int, or None if it has none."""
    function = getattr(library, name, None)
    return None if function is None else ctypes.cast(function, ctypes.c_void_p).value


def loaded_libraries(pattern):
    """Paths of this process's shared objects that match the regular expression; none where there is no /proc."""
    if not os.path.exists("/proc/self/maps"):
        return []
    with open("/proc/self/maps") as maps:
        paths = dict.fromkeys(line.split(None, 5)[5].strip() for line in maps if len(line.split(None, 5)) == 6)
    return [path for path in paths if ".so" in path and re.search(pattern, path)]


def files_in_package(package, *below):
    """Paths inside an importable package that match the glob `below`, without importing it."""
    spec = importlib.util.find_spec(package)
    folders = (spec.submodule_search_locations or ()) if spec else ()
    return [path for folder in folders for path in sorted(glob.glob(os.path.join(folder, *below)))]


def files_of_distribution(names, distributions):
    """Existing files called one of `names` that one of the installed distributions brought, links resolved.

    Their lists of files (PyPA, "Recording installed projects") are read here: importlib.metadata brings the mail package along.
    """
    found = []
    for distribution in distributions:
        folders = {folder: f"{distribution.replace('-', '_')}-*.dist-info" for folder in sys.path if os.path.isdir(folder)}
        for folder, pattern in folders.items():
            for record in glob.glob(os.path.join(glob.escape(folder), pattern, "RECORD")):
                with open(record, encoding="utf-8") as lines:
                    files = [line.rsplit(",", 2)[0].strip('"') for line in lines]
                found += [os.path.realpath(os.path.join(folder, file)) for file in files if os.path.basename(file) in names]
    return [path for path in found if os.path.exists(path)]
