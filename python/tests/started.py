"""Commands that a test starts, and stops as a terminal does."""

import signal
import subprocess
import sys
from typing import Any


def start(*args: str, **options: Any) -> subprocess.Popen[str]:
    """Starts the command with SIGINT as a terminal delivers it, even where the test runner ignores it."""
    return subprocess.Popen(
        [sys.executable, "-m", "flashweir", *args],
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
        **options,
    )
