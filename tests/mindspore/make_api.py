"""Writes docs/api.md: every public name of MindSpore 2.10, whether it is here, and how it differs.

    cd tests/mindspore && python make_api.py

What MindSpore has is signatures.json; what is here is looked up; reasons stand in test_signatures.DIFFERENT and
docs/differences.md.
"""
import pathlib

from test_signatures import DIFFERENT, EXPECTED, INSTANCES, MEMBERS_REFUSED, REFUSED, absent

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "api.md"
HEAD = """# MindSpore's names, one by one

Written by `tests/mindspore/make_api.py`; a test holds it against what is there. `import mindlite.mindspore as mindspore` (or
`python -m mindlite run script.py`) answers to these names of MindSpore 2.10. A name that is missing is an error that says so.
Differences in values and texts stand in [differences](differences.md).

| namespace | names | here | missing | other arguments |
|---|---|---|---|---|
"""


def called(namespace: str) -> str:
    return f"mindspore.{namespace}".rstrip(".")


def page() -> str:
    """The text of docs/api.md."""
    missing = {namespace: absent(namespace) for namespace in EXPECTED}
    other = {namespace: DIFFERENT.get(namespace, {}) for namespace in EXPECTED}
    rows = [(called(n), len(EXPECTED[n]), len(EXPECTED[n]) - len(missing[n]), len(missing[n]), len(other[n])) for n in EXPECTED]
    total = ("all", *(sum(row[k] for row in rows) for k in range(1, 5)))
    lines = [f"| {' | '.join(str(part) for part in row)} |" for row in (*rows, total)]
    for namespace in sorted(EXPECTED):
        lines += ["", f"## {called(namespace)}", "", "| name | here | other arguments |", "|---|---|---|"]
        why = MEMBERS_REFUSED if namespace in INSTANCES else REFUSED
        lines += [f"| {name} | {'no: ' + why[name] if name in missing[namespace] else 'yes'} | {other[namespace].get(name, '')} |"
                  for name in sorted(EXPECTED[namespace])]
    return HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
