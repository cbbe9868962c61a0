"""A virtual machine of QEMU whose shell takes commands over the serial line, and which has served drives as disks.

The machine's first process is `INIT`, or a script that ends like it: it reads a line, runs it, and prints its exit
code. `Machine.run` sends a line and waits for that.
"""

import contextlib
import os
import queue
import re
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Self

from guest import MODULES

BOOT_S = 600
# Said by the machine when it waits for a command, and after one with its exit code.
READY, ENDED = "MACHINE-READY", "MACHINE-ENDED"
LOOP = f"""\
exec < /dev/${{TTY:-ttyS0}} > /dev/${{TTY:-ttyS0}} 2>&1
stty -echo -onlcr
echo {READY}
while read -r line; do
  eval "$line" < /dev/null
  echo "{ENDED} $?"
done
"""
INIT = f"""\
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
for round in 1 2 3; do for module in {" ".join(MODULES)}; do insmod /modules/$module.ko 2>/dev/null; done; done
for wait in 1 2 3 4 5 6 7 8 9; do [ -b /dev/vda ] || sleep 1; done
{LOOP}"""


class Machine:
    """A running machine. At the end of the block it is killed: nothing of it is needed then."""

    def __init__(
        self, image: Path, archive: Path, options: Sequence[object], append: str = "", accel: str = "tcg"
    ) -> None:
        """Starts the machine.

        Args:
            image: its kernel.
            archive: the files that the kernel starts with.
            options: further words for QEMU: memory, disks.
            append: further words for the kernel.
            accel: QEMU's accelerator.
        """
        words = ["qemu-system-x86_64", "-machine", f"q35,accel={accel}", "-kernel", image, "-initrd", archive]
        # On a busy host the check of the timer fails.
        words += [
            "-append",
            f"console=ttyS0 quiet panic=-1 no_timer_check {append}",
            "-no-reboot",
            "-nographic",
            "-nodefaults",
        ]
        words += ["-serial", "stdio", *options]
        self.start(words)

    def start(self, words: Sequence[object]) -> None:
        """Starts it by a command whose standard input and output are its console.

        Raises:
            RuntimeError: it has none.
        """
        self._lines: queue.Queue[str | None] = queue.Queue()
        self.said: list[str] = []
        self.process = subprocess.Popen(  # noqa: S603
            list(map(str, words)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            bufsize=1,
            process_group=0,
            env=os.environ | {"LC_ALL": "C"},
        )
        if self.process.stdin is None or self.process.stdout is None:
            raise RuntimeError(f"{words[0]} has no console")
        self._input = self.process.stdin
        threading.Thread(target=self._read, args=(self.process.stdout,), daemon=True).start()

    def _read(self, output: IO[str]) -> None:
        # It is closed when the machine is killed.
        with contextlib.suppress(ValueError):
            for line in output:
                self._lines.put(line.rstrip("\r\n"))
        self._lines.put(None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def wait_for(self, mark: str, limit_s: float) -> list[str]:
        """Waits for a line with the mark. Returns the lines until it, with it.

        Raises:
            RuntimeError: the machine ended, or did not say it in time.
        """
        found: list[str] = []
        end = time.monotonic() + limit_s
        while True:
            try:
                line = self._lines.get(timeout=max(end - time.monotonic(), 0.001))
            except queue.Empty:
                line = None
            if line is None:
                last = "\n".join(self.said[-15:])
                raise RuntimeError(f"the machine did not say {mark} in {limit_s:.0f} s:\n{last}")
            self.said.append(line)
            found.append(line)
            if mark in line:
                return found

    def disk(self, number: int) -> str:
        """The device of a disk that it was started with."""
        return f"/dev/vd{'abc'[number]}"

    def renew_network(self) -> None:
        """Begins its network anew, where that may have ended."""

    def ready(self) -> None:
        """Waits until it takes commands."""
        self.wait_for(READY, BOOT_S)

    def send(self, command: str) -> None:
        """Sends a command, and does not wait for its end."""
        self._input.write(command + "\n")
        self._input.flush()

    def run(self, command: str, limit_s: float = 300, *, fails: bool = False) -> tuple[int, str]:
        """Runs a command. Returns its exit code and its output.

        Raises:
            RuntimeError: it failed though `fails` is not given, or the machine did not answer.
        """
        self.send(command)
        lines = self.wait_for(ENDED, limit_s)
        # The output may have ended without the end of a line.
        before, code = re.split(f"{ENDED} ", lines[-1])
        output = "\n".join([*lines[:-1], before]).strip()
        if int(code) and not fails:
            raise RuntimeError(f"{command}: exit code {code}: {output[-2000:]}")
        return int(code), output


def shared_memory(mib: int) -> list[str]:
    """Words for the memory of a machine that drives over vhost-user share."""
    words = ["-m", f"{mib}M", "-object", f"memory-backend-memfd,id=mem,size={mib}M,share=on"]
    return [*words, "-numa", "node,memdev=mem"]


def vhost_disk(socket: Path) -> list[str]:
    """Words for a disk over vhost-user-blk."""
    return ["-chardev", f"socket,id=drive,path={socket}", "-device", "vhost-user-blk-pci,chardev=drive,num-queues=1"]
