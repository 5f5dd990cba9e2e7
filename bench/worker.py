"""One framework in one process: asked by run.py in lines of JSON, it answers in lines of JSON.

    {"do": "prepare", "row": name}  ->  {"digest": [...], "first": seconds}     or {"absent": why}
    {"do": "sample", "row": name}   ->  {"seconds": per call}
    {"do": "end"}                   ->  {"peak": bytes of memory at most, "versions": {...}}
"""
import json
import resource
import sys

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
    rows.load()
    samplers = {}
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["do"] == "end":
            break
        name = asked["row"]
        if asked["do"] == "prepare":
            sampler = Sampler(name, framework)
            if sampler.run is None:
                answer(out, absent="there is no such thing")
                continue
            samplers[name] = sampler
            digest = sampler.prepare()
            answer(out, digest=digest, first=sampler.first)
        else:
            answer(out, seconds=samplers[name].sample())
    answer(out, peak=1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, versions=framework.versions)


if __name__ == "__main__":
    main()
