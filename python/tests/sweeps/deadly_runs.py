"""A run that its worker never ends, for tests that kill the workers under it."""

import os
import time
from pathlib import Path
from typing import Any

import distributed


def deadly(folder: Path, seed: int) -> Any:
    """A plugin of workers: the run of `seed` writes an empty file named as its process into a folder, and stays."""
    begun = str(folder)

    # Within a function, so that it goes to the workers by value.
    class Deadly(distributed.WorkerPlugin):
        name = "deadly"

        def setup(self, worker: Any) -> None:  # noqa: ARG002
            import flashweir.sweeps.worker as there

            self.whole = whole = there.attempt

            def attempt(spec: Any, *rest: Any) -> Any:
                if spec["seed"] == seed:
                    Path(begun, str(os.getpid())).touch()
                    time.sleep(300)
                return whole(spec, *rest)

            there.attempt = attempt

        def teardown(self, worker: Any) -> None:  # noqa: ARG002
            import flashweir.sweeps.worker as there

            there.attempt = self.whole

    return Deadly()
