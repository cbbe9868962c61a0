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
        self._begin("switch", "vde_switch")
        self._begin("slirp", "slirpvde")
        own = [f"ubd{number}={place / f'written-{number}'},{disk}" for number, disk in enumerate(disks)]
        words = ["linux.uml", f"mem={mib}M", *own, "root=/dev/ubda", "rw", "init=/agent", "TTY=tty0"]
        self.start([*words, "con=null", "con0=fd:0,fd:1", f"eth0=vde,{place / 'network'}", f"uml_dir={place}"])

    def _begin(self, name: str, tool: str) -> None:
        place = Path(self._folder.name)
        words: list[str | Path] = [tool, "-s", place / "network", "-d", "-p", place / name]
        subprocess.run(words, check=True, capture_output=True, timeout=60)  # noqa: S603

    def _end(self, name: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            os.kill(int((Path(self._folder.name) / name).read_text(encoding="utf-8")), signal.SIGTERM)

    def renew_network(self) -> None:
        """Begins its way to this machine anew: slirpvde may end when a connection is dropped."""
        self._end("slirp")
        self._begin("slirp", "slirpvde")

    def __exit__(self, *error: object) -> None:
        # All threads of the kernel and processes in it end with it.
        super().__exit__(*error)
        self._end("slirp")
        self._end("switch")
        self._folder.cleanup()

    def disk(self, number: int) -> str:
        """The device of a disk that it was started with."""
        return f"/dev/ubd{'abc'[number]}"
