"""Steady-state tests by SNIA's Performance Test Specification, and read latency under a rising write load.

`driver` makes requests on a target and times them, `steady` says when rounds agree, `trials` has the four tests, `load`
the probing reader, `running` runs them, `showing` prints and draws them. docs/guide/steady-state.md says how.
"""

from flashweir.benchmark.pts.running import TESTS, run_pts

__all__ = ["TESTS", "run_pts"]
