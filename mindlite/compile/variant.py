"""Variant: a function compiled for one signature, with its CallPlan and what became of it."""
from dataclasses import field
from typing import Any

from ..common.records import dataclass
from .call_plan import CallPlan
from .plain_call import run
from .short_plan import CALLS


@dataclass(eq=False)
class Variant:
    """One compiled form: how it is called, and why it was made.

    compiled : what the pipeline gave;   reason: why it was made, a Reason
    slow     : why there is no fast path of calling it (quick.py)
    fast     : the ShortPlans by which machine code runs it
    """
    plan: CallPlan
    compiled: Any
    reason: Any
    seconds: float
    slow: str = ""
    fast: list = field(default_factory=list)

    @property
    def signature(self):
        """With Symbols for open sizes and ScalarSpecs for open numbers."""
        return self.plan.signature

    @property
    def executable(self):
        """The Executable; where another one is put in its place, calls go the general way."""
        return self.plan.executable

    @executable.setter
    def executable(self, executable):
        self.plan.executable = executable
        for plan in self.fast:
            plan.end()

    @property
    def calls_python(self):
        """True if its Flow calls Python."""
        return self.executable.linked.has_python

    def end_plan(self, plan):
        """Machine code does not run it by this ShortPlan any more; its calls count."""
        plan.end()
        if plan in self.fast:
            self.plan.calls += int(plan.words[CALLS])
            self.fast.remove(plan)

    @property
    def calls(self):
        """How often it ran, calls by machine code included."""
        return self.plan.calls + int(sum(plan.words[CALLS] for plan in self.fast))

    def run(self, leaves):
        """Its value for the leaves of a call, by Python."""
        return run(self.plan, leaves)
