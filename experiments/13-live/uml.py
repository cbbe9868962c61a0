"""A Linux kernel that is a process (user-mode-linux) as a machine: no processor is emulated, and none virtualized.

Needs Debian's packages user-mode-linux and vde2. Its network is that of QEMU's user mode, by slirpvde: 10.0.2.2 is this
machine. It has one processor.
"""

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from machine import Machine

TOOLS = ("linux.uml", "vde_switch", "slirpvde")
# Modules of its kernel, on this machine.
MODULES = "/usr/lib/uml/modules"


class Uml(Machine):
    """The machine; it forgets its writes to its disks."""

    def __init__(self, disks: Sequence[Path], mib: int) -> None:
        """Starts it: the first of the disks is its root, with the first process `/agent`."""
        self._folder = tempfile.TemporaryDirectory(prefix="flashweir-", ignore_cleanup_errors=True)
        place = Path(self._folder.name)
        for name, tool in {"switch": "vde_switch", "slirp": "slirpvde"}.items():
            of_network: list[str | Path] = ["-s", place / "network", "-d", "-p", place / name]
            subprocess.run([tool, *of_network], check=True, capture_output=True, timeout=60)  # noqa: S603
        own = [f"ubd{number}={place / f'written-{number}'},{disk}" for number, disk in enumerate(disks)]
        words = ["linux.uml", f"mem={mib}M", *own, "root=/dev/ubda", "rw", "init=/agent", "TTY=tty0"]
        self.start([*words, "con=null", "con0=fd:0,fd:1", f"eth0=vde,{place / 'network'}", f"uml_dir={place}"])

    def __exit__(self, *error: object) -> None:
        place = Path(self._folder.name)
        # All threads of the kernel and processes in it end with it.
        super().__exit__(*error)
        for name in ("slirp", "switch"):
            with contextlib.suppress(OSError, ValueError):
                os.kill(int((place / name).read_text(encoding="utf-8")), signal.SIGTERM)
        self._folder.cleanup()

    def disk(self, number: int) -> str:
        """The device of a disk that it was started with."""
        return f"/dev/ubd{'abc'[number]}"
