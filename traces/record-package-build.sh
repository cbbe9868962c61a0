#!/usr/bin/env bash
# Records package-build.blktrace.0.zst: the block requests of an ordinary afternoon of a developer's machine, on an
# ext4 file system of its own on a loop device. Packages are unpacked, a C library is configured and compiled, SQLite
# runs transactions; what is not needed any more is removed and its space trimmed. See README.md beside this file.
#
# Usage (as root, on Debian 12):  ./record-package-build.sh [OUTPUT] [SCRATCH_DIR]
#
# Needs a kernel with CONFIG_BLK_DEV_IO_TRACE, and: apt-get install gcc make python3 sqlite3 zstd
# SCRATCH_DIR (default: a new one under /var/tmp) takes the 4 GiB image and the packages; it must lie on a file system
# that allows direct I/O and punching holes. Every kernel setting that is changed is put back.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
output=${1:-$here/package-build.blktrace.0.zst}
scratch=${2:-$(mktemp -d /var/tmp/record.XXXXXX)}
device_bytes=$((4 << 30))
packages=(binutils-source perl-modules-5.36 python3-sympy libboost1.74-dev)
tracing=/sys/kernel/tracing
settings=(trace_clock current_tracer buffer_size_kb tracing_on options/bin options/context-info)

fail() { echo "record: $*" >&2; exit 1; }
fail_with_log() { tail -n 5 "$scratch/raw/log" >&2; fail "$@"; }
say() { echo "record: $*" >&2; }

[ "$(id -u)" = 0 ] || fail "needs root: it mounts a loop device and drives the kernel's block tracer"
for tool in dpkg-deb gcc make mkfs.ext4 fstrim losetup python3 sqlite3 zstd; do
    command -v "$tool" >/dev/null || fail "$tool is missing (see the head of this script)"
done

mounted_tracefs='' loop='' declare_saved=''
declare -A saved=()

restore() {
    set +e
    cd /
    [ -n "$loop" ] && echo 0 2>/dev/null >"/sys/block/$(basename "$loop")/trace/enable"
    [ -n "$declare_saved" ] && for name in "${settings[@]}"; do echo "${saved[$name]}" >"$tracing/$name"; done
    [ -n "$declare_saved" ] && echo >"$tracing/trace"
    mountpoint -q "$scratch/mnt" && umount "$scratch/mnt"
    [ -n "$loop" ] && losetup -d "$loop"
    [ -n "$mounted_tracefs" ] && umount "$tracing"
    rm -rf "$scratch/mnt" "$scratch/disk.img" "$scratch/raw"
    # Packages stay only in a directory that the caller named.
    case $scratch in /var/tmp/record.*) rm -rf "$scratch" ;; esac
}
trap restore EXIT

# ---- What the job works on, fetched before anything is recorded
mkdir -p "$scratch/deb" "$scratch/mnt" "$scratch/raw"
for package in "${packages[@]}"; do
    compgen -G "$scratch/deb/${package}_*.deb" >/dev/null && continue
    (cd "$scratch/deb" && apt-get download -qq "$package") || fail "can't download $package"
done

# ---- The drive: a sparse file, read and written around the page cache of the file system below
truncate -s "$device_bytes" "$scratch/disk.img"
loop=$(losetup --find --show --direct-io=on "$scratch/disk.img")
# The inode tables are written now, so that no background thread writes them into the recording.
mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$loop"

# ---- The tracer: blktrace's own records, on one clock for all CPUs
if ! [ -e "$tracing/trace_pipe" ]; then
    mount -t tracefs tracefs "$tracing"
    mounted_tracefs=1
fi
grep -qw blk "$tracing/available_tracers" || fail "this kernel has no blk tracer"
for name in "${settings[@]}"; do
    # "[local] global mono" and "7 (expanded: 1408)" are both single settings.
    value=$(cat "$tracing/$name")
    case $name in
        trace_clock) value=$(sed -E 's/.*\[(.*)\].*/\1/' <<<"$value") ;;
        *) value=${value%% *} ;;
    esac
    saved[$name]=$value
done
declare_saved=1
echo 0 >"$tracing/tracing_on"
echo mono >"$tracing/trace_clock"
echo 65536 >"$tracing/buffer_size_kb"
echo 0 >"$tracing/options/context-info"
echo 1 >"$tracing/options/bin"
echo blk >"$tracing/current_tracer"
echo 1 >"/sys/block/$(basename "$loop")/trace/enable"
echo issue,complete >"/sys/block/$(basename "$loop")/trace/act_mask"
echo 1 >"$tracing/tracing_on"

# ---- The job
attach() { mount "$loop" "$scratch/mnt"; }
# Mounting anew empties the page cache of this file system alone, so that the next phase has to read.
forget() { umount "$scratch/mnt" && attach; }
phase() { say "$(date +%T) $*"; }

attach
cd "$scratch/mnt"
phase "unpacking packages, each file fsynced as dpkg does"
mkdir -p root/var/lib/dpkg/{updates,info,triggers}
touch root/var/lib/dpkg/{status,available}
for package in "${packages[@]}"; do
    dpkg --root=root --force-depends --no-triggers --unpack "$scratch/deb/$package"_*.deb >"$scratch/raw/log" 2>&1 \
        || fail_with_log "dpkg can't unpack $package"
done
sync

cd / && forget && cd "$scratch/mnt"
phase "unpacking sources"
tar -xf root/usr/src/binutils/binutils-*.tar.* --wildcards \
    --exclude='*/gdb/*' --exclude='*/gold/*'
sync

cd / && forget && cd "$scratch/mnt"
phase "configuring and compiling"
mkdir build
cd build
TMPDIR=$PWD ../binutils-*/configure --quiet --disable-nls --disable-gdb --disable-gold --disable-gprofng \
    --disable-werror CFLAGS='-O0 -g -pipe' >"$scratch/raw/log" 2>&1 || fail_with_log "configure failed"
TMPDIR=$PWD make -s MAKEINFO=true all-libiberty all-zlib all-bfd >"$scratch/raw/log" 2>&1 \
    || fail_with_log "make failed"
cd ..
sync

cd / && forget && cd "$scratch/mnt"
phase "reading the build back, removing it, trimming"
find build/bfd -name '*.o' -print0 | sort -z | xargs -0 cat | wc -c >/dev/null
find root -type f -size -64k -print0 | sort -z | xargs -0 cat | wc -c >/dev/null
rm -rf build binutils-*
sync
fstrim "$scratch/mnt"

cd / && forget && cd "$scratch/mnt"
phase "SQLite: small transactions with a write-ahead log"
sqlite3 bank.db >/dev/null <<'SQL'
PRAGMA page_size = 4096;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
CREATE TABLE account(id INTEGER PRIMARY KEY, owner TEXT, balance INTEGER, note BLOB);
CREATE TABLE transfer(id INTEGER PRIMARY KEY, source INTEGER, target INTEGER, amount INTEGER, memo BLOB);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
INSERT INTO account SELECT i, hex(randomblob(12)), abs(random()) % 100000, randomblob(150) FROM n;
CREATE INDEX transfer_source ON transfer(source);
CREATE INDEX account_owner ON account(owner);
SQL
python3 - bank.db <<'PY'
import random
import sqlite3
import sys

rng = random.Random(7)
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA synchronous = FULL")
db.execute("PRAGMA cache_size = 200")  # 200 pages: most rows have to be read
for number in range(2500):
    source, target = rng.randrange(1, 200001), rng.randrange(1, 200001)
    db.execute("BEGIN IMMEDIATE")
    db.execute("UPDATE account SET balance = balance - 10 WHERE id = ?", (source,))
    db.execute("UPDATE account SET balance = balance + 10 WHERE id = ?", (target,))
    db.execute("INSERT INTO transfer VALUES (NULL, ?, ?, 10, randomblob(300))", (source, target))
    db.execute("COMMIT")
    if number % 500 == 499:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
db.close()
PY

cd / && forget && cd "$scratch/mnt"
phase "SQLite: random look-ups on a cold cache, then VACUUM"
python3 - bank.db <<'PY'
import random
import sqlite3
import sys

rng = random.Random(8)
db = sqlite3.connect(sys.argv[1])
db.execute("PRAGMA cache_size = 200")
for _ in range(6000):
    db.execute("SELECT owner, balance FROM account WHERE id = ?", (rng.randrange(1, 200001),)).fetchone()
db.execute("DELETE FROM account WHERE id % 3 = 0")
db.commit()
db.execute("VACUUM")
db.close()
PY

phase "removing everything, trimming"
rm -rf root bank.db
sync
fstrim "$scratch/mnt"
cd /
umount "$scratch/mnt"

# ---- Collecting: everything still sits in the per-CPU buffers, or the recording is not complete
echo 0 >"$tracing/tracing_on"
echo 0 >"/sys/block/$(basename "$loop")/trace/enable"
for cpu in "$tracing"/per_cpu/cpu*; do
    grep -E '^(overrun|commit overrun|dropped events): [^0]' "$cpu/stats" >&2 && fail "$(basename "$cpu") lost events"
done

phase "collecting"
minor=$(stat -c %T "$loop")
major=$(stat -c %t "$loop")
python3 - "$tracing" "$scratch/raw/merged" "$((16#$major))" "$((16#$minor))" <<'PY'
"""Drains the per-CPU pipes and merges this device's issue and completion records by time."""
import os
import struct
import sys
from pathlib import Path

RECORD = struct.Struct("<IIQQIIIIIHH")  # blktrace_api.h, struct blk_io_trace
MAGIC = 0x65617407
ISSUE, COMPLETE, NOTIFY = 7, 8, 1 << 26

tracing, output, device = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]) << 20 | int(sys.argv[4])


def drain(path):
    """All bytes that wait in a pipe."""
    pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    chunks = []
    try:
        while chunk := os.read(pipe, 1 << 16):
            chunks.append(chunk)
    except BlockingIOError:
        pass
    finally:
        os.close(pipe)
    return b"".join(chunks)


def records(data, name):
    """Issue and completion records of the device, without their payload."""
    at = 0
    while at < len(data):
        fields = RECORD.unpack_from(data, at)
        if fields[0] != MAGIC:
            sys.exit(f"record: {name}, byte {at}: not a blktrace record")
        at += RECORD.size + fields[10]
        if fields[7] == device and fields[5] & 0xFFFF in (ISSUE, COMPLETE) and not fields[5] & NOTIFY:
            yield fields


found = []
for pipe in sorted(tracing.glob("per_cpu/cpu*/trace_pipe")):
    found += records(drain(pipe), pipe)
if not found:
    sys.exit("record: nothing was recorded")
found.sort(key=lambda fields: fields[2])
start = found[0][2]
with open(output, "wb") as merged:
    for sequence, fields in enumerate(found, 1):
        _, _, time, sector, size, action, pid, dev, _cpu, error, _ = fields
        # One stream, so one CPU: blkparse orders by CPU and sequence, which the ring buffer does not number.
        merged.write(RECORD.pack(MAGIC, sequence, time - start, sector, size, action, pid, dev, 0, error, 0))
print(f"record: {len(found)} records", file=sys.stderr)
PY
zstd -q -f --ultra -22 "$scratch/raw/merged" -o "$output.part"
mv "$output.part" "$output"
phase "wrote $output ($(stat -c %s "$output") bytes)"
