"""Why a wire carries a gradient or not: states, witnesses, cutters, sentences."""

from runtime.flow.analyse import Flow, analyse
from runtime.flow.states import Cutter, State, Verdict

__all__ = ["Cutter", "Flow", "State", "Verdict", "analyse"]
