"""Policies side by side: sets of settings on the same workloads and seeds, with intervals, and a frozen one on trial.

`grammar` reads policies, `setup` makes a sweep of them, `outcome` says what came out; `trial` reads what a frozen
policy is tried on, `matrix` says where it won, `frozen` since when it is as it is; `terminal`, `markdown` and `html`
show it. Runs, statistics, figures and reports are those of sweeps.
"""

from flashweir.policies.api import compare, judge

__all__ = ["compare", "judge"]
