"""`flashweir train-allocator`: the model of `tenants.channels=learned`."""

from pathlib import Path
from typing import Annotated

import typer

from flashweir.cli.common import console
from flashweir.cli.outputs import Force, check_outputs


def train_allocator(
    output: Annotated[Path, typer.Option("-o", "--output", metavar="F.json", help="File of the model.")],
    mixes: Annotated[int, typer.Option("--mixes", metavar="N", min=5, help="Mixes to learn from.")] = 120,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", min=0, max=2**31 - 1, help="Seed of mixes and training.")
    ] = 1,
    threads: Annotated[
        int, typer.Option("--threads", metavar="N", min=1, help="Mixes simulated at the same time.")
    ] = 2,
    force: Force = False,
) -> None:
    """Train an allocator of channels on look-ahead over generated mixes (needs flashweir[learn])."""
    from flashweir import training

    check_outputs({"--output": output}, [], force=force, kinds={"--output": "model"})
    learned = training.train(mixes, seed, threads=threads)
    training.write(learned, output)
    console().print(learned.model["about"], highlight=False)
