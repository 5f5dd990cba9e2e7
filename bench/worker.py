"""One framework in one process: asked by run.py in lines of JSON, it answers in lines of JSON.

    worker.py FRAMEWORK            the rows of the benchmark
    worker.py FRAMEWORK SEED       those of the cliff detector, drawn by a seed

    {"do": "prepare", "row": name}  ->  {"digest": [...], "first": a sample}     or {"absent": why}
    {"do": "sample", "row": name}   ->  {"seconds": per call, "processor": of all threads}
    {"do": "forget", "row": name}   ->  {}
    {"do": "end"}                   ->  {"peak": bytes of memory at most, "versions": {...}}
"""
import json
import resource
import sys

import pieces
import rows
from frameworks import FRAMEWORKS
from measure import Sampler


def answer(out, **fields):
    """Write one line."""
    out.write(json.dumps(fields) + "\n")
    out.flush()


def main():
    """Serve until told to end."""
    out, sys.stdout = sys.stdout, sys.stderr                  # what the frameworks print does not disturb the lines
    framework = FRAMEWORKS[sys.argv[1]]()
    detecting = len(sys.argv) > 2
    if detecting:
        pieces.register(int(sys.argv[2]))
    else:
        rows.load()
    samplers = {}
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["do"] == "end":
            break
        name = asked["row"]
        if asked["do"] == "prepare":
            try:
                sampler = Sampler(name, framework)
                digest = None if sampler.run is None else sampler.prepare()
            except Exception as error:                        # what a peer cannot run is told of, and left out
                if framework.name == "mindlite" and not detecting:
                    raise
                answer(out, absent=f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
                continue
            if digest is None:
                answer(out, absent="")
                continue
            samplers[name] = sampler
            answer(out, digest=digest, first=sampler.first)
        elif asked["do"] == "forget":
            samplers.pop(name, None)
            answer(out)
        else:
            seconds, processor = samplers[name].sample()
            answer(out, seconds=seconds, processor=processor)
    answer(out, peak=1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, versions=framework.versions)


if __name__ == "__main__":
    main()
