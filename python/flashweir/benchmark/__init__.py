"""Benchmarks of drives: workloads of applications, graded; and results side by side.

`running` runs what is missing of a benchmark and keeps its file complete after every workload, `scores` puts grades
together, `comparing` sets results side by side, `showing` prints them. docs/concepts/scores.md says what scores are.
"""

from flashweir.benchmark.comparing import compare, read
from flashweir.benchmark.running import STATES, SUITES, bench

__all__ = ["STATES", "SUITES", "bench", "compare", "read"]
