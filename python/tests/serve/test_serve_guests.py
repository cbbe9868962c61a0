"""Virtual machines on served drives: the parts of experiments/13-live, and a turn where a Debian is at hand.

`FLASHWEIR_DEBIAN` names the folder of a Debian that `just live-debian` made (its `--root`); making one takes minutes.
`FLASHWEIR_ACCEL=uml` takes a machine whose kernel is a process.
"""

import importlib
import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from conftest import ROOT

MODULES = (
    "cuts",
    "debian",
    "disks",
    "guest",
    "guest_cuts",
    "kills",
    "machine",
    "postgres",
    "suites",
    "tenants",
    "uml",
    "workloads",
)
# A machine of which only the serial line is simulated.
SHELL = """\
#!/bin/sh
echo SeaBIOS
echo MACHINE-READY
while read -r line; do
  eval "$line" < /dev/null
  echo "MACHINE-ENDED $?"
done
"""


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The modules of the experiment."""
    monkeypatch.syspath_prepend(str(ROOT / "experiments" / "13-live"))
    for name in MODULES:
        sys.modules.pop(name, None)
    return SimpleNamespace(**{name: importlib.import_module(name) for name in MODULES})


@pytest.fixture
def shell(live: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module of machines, with a shell for QEMU."""
    qemu = tmp_path / "qemu-system-x86_64"
    qemu.write_text(SHELL)
    qemu.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return live.machine


def test_a_command_returns_its_output_and_exit_code(shell: ModuleType) -> None:
    with shell.Machine(Path("kernel"), Path("initramfs"), []) as machine:
        machine.ready()
        assert machine.run("echo one; echo two") == (0, "one\ntwo")
        assert machine.run("printf 'no end of line'; false", fails=True) == (1, "no end of line")
        with pytest.raises(RuntimeError, match=r"exit 3: exit code 3|\(exit 3\): exit code 3"):
            machine.run("(exit 3)")
        with pytest.raises(RuntimeError, match="did not say MACHINE-ENDED in 0 s"):
            machine.run("sleep 60", 0.2)
    assert machine.process.poll() is not None


def test_a_kernel_that_is_a_process_ends_with_its_network(
    live: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A daemon that says its process.
    daemon = '#!/bin/sh\nsleep 60 > /dev/null 2>&1 &\necho $! > "$5"\n'
    tools = {
        "linux.uml": SHELL.replace("read -r line", 'read -r line && cd "${0%/*}" && echo "$*" > words'),
        "vde_switch": daemon,
    }
    for name, text in {**tools, "slirpvde": daemon}.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert live.debian.missing("uml") in ("", live.debian.missing())
    with live.debian.machine(tmp_path, tmp_path / "image", "uml", 64, 2, [tmp_path / "suite"]) as machine:
        machine.ready()
        assert machine.run("sleep 60 & echo $!; echo here")[1].endswith("here")
        words = (tmp_path / "words").read_text().split()
        place = Path(next(word for word in words if word.startswith("uml_dir=")).removeprefix("uml_dir="))
        daemons = [int((place / name).read_text()) for name in ("switch", "slirp")]
        machine.renew_network()
        daemons.append(int((place / "slirp").read_text()))
        assert daemons[1] != daemons[2]
        assert {"mem=64M", "root=/dev/ubda", f"ubd1={place / 'written-1'},{tmp_path / 'suite'}"} <= set(words)
        assert (machine.disk(0), machine.disk(1)) == ("/dev/ubda", "/dev/ubdb")
    assert machine.process.poll() is not None
    assert not place.exists()
    end = time.monotonic() + 60
    while any(Path(f"/proc/{process}/exe").exists() for process in daemons):
        assert time.monotonic() < end, "the network has not ended"
        time.sleep(0.01)


def test_outcomes_of_test_suites_are_read_from_their_lines(live: SimpleNamespace) -> None:
    lines = {
        "generic/001        5s": "passed",
        "generic/001 3s ...  5s": "passed",
        "generic/009       [not run] xfs_io fiemap failed (old kernel/wrong fs?)": "not run",
        "generic/011       - output mismatch (see /tmp/results/generic/011.out.bad)": "failed",
        "generic/013       [failed, exit status 1]- output mismatch": "failed",
        "generic/020       _check_dmesg: something found in dmesg": "failed",
        "    --- tests/generic/011.out 2026": None,
        "Ran: generic/001": None,
    }
    found = {line: live.suites.outcome_of(line) for line in lines}
    assert {line: outcome and outcome[1] for line, outcome in found.items()} == lines


def test_blktests_give_the_reason_of_a_test_that_did_not_apply_on_the_next_line(live: SimpleNamespace) -> None:
    lines = [
        "block/003 => nbd0 (discard sizes)               ",
        "\x1b[1Ablock/003 => nbd0 (discard sizes)       [\x1b[32mpassed\x1b[m\x0f]",
        "    runtime      ...  18.312s",
        "block/005 => nbd0 (switch schedulers)           [\x1b[31mfailed\x1b[m\x0f]",
        "block/011 => nbd0 (disable PCI device)          [\x1b[33mnot run\x1b[m\x0f]",
        "    command setpci is not available",
    ]
    found = list(live.suites.of_blktests(live.suites.shown(lines)))
    assert [one[:2] for one in found] == [("block/003", "passed"), ("block/005", "failed"), ("block/011", "not run")]
    assert found[2][2] == "command setpci is not available"


def test_latencies_between_two_samples_are_those_of_the_reads_between(live: SimpleNamespace) -> None:
    def state(time_s: float, reads: list[list[int]], late: int) -> tuple[dict[str, object], dict[str, object]]:
        sample = {"time_s": time_s, "written_bytes": 0, "programmed_bytes": 0}
        sample |= {"tenants": {"reader": {"latency_ns": {"read": reads}}}}
        return sample, {"lateness": {"late": late, "completions": 10 * late}}

    found = live.tenants.between(state(1, [[1000, 5], [9000, 7]], 2), state(3, [[1000, 5], [2000, 99], [9000, 8]], 4))
    assert (found["reads"], found["reads/s"], found["late"]) == (100, 50, 0.1)
    assert (found["p50"], found["p99"], found["p999"]) == (2, 2, 9)
    assert live.tenants.quantile(Counter({5000: 1}), 0.5) == 5


def test_the_check_of_a_database_without_its_table_keeps_no_file_open(live: SimpleNamespace, tmp_path: Path) -> None:
    (tmp_path / "database").write_bytes(b"")
    assert live.workloads.check_rows(tmp_path, ["1"]) == ["SQLite: no such table: rows"]
    assert live.workloads.check_rows(tmp_path, []) == []
    held = [str(one.readlink()) for one in Path("/proc/self/fd").iterdir() if one.exists()]
    assert str(tmp_path / "database") not in held


@pytest.mark.alone
def test_f2fs_in_a_machine_keeps_what_was_acknowledged(live: SimpleNamespace, tmp_path: Path) -> None:
    root = os.environ.get("FLASHWEIR_DEBIAN")
    lacks = live.debian.missing() or ("" if root else "a Debian for virtual machines (FLASHWEIR_DEBIAN)")
    if lacks:
        pytest.skip(f"not run: this machine lacks {lacks}")
    copied = tmp_path / "root"
    # Its devices as devices: reading them has no end.
    subprocess.run(["cp", "-a", root or "", copied], check=True)  # noqa: S607
    live.debian.make_root(copied)
    live.debian.make_image(copied, tmp_path / "image")
    shutil.rmtree(copied)
    with live.debian.machine(Path(root or ""), tmp_path / "image", os.environ.get("FLASHWEIR_ACCEL", "tcg")) as machine:
        live.guest_cuts.prepare(machine, "f2fs")
        guest = live.guest_cuts.Guest(machine)
        turn = live.guest_cuts.cut("files", guest, random.Random(1))  # noqa: S311 - nothing to hide
    assert turn.broken == []
    assert turn.promised > 0
