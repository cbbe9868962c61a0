# %% [markdown]
# # A first sweep, cell by cell
#
# Open this file as a notebook (Jupyter with jupytext, VS Code, PyCharm), or run it as it is:
# `python docs/examples/first_sweep.py`. Every last line of a cell shows itself.

# %%
import tempfile
from pathlib import Path

import polars as pl

import flashweir

folder = Path(tempfile.mkdtemp(prefix="first-sweep-"))

# %% [markdown]
# One run. In a notebook a result is a table, with its configuration below.

# %%
drive = {"capacity": "64MiB", "channels": 4, "pages_per_block": 64, "precondition": "full"}
run = flashweir.simulate(
    "random:span=64MiB,size=4KiB,count=20000",
    set={**drive, "buffer.bytes": "256KiB", "host.queue_depth": 16},
    warmup="mser-5",
    activity=True,
)
run

# %%
run["warmup"]

# %% [markdown]
# Many runs: two policies, four amounts of spare space, three seeds each.

# %%
sweep = flashweir.sweep(
    {
        "name": "victims and spare space",
        "workloads": {"uniform": "random:span=64MiB,size=4KiB,count=20000"},
        "set": drive,
        "axes": {
            "gc.victim": ["fifo", "greedy"],
            "op_ratio": {"from": 0.1, "to": 0.4, "step": 0.1},
        },
        "seeds": 3,
        "derived": {"moved per write": "flash.gc.programs / flash.host.programs"},
        "metrics": ["iops", "write_amplification"],
        "compare": "gc.victim",
        "baseline": "fifo",
    },
    folder / "victims",
)
sweep

# %% [markdown]
# It is a polars frame, a row a run.

# %%
sweep.group_by("gc.victim", "op_ratio", maintain_order=True).agg(pl.col("moved per write").mean())

# %% [markdown]
# Means over the seeds with 95% intervals, and what differs from the baseline beyond chance.

# %%
sweep.summary()

# %%
pl.Config.set_fmt_str_lengths(100)
sweep.compare().select("op_ratio", "alternative", "metric", "verdict")

# %% [markdown]
# Figures: of the sweep, and of the single run with what its channels did.

# %%
curves = {chart.name: chart for chart in sweep.figures()}
curves["curve-write_amplification"]

# %%
from flashweir.charts import figures

channels = {chart.name: chart for chart in figures(run)}
channels["channel-activity"]

# %% [markdown]
# As a file for a thesis, and everything as one page for a colleague.

# %%
from flashweir.charts.matplotlib import write

write(curves["curve-write_amplification"], folder / "write-amplification.svg")
sweep.report(folder / "victims.html")
sorted(path.name for path in folder.iterdir())
