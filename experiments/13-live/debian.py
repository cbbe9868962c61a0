"""A Debian made by mmdebstrap, booted from a served drive; and a machine with that Debian for the other experiments.

    python debian.py [--root DIR] [--accel tcg]

The Debian (bookworm, with its kernel, systemd, fio and tools of file systems) is copied to an ext4 file system on a
drive served over NBD and vhost-user-blk. QEMU gets the kernel and its initramfs as files and finds everything else on
the drive: systemd boots, a service checks the files of some packages, writes a file, and powers off. It boots twice:
the second time the file must be there. Then the file system, read over NBD, must be whole. --root keeps the Debian's
files, so that they are made once. Ends with 1 if anything is wrong.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import uml
from guest import parsed, run
from machine import LOOP, Machine, shared_memory, vhost_disk

import flashweir

SUITE = "bookworm"
PACKAGES = (
    *("linux-image-amd64", "systemd-sysv", "udev", "kmod", "iproute2", "nbd-client", "python3", "fio"),
    *("e2fsprogs", "f2fs-tools", "xfsprogs", "util-linux", "util-linux-extra", "procps", "psmisc"),
    # Of the test suites.
    *("bc", "attr", "acl", "quota", "gawk", "perl", "libaio1", "liburing2", "uuid-runtime", "dbench", "file"),
    *("dmsetup", "blktrace", "bsdextrautils"),
)
TOOLS = ("mmdebstrap", "qemu-system-x86_64", "mkfs.ext4", "e2fsck", "nbdcopy")
SIZE_MIB = 1536
MEMORY_MIB = 1024
# Devices of the kernel's nbd.
NBDS = 128
# The first process of a machine for experiments.
AGENT = f"""\
#!/bin/sh
export PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C
mount -t proc proc /proc 2>/dev/null; mount -t sysfs sys /sys 2>/dev/null
mount -t devtmpfs dev /dev 2>/dev/null; mkdir -p /dev/pts /dev/shm /mnt/test /mnt/scratch
mount -t devpts devpts /dev/pts; mount -t tmpfs tmp /tmp; mount -t tmpfs shm /dev/shm
ip link set lo up; ip link set eth0 up; ip addr add 10.0.2.15/24 dev eth0
modules=/lib/modules/$(uname -r)
[ -d $modules ] || {{ mkdir $modules; mount -t hostfs none $modules -o {uml.MODULES}/$(uname -r); }}
modprobe nbd nbds_max={NBDS}
echo 1 > /proc/sys/kernel/printk
{LOOP}"""
SERVICE = """\
[Unit]
Description=Checks of the experiment
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/live-check
StandardOutput=tty
TTYPath=/dev/ttyS0
[Install]
WantedBy=multi-user.target
"""
CHECK = """\
#!/bin/sh
echo "GUEST booted $(cut -d' ' -f1 /proc/uptime) s"
echo "GUEST root $(findmnt -n -o SOURCE,FSTYPE /)"
echo "GUEST units $(systemctl --failed --no-legend | wc -l) failed"
dpkg --verify libc6 coreutils systemd perl-base > /tmp/verified && echo "GUEST files $(wc -l < /tmp/verified) differ"
[ -e /var/kept ] && echo "GUEST kept $(sha256sum /var/kept | cut -d' ' -f1)"
dd if=/dev/urandom of=/var/kept bs=1M count=8 conv=fsync 2>/dev/null
echo "GUEST wrote $(sha256sum /var/kept | cut -d' ' -f1)"
echo "GUEST ended now"
systemctl poweroff --no-block
"""


def missing(accel: str = "tcg") -> str:
    """Names what this machine lacks; empty if nothing."""
    if os.geteuid() != 0:
        return "root, to unpack a Debian"
    tools = (*TOOLS, *uml.TOOLS) if accel == "uml" else TOOLS
    return ", ".join(name for name in tools if shutil.which(name) is None)


def make_root(root: Path) -> float:
    """Makes the Debian's files, if they are not there. Returns the seconds that it took."""
    began = time.monotonic()
    if not (root / "usr").exists():
        run("mmdebstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}", SUITE, root)
    for name, text in {"agent": AGENT, "live-check": CHECK, "etc/systemd/system/live-check.service": SERVICE}.items():
        (root / name).write_text(text, encoding="utf-8")
        (root / name).chmod(0o755)
    wanted = root / "etc/systemd/system/multi-user.target.wants"
    wanted.mkdir(exist_ok=True)
    (wanted / "live-check.service").unlink(missing_ok=True)
    (wanted / "live-check.service").symlink_to("../live-check.service")
    # A login on this line would cut the service off.
    (root / "etc/systemd/system/serial-getty@ttyS0.service").unlink(missing_ok=True)
    (root / "etc/systemd/system/serial-getty@ttyS0.service").symlink_to("/dev/null")
    (root / "etc/fstab").write_text("/dev/vda / ext4 rw,relatime 0 1\n", encoding="utf-8")
    return time.monotonic() - began


def make_image(root: Path, image: Path, mib: int = SIZE_MIB) -> None:
    """Makes an ext4 file system of the files."""
    image.unlink(missing_ok=True)
    run("mkfs.ext4", "-q", "-F", "-d", root, image, f"{mib}M")


def kernel_of(root: Path) -> tuple[Path, Path]:
    """The Debian's kernel, and its initramfs."""
    return next((root / "boot").glob("vmlinuz-*")), next((root / "boot").glob("initrd.img-*"))


def machine(
    root: Path,
    image: Path,
    accel: str = "tcg",
    mib: int = MEMORY_MIB,
    processors: int = 1,
    disks: Sequence[Path] = (),
) -> Machine:
    """A machine with the Debian that takes commands, forgets its writes to disks, and reaches 127.0.0.1 by NBD.

    Args:
        root: the Debian's files, for its kernel.
        image: its root, a disk.
        accel: QEMU's accelerator, or `uml`: a kernel that is a process, many times as fast as an emulated machine.
        mib: memory.
        processors: of those there is one with `uml`.
        disks: further disks.
    """
    if accel == "uml":
        return uml.Uml([image, *disks], mib)
    words = ["-m", f"{mib}M", "-smp", processors]
    for disk in (image, *disks):
        words += ["-drive", f"file={disk},format=raw,if=virtio,snapshot=on"]
    words += ["-netdev", "user,id=net", "-device", "virtio-net-pci,netdev=net"]
    return Machine(*kernel_of(root), words, "root=/dev/vda rw init=/agent net.ifnames=0", accel)


def nbd_client(words: str) -> str:
    """A command of the machine that connects its kernel's nbd: the network of a busy host may need some tries."""
    tries = "i=$((i + 1)); [ $i = 20 ] && break; sleep 1"
    return f"i=0; until nbd-client {words} -b 512 > /dev/null; do {tries}; done; [ $i -lt 20 ]"


def boot(root: Path, socket: Path, accel: str) -> tuple[dict[str, str], float]:
    """Boots from the drive until the machine powers off. Returns its lines by their first word, and the seconds."""
    began = time.monotonic()
    words = [*shared_memory(MEMORY_MIB), "-smp", "2", *vhost_disk(socket)]
    with Machine(*kernel_of(root), words, "root=/dev/vda rw", accel) as running:
        said = "\n".join(running.wait_for("GUEST ended", 1800))
        running.process.wait(600)
    lines = dict(line.split(" ", 1) for line in re.findall(r"GUEST (\w+ .*?)\s*$", said, re.MULTILINE))
    return lines, time.monotonic() - began


def booted(root: Path, folder: Path, accel: str) -> list[str]:
    """Boots twice from one drive, and prints. Returns what is wrong."""
    image, back = folder / "image", folder / "back"
    make_image(root, image)
    drive = {"channels": 8, "capacity": f"{SIZE_MIB}MiB", "buffer.bytes": "16MiB"}
    vm = folder / "vm.sock"
    nbd = f"unix:{folder / 'nbd.sock'}"
    with flashweir.serve(nbd=nbd, vhost_user_blk=[str(vm)], clock="virtual", data=folder, set=drive) as live:
        run("nbdcopy", image, live.uri)
        first, first_s = boot(root, vm, accel)
        second, second_s = boot(root, vm, accel)
        run("nbdcopy", live.uri, back)
    for lines, seconds in ((first, first_s), (second, second_s)):
        print(
            f"{seconds:.0f} s from start to power off: " + "; ".join(f"{key} {value}" for key, value in lines.items())
        )
    writes = live.result["counters"]["requests"]
    print(f"requests of the drive: {writes['read']:,} reads, {writes['write']:,} writes, {writes['flush']:,} flushes")
    wrong = [
        f"{name}: {lines.get(name)}, expected {right}"
        for lines in (first, second)
        for name, right in {"root": "/dev/vda ext4", "units": "0 failed", "files": "0 differ"}.items()
        if lines.get(name) != right
    ]
    if second.get("kept") != first.get("wrote"):
        wrong.append(f"kept: {second.get('kept')}, expected {first.get('wrote')}")
    checked = subprocess.run(["e2fsck", "-f", "-n", back], capture_output=True, text=True, check=False)  # noqa: S603, S607
    return wrong + ([f"e2fsck: {checked.stdout[-500:]}"] if checked.returncode else [])


def main() -> None:
    """Makes a Debian, boots it, and prints."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--root", type=Path)
    options.add_argument("--accel", default="tcg")
    given = parsed(options, missing)
    if given is None:
        return
    with tempfile.TemporaryDirectory(prefix="flashweir-") as folder:
        root = given.root or Path(folder) / "root"
        print(f"mmdebstrap: {make_root(root):.0f} s")
        if wrong := booted(root, Path(folder), given.accel):
            sys.exit("\n".join(wrong))
    print("no difference, and the file system is whole")


if __name__ == "__main__":
    main()
