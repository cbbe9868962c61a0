"""`flashweir train-allocator`: the model of `tenants.channels=learned`."""

from pathlib import Path
from typing import Annotated

import typer

from flashweir.cli.common import console
from flashweir.cli.derived import takes
from flashweir.cli.outputs import Force, check_outputs
from flashweir.options.many import Threads
from flashweir.options.option import Row


@takes()
def train_allocator(
    output: Annotated[Path, typer.Option("-o", "--output", metavar="F.json", help="File of the model.")],
    mixes: Annotated[int, typer.Option("--mixes", metavar="N", min=5, help="Mixes to learn from.")] = 120,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", min=0, max=2**31 - 1, help="Seed of mixes and training.")
    ] = 1,
    threads: Annotated[
        Threads, Row("how many mixes are simulated at a time", help="Mixes simulated at the same time.")
    ] = 2,
    force: Force = False,
) -> None:
    """Train an allocator of channels on look-ahead over generated mixes (needs flashweir[learn])."""
    from flashweir import training

    check_outputs({"--output": output}, [], force=force, kinds={"--output": "model"})
    learned = training.train(mixes, seed, threads=threads or 1)
    training.write(learned, output)
    console().print(learned.model["about"], highlight=False)
