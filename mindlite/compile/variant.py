"""Variant: a function compiled for one signature, with its CallPlan and what became of it."""
from __future__ import annotations

from dataclasses import field
from typing import Any

from ..common.records import dataclass
from .call_plan import CallPlan
from .executable import Executable
from .pipeline import Compiled
from .plain_call import run
from .reasons import Reason
from .short_plan import CALLS, ShortPlan
from .signature import Leaves, Signature


@dataclass(eq=False)
class Variant:
    """One compiled form: how it is called, and why it was made.

    compiled : what the pipeline gave;   reason: why it was made, a Reason
    fast     : the ShortPlans by which machine code runs it
    """
    plan: CallPlan
    compiled: Compiled
    reason: Reason
    seconds: float
    fast: list[ShortPlan] = field(default_factory=list)

    @property
    def signature(self) -> Signature:
        """With Symbols for open sizes and ScalarSpecs for open numbers."""
        return self.plan.signature

    @property
    def executable(self) -> Executable:
        """The Executable; where another one is put in its place, calls go the general way."""
        return self.plan.executable

    @executable.setter
    def executable(self, executable: Executable) -> None:
        self.plan.executable = executable
        for plan in self.fast:
            plan.end()

    @property
    def calls_python(self) -> bool:
        """True if its Flow calls Python."""
        return self.executable.linked.has_python

    @property
    def calls_others_code(self) -> bool:
        """True if its Flow calls Python code that does more than compute."""
        return self.executable.linked.has_others_code

    @property
    def may_act(self) -> bool:
        """True if a run may do more than compute: write what lies outside, or call Python code that may."""
        return self.plan.has_effects or self.calls_others_code

    def end_plan(self, plan: ShortPlan) -> None:
        """Machine code does not run it by this ShortPlan any more; its calls count."""
        plan.end()
        if plan in self.fast:
            self.plan.calls += int(plan.words[CALLS])
            self.fast.remove(plan)

    @property
    def calls(self) -> int:
        """How often it ran, calls by machine code included."""
        return self.plan.calls + int(sum(plan.words[CALLS] for plan in self.fast))

    def run(self, leaves: Leaves) -> Any:
        """Its value for the leaves of a call, by Python."""
        return run(self.plan, leaves)
