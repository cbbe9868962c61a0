"""A virtual machine on a served drive, over vhost-user-blk: QEMU, Debian's cloud kernel, and fio or dd in the machine.

    python guest.py [--kernel VMLINUZ --modules DIR] [--accel tcg]

The machine has two processors and two queues. It writes 32 MiB of random bytes and compares them after it has dropped
its caches, discards a part and finds zeroes there, and, if this machine's fio can be taken along, runs fio with
verify=crc32c over both queues. Then the same bytes are read over NBD and compared with the checksum that the machine
printed. Without --kernel, Debian's cloud kernel is fetched with apt-get. Ends with 1 if anything differs, and says by
name what it did not run.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from kills import READ, Client

import flashweir

SIZE = 256 << 20
WRITTEN = 32 << 20
TOOLS = ("qemu-system-x86_64", "busybox", "cpio")
KERNEL = "linux-image-cloud-amd64"
# Loaded again and again, until each has found those that it needs.
MODULES = (
    "virtio",
    "virtio_ring",
    "virtio_pci_legacy_dev",
    "virtio_pci_modern_dev",
    "virtio_pci",
    "virtio_blk",
)
_LIMIT_S = 1800

INIT = """\
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
for round in 1 2 3; do for module in MODULES; do insmod /modules/$module.ko 2>/dev/null; done; done
for wait in 1 2 3 4 5 6 7 8 9; do [ -b /dev/vda ] || sleep 1; done
echo "GUEST sectors $(cat /sys/block/vda/size)"
echo "GUEST queues $(ls /sys/block/vda/mq | wc -l)"
echo "GUEST serial $(cat /sys/block/vda/serial)"
echo "GUEST cache $(cat /sys/block/vda/queue/write_cache)"
dd if=/dev/urandom of=/random bs=1M count=32 2>/dev/null
dd if=/random of=/dev/vda bs=64k oflag=direct 2>/dev/null && sync
echo 3 > /proc/sys/vm/drop_caches
echo "GUEST wrote $(sha256sum < /random | cut -d' ' -f1)"
echo "GUEST read $(dd if=/dev/vda bs=256k count=128 iflag=direct 2>/dev/null | sha256sum | cut -d' ' -f1)"
dd if=/random of=/dev/vda bs=1M seek=64 count=4 oflag=direct 2>/dev/null
blkdiscard -o 67108864 -l 2097152 /dev/vda && echo "GUEST discarded"
echo 3 > /proc/sys/vm/drop_caches
zeroes=$(dd if=/dev/vda bs=1M skip=64 count=2 iflag=direct 2>/dev/null | tr -d '\\000' | wc -c)
echo "GUEST left $zeroes"
if [ -e /bin/fio ]; then
  /bin/fio --name=v --filename=/dev/vda --offset=128m --size=24m --offset_increment=32m --numjobs=2 --rw=randrw \\
    --bsrange=4k-64k --direct=1 --ioengine=io_uring --iodepth=8 --verify=crc32c --verify_fatal=1 --fsync=200 \\
    --thread --group_reporting > /fio.log 2>&1 && echo "GUEST fio verified" \\
    || { echo "GUEST fio failed"; cat /fio.log; }
fi
echo "GUEST ended"
poweroff -f
"""


def missing() -> str:
    """Names what this machine lacks; empty if nothing."""
    return ", ".join(name for name in TOOLS if shutil.which(name) is None)


def run(*words: object, folder: Path | None = None) -> str:
    """Runs a command; its output."""
    done = subprocess.run(list(map(str, words)), cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise RuntimeError(f"{words[0]}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def kernel(folder: Path) -> tuple[Path, Path]:
    """Fetches Debian's cloud kernel: the kernel and the folder of its modules."""
    depends = run("apt-cache", "depends", KERNEL)
    found = re.search(r"Depends: (linux-image-\S+)", depends)
    if found is None:
        raise RuntimeError(f"{KERNEL} names no kernel; run apt-get update")
    run("apt-get", "download", found[1], folder=folder)
    package = next(folder.glob("linux-image-*.deb"))
    run("dpkg-deb", "-x", package, folder / "kernel")
    return next((folder / "kernel" / "boot").glob("vmlinuz-*")), next((folder / "kernel" / "lib" / "modules").iterdir())


def initramfs(folder: Path, modules: Path, init: str = INIT) -> tuple[Path, bool]:
    """Makes the machine's files. Returns their archive, and whether fio is among them."""
    root = folder / "root"
    for name in ("bin", "modules", "proc", "sys", "dev"):
        (root / name).mkdir(parents=True)
    shutil.copy(shutil.which("busybox") or "busybox", root / "bin" / "busybox")
    for module in MODULES:
        for found in modules.rglob(f"{module}.ko*"):
            target = root / "modules" / found.name
            shutil.copy(found, target)
            if found.suffix == ".xz":
                run("xz", "-d", target)
    fio = shutil.which("fio")
    if fio is not None:
        shutil.copy(fio, root / "bin" / "fio")
        for path in re.findall(r"(/\S+) \(0x", run("ldd", fio)):
            place = root / path.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place)
    (root / "init").write_text(init.replace("MODULES", " ".join(MODULES)), encoding="utf-8")
    (root / "init").chmod(0o755)
    names = "\n".join(str(path.relative_to(root)) for path in [root, *sorted(root.rglob("*"))])
    archive = folder / "initramfs"
    with archive.open("wb") as to:
        subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=root, input=names.encode(), stdout=to, check=True)  # noqa: S607
    return archive, fio is not None


def boot(folder: Path, image: Path, archive: Path, accel: str) -> tuple[str, dict[str, str], str]:
    """Serves a drive, runs the machine on it, and reads the drive over NBD.

    Returns:
        What the machine printed, its lines by their first word, and the checksum of the bytes over NBD.
    """
    vm, nbd = folder / "vm.sock", folder / "nbd.sock"
    drive = {"channels": 4, "capacity": SIZE, "buffer.bytes": "4MiB"}
    with flashweir.serve(nbd=f"unix:{nbd}", vhost_user_blk=[str(vm)], clock="virtual", set=drive):
        words: list[object] = ["qemu-system-x86_64", "-machine", f"q35,accel={accel}", "-m", "1G", "-smp", "2"]
        words += ["-object", "memory-backend-memfd,id=mem,size=1G,share=on", "-numa", "node,memdev=mem"]
        words += ["-chardev", f"socket,id=drive,path={vm}", "-device", "vhost-user-blk-pci,chardev=drive,num-queues=2"]
        words += ["-kernel", image, "-initrd", archive, "-append", "console=ttyS0 quiet panic=-1", "-no-reboot"]
        words += ["-nographic", "-nodefaults", "-serial", "stdio", "-net", "none"]
        done = subprocess.run(  # noqa: S603
            list(map(str, words)),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            check=False,
        )
        seen = hashlib.sha256()
        with Client(nbd) as client:
            for at in range(0, WRITTEN, 1 << 20):
                seen.update(client.ask(READ, at, 1 << 20))
    lines = dict(line.split(" ", 1) for line in re.findall(r"^GUEST (\w+ .*?)\s*$", done.stdout, re.MULTILINE))
    return done.stdout + done.stderr, lines, seen.hexdigest()


def faults(lines: dict[str, str], seen: str, *, fio: bool) -> list[str]:
    """Returns what the machine saw and should not have seen."""
    expected = {
        "sectors": str(SIZE // 512),
        "queues": "2",
        "serial": "flashweir",
        "cache": "write back",
        "read": lines.get("wrote", "the bytes written"),
        "left": "0",
    }
    if fio:
        expected["fio"] = "verified"
    wrong = [
        f"{name}: {lines.get(name)}, expected {right}" for name, right in expected.items() if lines.get(name) != right
    ]
    if seen != lines.get("wrote"):
        wrong.append(f"over NBD: {seen}, expected {lines.get('wrote')}")
    return wrong


def parsed(options: argparse.ArgumentParser, lacking: Callable[[], str]) -> argparse.Namespace | None:
    """The given options, with root's tools on the path; None where this machine lacks something, which is printed."""
    given = options.parse_args()
    os.environ["PATH"] += os.pathsep + "/usr/sbin" + os.pathsep + "/sbin"
    if lacks := lacking():
        print(f"not run: this machine lacks {lacks}")
        return None
    return given


def main() -> None:
    """Runs and prints."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--kernel", type=Path)
    options.add_argument("--modules", type=Path)
    options.add_argument("--accel", default="tcg")
    given = parsed(options, missing)
    if given is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if given.kernel is None and shutil.which("apt-get") is None:
            print("not run: this machine lacks apt-get, to fetch a kernel; give --kernel and --modules")
            return
        image, modules = (given.kernel, given.modules) if given.kernel else kernel(place)
        archive, fio = initramfs(place, modules)
        said, lines, seen = boot(place, image, archive, given.accel)
    for name, value in lines.items():
        print(f"{name}: {value}")
    if not fio:
        print("not run: fio in the machine, as this machine lacks it")
    if wrong := faults(lines, seen, fio=fio):
        sys.exit("\n".join([*wrong, said[-3000:]]))
    print("no difference, in the machine or over NBD")


if __name__ == "__main__":
    main()
