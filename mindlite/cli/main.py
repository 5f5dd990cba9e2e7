"""Run a program for MindSpore, or look inside a program from the command line: run it, then print what was compiled.

    python -m mindlite run train.py --epochs 3              `import mindspore` in it is mindlite
    python -m mindlite run -n 4 train.py                    the same as four ranks; msrun --worker_num 4 train.py says so too
    python -m mindlite ir model.py step --stage fuse        python -m mindlite doctor
    python -m mindlite kernel model.py                      python -m mindlite view model.py step -o step.html
    python -m mindlite check model.py                       python -m mindlite check model.py --run --json
    python -m mindlite simulate gpt3-175b --devices 1024    a forecast of many devices

`check` reads the file and runs nothing, unless an option asks for it; its status is 1 where Python would run a part of a graph.
Else the program runs as `__main__`; what it prints goes to stderr, so that stdout holds the answer only. Arguments after `--`
are the program's.
"""
import argparse
import contextlib
import json
import os
import runpy
import shutil
import subprocess
import sys
import traceback

from ..common.errors import ArgumentError
from ..common.events import listen
from ..debug import diff, doctor, explain, ir, kernel, memory, python, steps, view
from ..debug.check import check_compiled, check_file, reports_as_data, show_reports
from ..debug.target import compiled_functions
from ..mindspore import alias
from .simulate import add_arguments, simulate

STAGES = ("parse", "infer", "transform", "optimise", "fuse", "plan")
LOOK = {
    "ir": ("the graph after a stage", lambda f, a: ir(f, a.stage)),
    "python": ("a stage as Python: a gradient that reads like a function", lambda f, a: python(f, a.stage)),
    "steps": ("all stages: nodes, seconds, what changed", lambda f, a: steps(f)),
    "diff": ("what a stage changed", lambda f, a: diff(f, *a.stages)),
    "kernel": ("the source of the fused kernels", lambda f, a: kernel(f, library=a.library)),
    "explain": ("why it was compiled, what runs in Python and why", lambda f, a: explain(f, a.details)),
    "memory": ("which storage lives when, and where", lambda f, a: memory(f)),
    "view": ("all of that as one HTML page", lambda f, a: f"wrote {view(f, a.output)}\n"),
}


def parser():
    """The argparse parser of all commands."""
    top = argparse.ArgumentParser(prog="mindlite", description="Look inside what mindlite compiles.")
    commands = top.add_subparsers(dest="command", required=True, metavar="command")
    commands.add_parser("doctor", help="what this machine offers, and what would help")
    run = commands.add_parser("run", help="run a program for MindSpore as it is: `import mindspore` is mindlite",
                              description="Run FILE as __main__, where `mindspore` means mindlite.mindspore.")
    run.add_argument("-n", "--ranks", type=int, default=0, help="start so many processes, which `communication.init` joins")
    run.add_argument("--log", help=argparse.SUPPRESS)        # where a rank writes, without its number and .log
    run.add_argument("file", help="a Python program")
    run.add_argument("arguments", nargs=argparse.REMAINDER, help="what the program gets")
    msrun = commands.add_parser("msrun", help="run a program for MindSpore as several ranks on this machine")
    msrun.add_argument("--worker_num", type=int, required=True, help="how many processes")
    msrun.add_argument("--local_worker_num", type=int, help="how many of them on this machine: all")
    msrun.add_argument("--log_dir", default="", help="a folder: each rank writes to worker_RANK.log there, not to the terminal")
    msrun.add_argument("--worker_log_name", default="worker", help="the name of these files in place of worker")
    msrun.add_argument("--node_rank", type=int, help="0, or left out: there is one machine")
    for name in ("master_addr", "master_port", "cluster_time_out", "join", "tail_worker_log"):
        msrun.add_argument(f"--{name}", help="without meaning here: MPI joins the processes, and msrun waits for them")
    msrun.add_argument("file", help="a Python program")
    msrun.add_argument("arguments", nargs=argparse.REMAINDER, help="what the program gets")
    add_arguments(commands)
    check = commands.add_parser("check", help="which functions become graphs, and what of them runs in Python and why",
                                description="Read FILE as graph mode does. Status 0: all is native; 1: it is not.")
    check.add_argument("file", help="a Python program")
    check.add_argument("--function", help="this one only, whether it becomes a graph or not")
    check.add_argument("--json", action="store_true", help="print data in place of text")
    check.add_argument("--run", action="store_true", help="run the program, then tell what was really compiled")
    for name, (text, _) in LOOK.items():
        command = commands.add_parser(name, help=text, description=f"Run FILE, then print {text}.")
        command.add_argument("file", help="a Python program that calls compiled functions")
        command.add_argument("function", nargs="?", help="its name; all functions by default")
        if name in ("ir", "python"):
            command.add_argument("--stage", choices=STAGES, default="optimise")
        if name == "diff":
            command.add_argument("--stages", nargs=2, choices=STAGES[:-1], default=("transform", "optimise"),
                                 metavar=("BEFORE", "AFTER"))
        if name == "kernel":
            command.add_argument("--library", action="store_true", help="print the code that writes library kernels too")
        if name == "explain":
            command.add_argument("--details", action="store_true", help="stages, kernels, and what was not fused, too")
        if name == "view":
            command.add_argument("-o", "--output", help="the file to write")
    return top


def main(argv=None):
    """Run a command; gives the exit status: 0, 1 if the program fails, 2 if there is nothing to show."""
    argv = list(sys.argv[1:] if argv is None else argv)
    own, rest = (argv[:argv.index("--")], argv[argv.index("--") + 1:]) if "--" in argv else (argv, [])
    arguments = parser().parse_args(own)
    if arguments.command == "doctor":
        sys.stdout.write(doctor())
        return 0
    if arguments.command == "simulate":
        return simulate(arguments)
    if not os.path.isfile(arguments.file):
        return _complain(f"there is no file {arguments.file}")
    if arguments.command == "msrun":
        if arguments.local_worker_num not in (None, arguments.worker_num) or arguments.node_rank not in (None, -1, 0):
            return _complain("msrun starts processes on this machine only; on several machines: mpirun, with a list of hosts")
        log = os.path.join(arguments.log_dir, arguments.worker_log_name) if arguments.log_dir else ""
        return start_ranks(arguments.worker_num, arguments.file, arguments.arguments + (["--", *rest] if rest else []), log)
    if arguments.command == "run" and arguments.ranks:
        return start_ranks(arguments.ranks, arguments.file, arguments.arguments + (["--", *rest] if rest else []))
    if arguments.command == "run":
        if arguments.log:
            write_to(f"{arguments.log}_{launched_rank()}.log")
        return run_as_mindspore(arguments.file, arguments.arguments + (["--", *rest] if rest else []))
    found = []
    if arguments.command != "check" or arguments.run:
        try:
            found = run_program(arguments.file, rest)
        except KeyboardInterrupt:
            return _complain("interrupted", 130)
        except Exception:
            traceback.print_exc()
            return 1
    wanted = matching(found, arguments.function)
    if arguments.command == "check":
        return check(arguments, wanted)
    if arguments.command != "explain":
        wanted = [f for f in wanted if f.variants]
    if not wanted:
        names = ", ".join(dict.fromkeys(f.name for f in found))
        return _complain(f"{arguments.file} compiled no function named {arguments.function!r}; there are: {names}"
                         if found else f"{arguments.file} compiled nothing", hint="decorate a function with @jit and call it")
    if len(wanted) > 1 and getattr(arguments, "output", None):
        return _complain(f"{len(wanted)} functions were compiled, and one file is to be written",
                         hint="name one of " + ", ".join(f.name for f in wanted))
    for f in wanted:
        if len(wanted) > 1:
            print(f"==== {f.name}")
        try:
            sys.stdout.write(LOOK[arguments.command][1](f, arguments))
        except ArgumentError as error:
            return _complain(str(error))
    return 0


def start_ranks(count, file, arguments, log=""):
    """Run a program as `count` processes, by mpiexec: that beside this Python, or the first on PATH. Gives its exit status.

    log : each rank writes to this path with its number and .log behind it; "": to the terminal
    """
    beside = os.path.join(os.path.dirname(sys.executable), "mpiexec")
    starter = beside if os.access(beside, os.X_OK) else shutil.which("mpiexec")
    if count < 1:
        return _complain(f"{count} ranks cannot be started")
    if starter is None:
        return _complain("there is no mpiexec", hint="pip install 'mindlite[mpi]'")
    if log:
        os.makedirs(os.path.dirname(log), exist_ok=True)
    own = ["run", "--log", log] if log else ["run"]
    status = subprocess.run([starter, "-n", str(count), sys.executable, "-m", "mindlite", *own, file, *arguments]).returncode
    return _complain(f"the ranks ended with status {status}; what they wrote is in {log}_*.log", status) if log and status else (
        status)


def launched_rank():
    """The number that mpiexec has given this process, by the names of several launchers; 0 where none has."""
    return next((os.environ[name] for name in ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK") if name in os.environ), "0")


def write_to(path):
    """Let what this process prints, and its libraries, go to a file."""
    with open(path, "w", encoding="utf-8") as stream:
        for own in (sys.stdout, sys.stderr):
            own.flush()
            os.dup2(stream.fileno(), own.fileno())


def run_as_mindspore(file, arguments):
    """Run a program in which `mindspore` is mindlite; gives its exit status."""
    alias.install()
    sys.argv = [file, *arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(file)))
    try:
        runpy.run_path(file, run_name="__main__")
    except KeyboardInterrupt:
        return _complain("interrupted", 130)
    except Exception as error:
        frames = error.__traceback__
        while frames is not None and frames.tb_frame.f_code.co_filename != file:
            frames = frames.tb_next                          # those that run it are not the program's
        sys.excepthook(type(error), error, frames or error.__traceback__)        # which ends all ranks, where there are some
        return 1
    return 0


def check(arguments, compiled):
    """The command `check`: print the reports; 1 if Python runs anything, else 0."""
    try:
        reports = check_compiled(compiled) if arguments.run else check_file(arguments.file, arguments.function)
    except ArgumentError as error:
        return _complain(str(error))
    if arguments.json:
        print(json.dumps(reports_as_data(reports), indent=2))
    else:
        sys.stdout.write(show_reports(reports))
    return int(any(report.findings for report in reports))


def run_program(file, arguments):
    """Run a program as __main__; gives the JitFunctions that it compiled. raises : what the program raises"""
    known = compiled_functions()
    kept: list = []

    def keep(event, fields):
        if event in ("variant", "concrete_run", "python_run"):    # hold them: locals of the program are gone when it ends
            kept.extend(f for f in compiled_functions() if f not in known and f not in kept)
    before, sys.argv = sys.argv, [file, *arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(file)))
    try:
        with listen(keep), contextlib.redirect_stdout(sys.stderr):
            try:
                runpy.run_path(file, run_name="__main__")
            except SystemExit as end:
                if end.code not in (None, 0):
                    print(f"{file} ended with status {end.code}", file=sys.stderr)
    finally:
        sys.argv = before
        sys.path.pop(0)
    return kept


def matching(functions, name):
    """Those of that name: the whole of it, or its last words (`construct` for `Net.construct`)."""
    if name is None:
        return functions
    return [f for f in functions if f.name == name or f.name.endswith("." + name)]


def _complain(text, status=2, hint=""):
    print(f"mindlite: {text}" + (f"\n  hint: {hint}" if hint else ""), file=sys.stderr)
    return status
