"""Quality of `flashweir search`: dominated hypervolume on ten problems, against a grid of the same number of runs."""
