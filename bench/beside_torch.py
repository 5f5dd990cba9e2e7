"""mindlite and its peers, each in a process of its own with one thread for kernels, asked in turn in lines of JSON.

    with Both(__file__, peers, only) as workers:                 asks "THIS FILE --serve mindlite" and ".. torch"
        workers.ask("torch", do="pass")                 ->       what the answer of `serve` in that process gave
"""
import json
import os
import pathlib
import subprocess
import sys

PEERS = str(pathlib.Path.home() / ".cache" / "mindlite" / "peers")


class Both:
    """The processes. command: the script, or [script, option ..];  only: the name of the only one of `names`; None for all"""

    def __init__(self, command, peers, only=None, names=("mindlite", "torch")):
        pythons = {name: sys.executable if name == "mindlite" else f"{peers}/{name}/bin/python" for name in names}
        environment = {**os.environ, "MINDLITE_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        words = [command] if isinstance(command, str) else command
        self.workers = {name: subprocess.Popen([python, *words, "--serve", name], text=True, env=environment,
                                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                        for name, python in pythons.items() if only in (None, name)}

    def __enter__(self):
        return self

    def __iter__(self):
        return iter(self.workers)

    def __exit__(self, *error):
        for worker in self.workers.values():
            worker.stdin.close()
            worker.wait()

    def ask(self, name, **asked):
        """What one of them answers."""
        worker = self.workers[name]
        worker.stdin.write(json.dumps(asked) + "\n")
        worker.stdin.flush()
        return json.loads(worker.stdout.readline())


def serve(answer):
    """Give answer(asked) for each line, until there are no more."""
    out, sys.stdout = sys.stdout, sys.stderr                 # what the frameworks print does not disturb the lines
    for line in sys.stdin:
        out.write(json.dumps(answer(json.loads(line))) + "\n")
        out.flush()
