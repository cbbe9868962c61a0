"""Statistics of sweeps: what several seeds say about a setting, and about the difference between two.

A replication is a seed: runs that share one are never counted twice. `intervals` and `bootstrap` work on numbers,
`summary` and `comparison` on the frame of a sweep, `pareto` on any frame. Removal of a warm-up is the engine's matter.
docs/concepts/statistics.md says which interval is for what.
"""

from flashweir.statistics.bootstrap import Histogram, bootstrap_mean, pooled_quantile, pooled_quantiles
from flashweir.statistics.comparison import compare
from flashweir.statistics.intervals import Difference, Estimate, difference, holm, mean_interval
from flashweir.statistics.pareto import pareto
from flashweir.statistics.summary import Histograms, summarize
from flashweir.statistics.verdict import BETTER

__all__ = [
    "BETTER",
    "Difference",
    "Estimate",
    "Histogram",
    "Histograms",
    "bootstrap_mean",
    "compare",
    "difference",
    "holm",
    "mean_interval",
    "pareto",
    "pooled_quantile",
    "pooled_quantiles",
    "summarize",
]
