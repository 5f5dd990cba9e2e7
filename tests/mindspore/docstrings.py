"""The examples of MindSpore's docstrings, run on mindlite: how many print what they say.

    python tests/mindspore/docstrings.py --mindspore PYTHON [--room nn ops ...] [--only NAME] [--verbose] [--json FILE]

PYTHON is an interpreter of another environment in which MindSpore is installed. It is asked twice: for the docstrings of the
public names, and to run their examples itself. An example counts when MindSpore prints what the docstring says; then mindlite,
imported as `mindspore`, runs it. The texts are read from the installed package and are not kept.

Numbers agree to 1e-4, relative or absolute; spaces and line breaks do not count, nor do the brackets of an empty Tensor and the
name of the package in the name of a class; `...` stands for anything.
"""
import argparse
import collections
import doctest
import importlib
import inspect
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import traceback

ROOMS = {
    "nn": ("mindspore.nn",), "ops": ("mindspore.ops",), "tensor": ("mindspore.Tensor", "mindspore.Parameter", "mindspore"),
    "numpy": ("mindspore.numpy",),
    "mint": ("mindspore.mint", "mindspore.mint.nn", "mindspore.mint.nn.functional", "mindspore.mint.optim",
             "mindspore.mint.linalg", "mindspore.mint.special"),
    "amp": ("mindspore.amp",), "train": ("mindspore.train", "mindspore.train.metrics"),
    "scipy": ("mindspore.scipy.linalg", "mindspore.scipy.fft", "mindspore.scipy.optimize"),
}
SECONDS = 60
SAME_WORDS = {"mindlite": "mindspore"}              # in <class 'mindspore.common.tensor.Tensor'>
NUMBER = r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|\binf\b|\bnan\b)j?"
TOKEN = re.compile(rf"(?P<number>{NUMBER})|(?P<any>\.\.\.)|(?P<word>[A-Za-z_]\w*)|(?P<sign>\S)")


def examples_of(room):
    """(name, docstring) of each public name of a room that has examples. Runs where MindSpore is installed."""
    found, seen = [], set()
    for path in ROOMS[room]:
        owner = None
        try:
            owner = importlib.import_module(path)
        except ImportError:
            module, _, name = path.rpartition(".")
            owner = getattr(importlib.import_module(module), name, None)
        for name in sorted(vars(owner)) if owner is not None else ():
            value = None if name.startswith("_") else inspect.getattr_static(owner, name)
            text = getattr(value, "__doc__", None)
            if not isinstance(text, str) or ">>>" not in text or text in seen or inspect.ismodule(value):
                continue
            seen.add(text)
            found.append((f"{path}.{name}", inspect.cleandoc(text)))
    return found


def collect(arguments):
    rooms = {room: examples_of(room) for room in arguments.room}
    with open(arguments.json, "w", encoding="utf-8") as out:
        json.dump(rooms, out)


def run_one(text):
    """Run the examples of one docstring. Returns [(source, wanted, got or None, error or None)], up to the first error."""
    space = {"__name__": "__main__"}
    lines = []
    for example in doctest.DocTestParser().get_examples(text):
        out, stdout = io.StringIO(), sys.stdout
        sys.stdout = out
        error = None
        try:
            exec(compile(example.source, "<example>", "single"), space)
        except BaseException as fault:                          # whatever the example raises is what it shows
            error = "".join(traceback.format_exception_only(type(fault), fault)).strip()
        finally:
            sys.stdout = stdout
        lines.append((example.source, example.want, out.getvalue(), error if error and not example.exc_msg else None))
        if error and not example.exc_msg:
            break
    return lines


def run(arguments):
    """Run each docstring of the file in a child of its own, with a time limit."""
    if arguments.alias:
        from mindlite.mindspore import alias
        alias.install()
    import mindspore                                             # noqa: F401  (once; the children share it)
    with open(arguments.texts, encoding="utf-8") as texts:
        rooms = json.load(texts)
    results = {}
    for room, examples in rooms.items():
        for name, text in examples:
            if arguments.only and arguments.only not in name:
                continue
            results[name] = in_child(text)
    with open(arguments.json, "w", encoding="utf-8") as out:
        json.dump(results, out)


def in_child(text):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        os.chdir(tempfile.mkdtemp())
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 2)
        os.dup2(null, 1)
        signal.alarm(SECONDS)
        answer = json.dumps(run_one(text)).encode()
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(answer)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read()
    _, status = os.waitpid(child, 0)
    if not answer:
        return [["", "", "", f"ended by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "ended"]]
    return json.loads(answer)


def same(wanted, got):
    """Whether two printed texts agree: numbers to 1e-4, no matter the spaces."""
    wanted, got = (list(TOKEN.finditer(re.sub(r"value=\s*\[\]", "value=", text))) for text in (wanted, got))
    at = 0
    for position, token in enumerate(wanted):
        if token.lastgroup == "any":
            rest = wanted[position + 1:]
            if not rest:
                return True
            while at < len(got) and got[at].group() != rest[0].group():
                at += 1
            continue
        if at >= len(got) or not same_token(token, got[at]):
            return False
        at += 1
    return at == len(got)


def same_token(wanted, got):
    if wanted.lastgroup == got.lastgroup == "number":
        a, b = complex(wanted.group()), complex(got.group())
        return a == b or (a != a and b != b) or abs(a - b) <= 1e-4 * max(1.0, abs(a))
    return SAME_WORDS.get(wanted.group(), wanted.group()) == SAME_WORDS.get(got.group(), got.group())


def judge(lines):
    """"same", "prints" with what differs, "raises" with the error, or "silent" where the docstring prints nothing."""
    prints = False
    for source, wanted, got, error in lines:
        if error:
            return "raises", f"{source.strip()}\n    {error}"
        if wanted.strip():
            prints = True
            if not same(wanted, got):
                return "prints", f"{source.strip()}\n    docstring: {wanted.strip()}\n    printed:   {got.strip()}"
    return ("same", "") if prints else ("silent", "")


def report(arguments):
    here, environment = os.path.abspath(__file__), dict(os.environ)
    root = os.path.dirname(os.path.dirname(os.path.dirname(here)))
    with tempfile.TemporaryDirectory() as folder:
        texts, theirs, ours = (os.path.join(folder, name) for name in ("texts", "theirs", "ours"))
        foreign = {name: value for name, value in environment.items() if name != "PYTHONPATH"}
        only = ["--only", arguments.only] if arguments.only else []
        subprocess.run([arguments.mindspore, here, "collect", "--room", *arguments.room, "--json", texts], check=True,
                       env=foreign, stderr=subprocess.DEVNULL)
        subprocess.run([arguments.mindspore, here, "run", texts, "--json", theirs, *only], check=True, env=foreign,
                       stderr=subprocess.DEVNULL)
        environment["PYTHONPATH"] = os.pathsep.join([root, environment.get("PYTHONPATH", "")])
        subprocess.run([sys.executable, here, "run", texts, "--alias", "--json", ours, *only], check=True, env=environment)
        with open(texts, encoding="utf-8") as a, open(theirs, encoding="utf-8") as b, open(ours, encoding="utf-8") as c:
            rooms, theirs, ours = json.load(a), json.load(b), json.load(c)
    everything = collections.Counter()
    for room, examples in rooms.items():
        counts = collections.Counter()
        for name, _ in examples:
            if name not in theirs or judge(theirs[name])[0] != "same":
                continue
            word, what = judge(ours[name])
            counts[word] += 1
            if word != "same" and arguments.verbose:
                print(f"{name}: {word}: {what}", flush=True)
        everything += counts
        print(line(room, counts), flush=True)
    print(line("all", everything))


def line(room, counts):
    total = sum(counts.values())
    return f"{room:8} {counts['same']:5} of {total:5} print the same ({counts['same'] / max(total, 1):.1%}); " \
           f"{counts['prints']} print something else, {counts['raises']} raise"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    if sys.argv[1:2] == ["collect"]:
        parser.add_argument("verb")
        parser.add_argument("--room", nargs="*")
        parser.add_argument("--json")
        return collect(parser.parse_args())
    if sys.argv[1:2] == ["run"]:
        for name in ("verb", "texts", "--json", "--only"):
            parser.add_argument(name)
        parser.add_argument("--alias", action="store_true")
        return run(parser.parse_args())
    parser.add_argument("--mindspore", required=True, help="the interpreter of an environment with MindSpore")
    parser.add_argument("--room", nargs="*", default=list(ROOMS), choices=list(ROOMS))
    parser.add_argument("--only", help="names that contain this text")
    parser.add_argument("--verbose", action="store_true", help="print what differs")
    return report(parser.parse_args())


if __name__ == "__main__":
    main()
