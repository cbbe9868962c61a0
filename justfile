# What a developer runs. `./test` sets up .venv and runs `just check`, and so does CI.

export PATH := justfile_directory() / ".venv/bin" + ":" + env("PATH")

# Every recipe, with what it does
default:
    @just --list --unsorted

# Everything that CI runs; Python dependencies and lints, which need no compiler, beside what does
check:
    #!/usr/bin/env bash
    set -euo pipefail
    said=$(mktemp)
    just python-dependencies lint-python-sources > "$said" 2>&1 &
    beside=$!
    trap 'kill "$beside" 2>/dev/null || true; rm -f "$said"' EXIT
    just lint-rust test-rust check-contributing
    wait "$beside" || { cat "$said"; exit 1; }
    just build lint-python-module test-python

# The inner loop: formats, lints and types, the unit tests of the crates, and the Python tests that start no command
check-quick:
    cargo fmt --all --check
    ruff check
    ruff format --check
    mypy
    cargo clippy --workspace --quiet -- -D warnings
    cargo nextest run --workspace --lib --no-tests=pass --status-level fail
    pytest -n auto --dist loadfile --no-loadscope-reorder {{ quick_tests }}

quick_tests := "python/tests/tidy/test_tidy.py python/tests/tidy/test_tidy_shape.py python/tests/tidy/test_tidy_words.py " + \
    "python/tests/tidy/test_contributing.py python/tests/sweeps/test_statistics.py python/tests/sweeps/test_sweep_spec.py " + \
    "python/tests/sweeps/test_statistics_sweep.py python/tests/sweeps/test_statistics_compare.py " + \
    "python/tests/charts/test_charts.py python/tests/charts/test_charts_sweep.py " + \
    "python/tests/reports/test_report_build.py python/tests/reports/test_report_refusals.py python/tests/api/test_result.py"

# Where the time of the tests goes: compiling by crate (target/cargo-timings), and the slowest tests of each language
timings count="25":
    #!/usr/bin/env bash
    set -euo pipefail
    SECONDS=0
    cargo test --workspace --no-run --timings --quiet
    echo "compiling the tests: $SECONDS s; by crate in target/cargo-timings/cargo-timing.html"
    SECONDS=0
    cargo nextest run --workspace --no-tests=pass --no-fail-fast > target/nextest.log 2>&1 || tail -n 20 target/nextest.log
    echo "running them: $SECONDS s; the slowest:"
    sed -nE 's/^ *(PASS|FAIL|SLOW) \[ *>? *([0-9.]+)s\] (.*)$/\2 s  \3/p' target/nextest.log | sort -rn | head -n {{ count }}
    just build
    SECONDS=0
    pytest -n auto --dist loadfile --no-loadscope-reorder -m "not alone" --durations={{ count }} || true
    echo "the Python tests: $SECONDS s"

# Formatting and clippy, each crate with its own permissions
lint-rust:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets --quiet -- -D warnings

# The tests select the crate of the extension module without compiling it (it has none): its dependencies then have the
# same features as in `build`, and are compiled once for both.
# Unit, device, golden, theory and paper tests, then the examples in the documentation of the crates
test-rust:
    #!/usr/bin/env bash
    set -euo pipefail
    # Tests that this machine can't run (no root, no loop devices, no mkfs of some kind) say so here.
    export FLASHWEIR_NOT_RUN=$(mktemp)
    trap 'sort -u "$FLASHWEIR_NOT_RUN"; rm -f "$FLASHWEIR_NOT_RUN"' EXIT
    if cargo nextest --version >/dev/null 2>&1; then
        cargo nextest run --workspace --no-tests=pass
    else
        echo "cargo-nextest is not installed: running the same tests with cargo test"
        cargo test --workspace --lib --bins --tests --quiet
    fi
    cargo test --workspace --doc --quiet

# The worked examples of CONTRIBUTING.md and docs/contributing: each a policy in two files
check-contributing:
    python3 scripts/check-contributing

# The extension module and the Python dependencies, into .venv
build:
    maturin develop --quiet --extras dev

# The same, optimised as a user's installation is
build-release:
    maturin develop --quiet --release --extras dev

# ruff, mypy, and the hand-written stub against the compiled module
lint-python: lint-python-sources lint-python-module

# ruff and mypy, which need the Python dependencies and no extension module
lint-python-sources:
    ruff check
    ruff format --check
    mypy

# The hand-written stub against the compiled module
lint-python-module:
    MYPYPATH=python stubtest flashweir._native

# The Python dependencies of pyproject.toml, those of development included, into .venv; `build` needs nothing more then
python-dependencies:
    scripts/requirements | pip install --quiet --disable-pip-version-check --requirement /dev/stdin

# The Python tests: command line, API, presets, documents, tidiness; those that set the kernel's one tracer by themselves
test-python *args:
    pytest -n auto --dist loadfile --no-loadscope-reorder -m "not alone" {{ args }}
    pytest -m alone {{ if args == "" { "$(grep -rl mark.alone python/tests research/tests --include 'test_*.py')" } else { args } }} || [ $? -eq 5 ]

# Rewrites what the formatters want otherwise
fmt:
    cargo fmt --all
    ruff check --fix-only --quiet
    ruff format

# Speed of simulation and of parsing, as ratios in one run; benches/HISTORY.md keeps them
bench:
    cargo bench --package flashweir-run --bench speed
    cargo bench --package flashweir-trace --bench parse
    cargo bench --package flashweir-analyze --bench characterize --bench diagnose

# Saving and loading a drive of 1 TB in FOLDER, and what a step costs over a run (benches/HISTORY.md)
bench-saved capacity="1TB" folder="/tmp":
    cargo bench --package flashweir-run --bench saved -- {{ capacity }} {{ folder }}

# Cost of a sweep over its runs, as a ratio to processes of their own (benches/HISTORY.md)
bench-sweep: build-release
    python benches/sweep.py

# 100,000 small runs in one sweep: every row once, within 1 GiB (minutes)
sweep-many runs="100000": build-release
    python benches/sweep_many.py {{ runs }}

# Closed forms at full size, to 0.5% (minutes; `just test-rust` has them small, to 1%), and printed results by the models
theory:
    FLASHWEIR_FULL=1 cargo test --release --package flashweir-run --test all -- theory:: models::

# The experiments of all papers at full size, with their figures, kept in DIR (a quarter of an hour)
reproduce dir="reproduction": build-release
    flashweir reproduce -o {{ dir }} --figures {{ dir }}-figures --html {{ dir }}.html --force

# Fits each drive of MEASUREMENTS, and keeps drives and predictions in DIR (20 minutes a drive on two cores)
fit-drives measurements dir="fits" drives="pe8110 d7-p5520 7450-max pm9a3" budget="100":
    mkdir -p {{ dir }}
    for drive in {{ drives }}; do flashweir fit {{ measurements }} --drive $drive --budget {{ budget }} -o {{ dir }}/$drive.toml --json {{ dir }}/$drive.json --force; done

# The random tests draw other cases in each `just fuzz*`; `just random=SEED fuzz-drives` draws those of a failure again
random := `date +%s`

# Throws CASES damaged files at every trace reader, far more than the tests do
fuzz cases="1000000":
    PROPTEST_RNG_SEED={{ random }} FLASHWEIR_FUZZ_CASES={{ cases }} \
        cargo test --release --package flashweir-trace --test all -- no_panic:: binary::

# Runs CASES random drives (all keys) and every pair of policies on both time paths, verified, then with power cuts
fuzz-drives cases="20000":
    @echo "PROPTEST_RNG_SEED={{ random }}"
    PROPTEST_RNG_SEED={{ random }} FLASHWEIR_FUZZ_CASES={{ cases }} \
        cargo test --release --package flashweir-ssd --test all -- paths::
    PROPTEST_RNG_SEED={{ random }} FLASHWEIR_FUZZ_CASES={{ cases }} \
        cargo test --release --package flashweir-run --test all -- power::promise

# Builds CASES random stacks of loop devices, partitions, file systems and swap, and tries to write to each part (root)
fuzz-safety cases="300":
    FLASHWEIR_FUZZ_CASES={{ cases }} cargo test --release --package flashweir-device --lib safety::tests::fuzz -- --nocapture

# Cuts the power of every drive of a matrix CUTS times: FTLs, planners, clocks, buffers and orders
power-cuts cuts="10000":
    FLASHWEIR_POWER_CUTS={{ cuts }} cargo test --release --package flashweir-run --test all -- power::matrix --nocapture

# Cuts the power under files on each file system, on drives that keep their promise and on two that do not (an hour, root)
live-cuts scale="50": build-release
    #!/usr/bin/env bash
    set -euo pipefail
    cd experiments/13-live
    for drive in volatile protected collecting folding; do
        turns=$(({{ scale }} * 4)); [ $drive = volatile ] && turns=$((turns * 2))
        python cuts.py --on ext4 --drive $drive --cuts $turns --seed 11 files
    done
    for on in xfs btrfs f2fs; do
        for drive in volatile protected collecting folding; do
            python cuts.py --on $on --drive $drive --cuts {{ scale }} --seed 12 files
        done
    done
    for on in ext4 xfs btrfs; do
        for drive in lying reordering; do python cuts.py --on $on --drive $drive --cuts 20 --seed 13 files; done
    done

# Kills a served drive that lives in a folder KILLS times, at any moment (SIGKILL): what was flushed is there, the state opens
live-kills kills="200" seed="1": build-release
    python experiments/13-live/kills.py --kills {{ kills }} --seed {{ seed }}

# Throws CASES messages of NBD, messages of vhost-user and requests of virtio-blk with noise at a served drive, each
live-fuzz cases="100000":
    FLASHWEIR_FUZZ_CASES={{ cases }} cargo test --release --package flashweir-device --lib fuzz::fuzzed -- --nocapture

# fio writes GIB over several connections of NBD, at random, and verifies every checksum (needs fio with its engine nbd)
live-fio gib="10" connections="4": build-release
    python experiments/13-live/verify.py --bytes {{ gib }} --connections {{ connections }}

# QEMU runs Debian's cloud kernel on a served drive over vhost-user-blk, and fio in it (needs qemu-system-x86, busybox, cpio)
live-guest accel="tcg": build-release
    python experiments/13-live/guest.py --accel {{ accel }}

# Cuts the power under PostgreSQL, on drives that keep their promise and on two that do not (half an hour, root)
live-postgres scale="10": build-release
    #!/usr/bin/env bash
    set -euo pipefail
    cd experiments/13-live
    python cuts.py --drive volatile --cuts $(({{ scale }} * 6)) --seed 21 postgres
    for drive in protected collecting; do python cuts.py --drive $drive --cuts $(({{ scale }} * 3)) --seed 21 postgres; done
    python cuts.py --drive folding --cuts $(({{ scale }} * 2)) --seed 21 postgres
    for drive in lying reordering; do python cuts.py --drive $drive --cuts {{ scale }} --seed 21 postgres; done

# A Debian made by mmdebstrap boots from a served drive in QEMU, twice; ROOT keeps its files for the next recipes (root)
live-debian root="target/debian" accel="tcg": build-release
    python experiments/13-live/debian.py --root {{ root }} --accel {{ accel }}

# Cuts the power under f2fs in a virtual machine, CUTS times a drive (a third on those that lie), over its kernel's nbd (root)
live-f2fs cuts="30" root="target/debian" accel="tcg": build-release
    #!/usr/bin/env bash
    set -euo pipefail
    for drive in volatile protected collecting; do
        python experiments/13-live/guest_cuts.py --root {{ root }} --accel {{ accel }} --drive $drive --cuts {{ cuts }} --seed 31
    done
    python experiments/13-live/guest_cuts.py --root {{ root }} --accel {{ accel }} --drive lying --cuts $((({{ cuts }} + 2) / 3)) --seed 31

# Two virtual machines on one drive: reads of the first while the second writes, with shared channels and with its own
live-tenants seconds="100" dilate="1000": build-release
    python experiments/13-live/tenants.py --seconds {{ seconds }} --dilate {{ dilate }}

# xfstests and blktests, built in the folders given by --xfstests and --blktests, over the kernel's nbd in QEMU (root)
live-suites *options: build-release
    python experiments/13-live/suites.py --root target/debian {{ options }}

# The documentation site, in target/site: figures drawn by commands, generated pages, links checked (needs `just build`)
docs:
    pip install --quiet --disable-pip-version-check "furo>=2025.9" "myst-parser>=5" "sphinx>=9" "sphinx-copybutton>=0.5"
    scripts/site

# The figures of the documents in docs/images (docs/figures.toml), and those of the experiments in their folders (minutes)
figures:
    scripts/site figures

# Packages in dist/: source, and abi3 manylinux wheels for both architectures; the wheel here is tried in a clean environment
dist:
    scripts/dist

# Checks, tests, builds, commits and tags a release; uploads nothing
release version:
    scripts/release {{ version }}

# The documentation of the crates, in target/doc
docs-crates:
    cargo doc --workspace --no-deps

# Precision and recall of the detectors of `flashweir diagnose` on 210 held-out simulated drives (minutes)
[group("research")]
measure-diagnosis drives="210":
    python -m research.diagnosis measure {{ drives }}

# Learns the detectors that ship again, from 1240 simulated drives, to MODEL (34 minutes of processor time)
[group("research")]
learn-diagnosis model="symptoms.json":
    python -m research.diagnosis learn {{ model }}

# Precision and recall of `flashweir diagnose --active` (--logs: of logs), on drives of lists (research/active/README.md), too
[group("research")]
diagnosis-active *args="--sim 60 --model 60":
    python -m research.active {{ args }}

# Accuracy of `flashweir probe` on held-out simulated drives: keys, and workloads on their device files (minutes)
[group("research")]
measure-probe drives="60":
    python -m research.probing measure {{ drives }}

# Learns the model of `tenants.channels=learned` again, from so many generated mixes of a seed, to MODEL (minutes)
[group("research")]
learn-allocator model="channels.json" mixes="120" seed="1":
    python -m research.allocators {{ model }} {{ mixes }} {{ seed }}

# Dominated hypervolume of `flashweir search` on ten problems, against grids of as many runs (minutes)
[group("research")]
measure-search designs="48":
    OPENBLAS_NUM_THREADS=1 python -m research.searching {{ designs }}

# The best known combination of policies for each of ten recorded traces (minutes)
[group("research")]
search-traces designs="40":
    OPENBLAS_NUM_THREADS=1 python -m research.searching traces {{ designs }}
