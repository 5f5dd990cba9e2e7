"""Every call that MindSpore's signature allows means the same here: parameters, their places and defaults, of every public name.

signatures.json is what `inspect` says of MindSpore 2.10, members.json what `dir` says of its objects (make_signatures.py). A name
may take more than MindSpore's. What differs stands in DIFFERENT with its reason, what is not there in missing.json. `python
test_signatures.py` in this directory writes missing.json anew and prints what differs.
"""
import json
import pathlib
import types

import pytest
from make_signatures import MEMBERS, home, signature

from mindlite import Parameter, Tensor, nn, ops
from mindlite.mindir.primitive import Primitive
from mindlite.mindspore.table import MEMBERS as MEMBERS_REFUSED
from mindlite.mindspore.table import REFUSED
from mindlite.ops.methods import SYNONYMS

INSTANCES = {"Tensor": Tensor([1.0]), "Parameter": Parameter(Tensor([1.0]), name="p"), "Cell": nn.ReLU()}
HERE = pathlib.Path(__file__).parent
EXPECTED = json.loads((HERE / "signatures.json").read_text())
for _name, _members in json.loads((HERE / "members.json").read_text()).items():       # what `dir` says of an instance
    EXPECTED[_name] = {**dict.fromkeys(_members), **EXPECTED[_name]}
MISSING = json.loads((HERE / "missing.json").read_text())
HIDDEN = [["args", "*", None], ["kwargs", "**", None]]
ENUM = [["value", "", None], *[[name, "key" * (name != "names"), "1" if name == "start" else "none"]
                               for name in ("names", "module", "qualname", "type", "start", "boundary")]]
_CLEARER = "a name's own default says more than MindSpore's, and means the same"
_RATHER = "docs/differences.md, Arguments"
_PLACE = "its arguments are given by position"
_FIRST = "the Tensor that is written is given by position"
_LATER = "not there yet: an error says so where it is given"
_NONE = "None and MindSpore's default mean the same"
_ASCEND = "an operator of Ascend: a call is refused"
_WORLD = "the world's group is the default in its place"
DIFFERENT = {
    "": {"jit": _RATHER, "tensor": _RATHER, "Symbol": _RATHER, "RowTensor": _RATHER,
         "JitConfig": "it takes any words and keeps them"},
    "CSRTensor": {"mv": "its argument is given by position"},
    "Cell": {"named_buffers": _LATER, "recompute": _LATER, "register_forward_hook": _LATER},
    "Parameter": {"init_data": _RATHER, "register_hook": "the hook is given by position"},
    "Tensor": {"uniform_": _CLEARER, "index_add_": _PLACE, "exponential_": _PLACE, "ormqr": _PLACE,
               "bernoulli": _RATHER, "init_data": _RATHER,
               "searchsorted": _CLEARER, "reverse_sequence": _CLEARER, "softmax": "dtype is given by name",
               "qr": "it is `mode` of ops.qr, as MindSpore's own function has it"},
    "communication.comm_func": dict.fromkeys(
        ("all_to_all_single_with_output_shape", "all_to_all_with_output_shape", "P2POp"), _WORLD),
    "mint.distributed": {"P2POp": _WORLD},
    "dataset.vision": {"Erase": "0 and 0.0 fill alike", "not_random": "a decorator", **dict.fromkeys(
        ("read_video", "read_video_timestamps", "VideoDecoder"), "videos are refused by an error")},
    "dataset.vision.utils": dict.fromkeys(
        ("read_video", "read_video_timestamps", "VideoDecoder"), "videos are refused by an error"),
    "profiler": {"_ExperimentalConfig": _LATER, "schedule": _LATER},
    "multiprocessing": {"Pool": "it is Python's, which knows its context"},
    "nn": {"GraphCell": _RATHER},
    "numpy": {"empty_like": _RATHER},
    "ops.operations": {"DynamicShape": _LATER, **dict.fromkeys(("DynamicGRUV2", "DynamicRNN"), _ASCEND)},
    "ops": {**dict.fromkeys(("DynamicGRUV2", "DynamicRNN", "flash_attention_score"), _ASCEND),
            "P2POp": _WORLD, "partial": "it is functools.partial", "relu": _RATHER, "DynamicShape": _LATER, "csr_mm": _RATHER,
            **dict.fromkeys(
                ("Primitive", "PrimitiveWithCheck", "PrimitiveWithInfer"), "its base takes the settings of all classes"),
            **dict.fromkeys(
                ("reduce_sum", "reduce_mean", "reduce_min", "reduce_max", "randint", "randperm", "logspace"), _NONE),
            **dict.fromkeys(("bernoulli_", "exponential_", "normal_", "put_", "random_", "uniform_",
                             "zero_"), _FIRST)},
    "scipy.optimize": {"linear_sum_assignment": "the default is the greatest int64 in both"},
}


def names_of(function, of_tensor):
    """{another name of an argument: its name} that a call may use."""
    inside = function
    while hasattr(inside, "__wrapped__"):
        inside = inside.__wrapped__
    others = dict(inside.other_names) if isinstance(inside, Primitive) else {}
    if of_tensor and found(inside):
        own = {name for name, _, _ in found(inside)}
        for group in SYNONYMS:
            others.update({other: name for name in group if name in own for other in group if other not in own})
    return others


def found(value):
    """The signature here; that of the operator where a method hands everything on."""
    made = signature(value)
    if made and [kind for _, kind, _ in made if kind] == ["*", "**"]:
        other = getattr(ops, getattr(value, "__name__", "").rstrip("_"), None)
        return signature(other) or made
    return made


def refused(wanted, own, others, member):
    """Why a call that `wanted` allows is none of `own`; "" if each is one."""
    if own is None:
        return "nothing is known of its arguments"
    if wanted == ENUM:                           # each Python tells others of the parameters of an Enum's class
        return ""
    if any(kind == "*" for _, kind, _ in wanted) or wanted == HIDDEN:
        return ""
    wanted, own = ([p for p in s if p[0] != "self"] for s in (wanted, own))
    own = own[member and bool(own) and own[0][0] not in {name for name, _, _ in wanted}:]             # self, by another name
    by_name, places = {name: default for name, _, default in own}, [name for name, kind, _ in own if not kind]
    place = 0
    for name, kind, default in wanted:
        if kind == "**":
            continue
        name = name if name in by_name else others.get(name, name)
        if name not in by_name:
            return f"{name} is missing"
        if default is not None and by_name[name] != default:
            return f"{name} is {by_name[name]} by default, not {default}"
        if not kind and places[place:place + 1] != [name]:
            return f"{name} is not at its place"
        place += not kind
    optional = {name for name, kind, default in own if kind in ("*", "**") or default is not None}
    missing = set(by_name) - {others.get(name, name) for name, _, _ in wanted} - optional
    return f"{sorted(missing)[0]} is wanted" if missing else ""


def here(namespace):
    """The module or class of a namespace; one without any name where it is missing as a whole."""
    try:
        return home("mindlite.mindspore", namespace)
    except ModuleNotFoundError:
        return types.SimpleNamespace()


def absent(namespace):
    """The names of a namespace that are missing here, sorted."""
    place, one = here(namespace), INSTANCES.get(namespace)
    return sorted(name for name in EXPECTED[namespace] if not hasattr(place, name) and not hasattr(one, name))


def test_the_comparison_sees_what_is_not_the_same():
    ours = [["x", "", None], ["axis", "", "0"], ["eps", "key", "1"]]
    assert refused([["x", "", None], ["axis", "", "0"]], ours, {}, False) == ""
    assert refused([["y", "", None], ["dim", "", "0"]], ours, {"y": "x", "dim": "axis"}, False) == ""
    assert refused([["x", "", None], ["axis", "", "1"]], ours, {}, False) == "axis is 0 by default, not 1"
    assert refused([["axis", "", None], ["x", "", None]], ours, {}, False) == "axis is not at its place"
    assert refused([["x", "", None], ["out", "key", "none"]], ours, {}, False) == "out is missing"
    assert refused([["axis", "key", "0"]], ours, {}, False) == "x is wanted"


def differences(namespace):
    """{name: why} of a namespace."""
    place, made = here(namespace), {}
    for name, wanted in EXPECTED[namespace].items():
        value = getattr(place, name, None)
        if value is not None and wanted is not None:
            member = namespace in MEMBERS
            why = refused(wanted, found(value), names_of(value, member), member)
            if why:
                made[name] = why
    return made


@pytest.mark.parametrize("namespace", EXPECTED)
def test_every_call_that_mindspore_allows_means_the_same(namespace):
    made = differences(namespace)
    assert not {name: made[name] for name in made.keys() - DIFFERENT.get(namespace, {}).keys()}, "differ and are not in DIFFERENT"


@pytest.mark.parametrize("namespace", EXPECTED)
def test_no_other_name_is_missing_than_those_of_the_table(namespace):
    assert not set(absent(namespace)) - set(MISSING.get(namespace, ()))


def test_the_table_names_no_member_that_is_here():
    lacking = {name for namespace in INSTANCES for name in MISSING[namespace]}
    assert set(MEMBERS_REFUSED) == lacking
    for namespace in INSTANCES:
        assert set(absent(namespace)) == set(MISSING[namespace]), namespace


def test_every_name_that_is_missing_has_its_reason_which_the_error_for_it_says():
    for namespace, names in MISSING.items():
        assert not set(names) - set(MEMBERS_REFUSED if namespace in INSTANCES else REFUSED), namespace
    with pytest.raises(AttributeError, match="an operator of Ascend alone"):
        here("ops").add_rms_norm


if __name__ == "__main__":
    lacking = {namespace: names for namespace in EXPECTED if (names := absent(namespace))}
    (HERE / "missing.json").write_text(json.dumps(lacking, indent=1) + "\n")
    for namespace in EXPECTED:
        print(namespace, json.dumps(differences(namespace), indent=1))
