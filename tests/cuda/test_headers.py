"""Names, arguments and values of NVIDIA's libraries and driver beside the headers of the wheels, where those are installed."""
import ctypes
import glob
import importlib.util
import os
import re

import pytest

from mindlite.backend.cuda import cublas, driver, graphs
from mindlite.backend.cuda.nvidia import LIBRARIES, I, L, P

WORDS = {"size_t", "int64_t", "uint64_t", "cuuint64_t", "CUdeviceptr", "CUdeviceptr_v2", "long"}


def header(name):
    """The text of a header without comments; None where no wheel has it."""
    spec = importlib.util.find_spec("nvidia")
    for base in spec.submodule_search_locations or () if spec else ():
        for path in sorted(glob.glob(os.path.join(base, "*", "include", name)), reverse=True):
            with open(path, encoding="utf-8", errors="replace") as opened:
                text = opened.read()
            return re.sub(r"//[^\n]*|\s*\bCUDNN_DEPRECATED(_ENUM)?\b", "", re.sub(r"/\*.*?\*/", "", text, flags=re.S))
    return None


def headers(library):
    """All headers of a library, as one text; the test is skipped without them."""
    texts = [header(name) for name in library.header]
    if texts[0] is None:
        pytest.skip(f"{library.wheels[0]} is not installed here")
    return "\n".join(text for text in texts if text)


def values(text):
    """{name: value} of the enums and the #defines of a header."""
    found = {name: int(value, 0) for name, value in re.findall(r"#define\s+(\w+)\s+(0[xX][0-9a-fA-F]+|\d+)\s*$", text, re.M)}
    for body in re.findall(r"enum\s*\w*\s*\{(.*?)\}", text, re.S):
        number = -1
        for item in body.split(","):
            name, _, value = re.sub(r"^\s*#.*$", "", item, flags=re.M).strip().partition("=")
            name = name.split()[0] if name.split() else ""
            if name and re.fullmatch(r"[\w\s()|<+x-]*", value):
                known = set(re.findall(r"[A-Za-z_]\w*", value.replace("0x", "0"))) <= set(found)
                number = eval(f"({value})", {}, dict(found)) if value.strip() and known else number + 1
                found[name] = number
    return found


def pointers(text):
    """The names of types that are pointers."""
    return {name for name in re.findall(r"typedef\s+(?:const\s+)?(?:struct\s+)?\w+\s*\*\s*(\w+)\s*;", text)} | {"cudaStream_t"}


def kind(argument, of_pointers):
    """Of an argument as C has it: P, L or I, as ctypes passes it."""
    words = re.findall(r"\w+|\*|\[", argument)
    if "*" in words or "[" in words or of_pointers & set(words):
        return P
    return L if WORDS & set(words) else I


@pytest.mark.parametrize("name", LIBRARIES)
def test_each_constant_has_the_value_of_the_header(name):
    said = values(headers(LIBRARIES[name]))
    ours = LIBRARIES[name].constants
    assert ours and {constant: said.get(constant) for constant in ours} == ours


@pytest.mark.parametrize("name", LIBRARIES)
def test_each_function_has_the_arguments_of_the_header(name):
    text = headers(LIBRARIES[name])
    of_pointers = pointers(text)
    for function, arguments in LIBRARIES[name].functions.items():
        found = re.search(rf"\b{function}\s*\(([^;{{]*?)\)\s*;", text, re.S)
        assert found, function
        said = [a.strip() for a in found[1].split(",") if a.strip() not in ("", "void")]
        assert tuple(kind(a, of_pointers) for a in said) == arguments, (function, said)


def test_each_function_of_the_driver_has_the_arguments_of_the_header():
    text = header("cuda.h")
    if text is None:
        pytest.skip("nvidia-cuda-runtime is not installed here")
    of_pointers = pointers(text)
    as_passed = {ctypes.c_uint: I, ctypes.c_ubyte: I, ctypes.c_ulonglong: L}
    for function, arguments in driver.FUNCTIONS.items():
        found = re.search(rf"CUDAAPI\s+{function}\s*\(([^;{{]*?)\)\s*;", text, re.S)
        if found is None:                                    # the header names the newest by a macro
            name = re.search(rf"#define\s+(\w+)\s+{function}\b", text)[1]
            found = re.search(rf"CUDAAPI\s+{name}\s*\(([^;{{]*?)\)\s*;", text, re.S)
        said = [a.strip() for a in found[1].split(",") if a.strip() not in ("", "void")]
        assert tuple(kind(a, of_pointers) for a in said) == tuple(as_passed.get(a, a) for a in arguments), (function, said)
    said = values(text)
    for name, value in {"CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR": driver.MAJOR, "CU_EVENT_DISABLE_TIMING": driver.NO_TIMING,
                        "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR": driver.MINOR, "CUDA_ERROR_NOT_READY": driver.NOT_READY,
                        "CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT": driver.PROCESSORS,
                        "CU_STREAM_CAPTURE_MODE_RELAXED": graphs.RELAXED, "CUDA_ERROR_OUT_OF_MEMORY": driver.OUT_OF_MEMORY,
                        "CU_MEMPOOL_ATTR_RELEASE_THRESHOLD": driver.RELEASE_THRESHOLD,
                        "CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT": driver.RESERVED,
                        "CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH": driver.MOST_RESERVED}.items():
        assert said[name] == value, name


def test_the_result_of_the_heuristics_is_laid_out_as_it_is_read():
    text = headers(LIBRARIES["cublasLt"])
    algorithm, = re.findall(r"typedef struct \{\s*uint64_t data\[(\d+)\];\s*\} cublasLtMatmulAlgo_t;", text)
    body, = re.findall(r"typedef struct \{([^}]*)\} cublasLtMatmulHeuristicResult_t;", text)
    fields = re.findall(r"(\w+)\s+(\w+)(?:\[(\d+)\])?;", body)
    sizes = {"cublasLtMatmulAlgo_t": 8 * int(algorithm), "size_t": 8, "cublasStatus_t": 4, "float": 4, "int": 4}
    assert fields[0][0] == "cublasLtMatmulAlgo_t" and fields[1][:2] == ("size_t", "workspaceSize")
    assert sizes["cublasLtMatmulAlgo_t"] == cublas.ALGORITHM
    assert sum(sizes[type_] * int(count or 1) for type_, _, count in fields) == cublas.RESULT
