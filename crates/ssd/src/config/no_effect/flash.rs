//! Settings of planes, transfers and the queues of dies that have no effect.

use super::{NoEffect, is_direct};
use crate::alloc::AllocConfig;
use crate::config::{Clock, Config};
use crate::nand::{Cell, NandConfig, PageOrder, Programs, Transfer};
use crate::per_tenant::PerTenant;
use crate::quantity::Bound;
use crate::sched::{Dispatch, SchedConfig, SchedPolicy, Suspends};

pub(super) const FLASH: [NoEffect; 27] = [
    NoEffect {
        keys: "planes_bound=true, planes=1",
        reason: "a die has one plane",
        applies: |config| config.planes_bound && config.planes == 1,
        clear: |config| config.planes_bound = false,
    },
    NoEffect {
        keys: "timing.multi_plane=true, planes=1 or planes_bound=true",
        reason: "a die has one plane, or its planes run every command together",
        applies: |config| config.timing.multi_plane && (config.planes == 1 || config.planes_bound),
        clear: |config| config.timing.multi_plane = false,
    },
    NoEffect {
        keys: "nand.transfer=codeword, timing.bus=0, timing.command=0",
        reason: "transfers take no time",
        applies: |config| config.nand.transfer == Transfer::Codeword && config.bus_is_free(),
        clear: |config| config.nand.transfer = Transfer::Page,
    },
    NoEffect {
        keys: "nand.codeword, nand.transfer=page, ageing.kind=none",
        reason: "whole pages cross the bus, and nothing is decoded",
        applies: |config| {
            let is_default = config.nand.codeword == NandConfig::default().codeword;
            !is_default && config.nand.transfer == Transfer::Page && !config.ageing.is_on()
        },
        clear: |config| config.nand.codeword = NandConfig::default().codeword,
    },
    NoEffect {
        keys: "nand.page_order=shadow, nand.programs=one-shot or foggy-fine",
        reason: "pages of a word line are programmed together, so they come together",
        applies: |config| {
            config.nand.page_order == PageOrder::Shadow && config.nand.programs != Programs::Page
        },
        clear: |config| config.nand.page_order = PageOrder::InTurn,
    },
    NoEffect {
        keys: "nand.page_order, timing.read, timing.program, nand.programs=page",
        reason: "all pages have one type",
        applies: |config| {
            let Config { nand, timing, .. } = config;
            let one_type = timing.read.0.len() == 1 && timing.program.0.len() == 1;
            nand.page_order == PageOrder::Shadow && nand.programs == Programs::Page && one_type
        },
        clear: |config| config.nand.page_order = PageOrder::InTurn,
    },
    NoEffect {
        keys: "nand.programs=one-shot, nand.cell, timing.read",
        reason: "a word line has one page",
        applies: |config| {
            let Config { nand, timing, .. } = config;
            nand.programs == Programs::OneShot && timing.page_types(nand) == 1 && timing.program.0.len() == 1
        },
        clear: |config| config.nand.programs = Programs::Page,
    },
    NoEffect {
        keys: "nand.cell, nand.programs=page, slc.kind=none, ageing.kind=none",
        reason: "page types follow from timing.read and timing.program, which fit",
        applies: |config| {
            let Config { nand, timing, .. } = config;
            let fits = nand.programs == Programs::Page && timing.fits(nand);
            nand.cell != Cell::Auto && fits && !config.slc.is_on() && !config.ageing_heeds_nand_cell()
        },
        clear: |config| config.nand.cell = Cell::Auto,
    },
    NoEffect {
        keys: "nand.erase_growth, timing.erase=0 or ftl.kind=direct",
        reason: "erases take no time, or there are none",
        applies: |config| config.nand.erase_growth > 0.0 && (config.timing.erase.0 == 0 || is_direct(config)),
        clear: |config| config.nand.erase_growth = 0.0,
    },
    NoEffect {
        keys: "nand.cache_read=true, timing.bus=0, timing.command=0",
        reason: "transfers take no time",
        applies: |config| config.nand.cache_read && config.bus_is_free(),
        clear: |config| config.nand.cache_read = false,
    },
    NoEffect {
        keys: "nand.seed, nand.spread=0, nand.die_spread=0, nand.bad_blocks=0, ageing.spread=0",
        reason: "nothing is drawn",
        applies: |config| {
            let draws = config.nand.draws() || config.ageing.draws();
            config.nand.seed != NandConfig::default().seed && !draws
        },
        clear: |config| config.nand.seed = NandConfig::default().seed,
    },
    NoEffect {
        keys: "nand.cache_read=true, clock=lock-step",
        reason: "commands of a read start together, when all before them are done",
        applies: |config| config.nand.cache_read && config.clock == Clock::LockStep,
        clear: |config| config.nand.cache_read = false,
    },
    NoEffect {
        keys: "timing.cache_program=true, timing.bus=0, timing.command=0",
        reason: "transfers take no time",
        applies: |config| config.timing.cache_program && config.bus_is_free(),
        clear: |config| config.timing.cache_program = false,
    },
    NoEffect {
        keys: "timing.cache_program=true, alloc.kind=dynamic or hybrid",
        reason: "dynamic allocation gives a page to an idle die only, which programs nothing meanwhile",
        applies: |config| config.timing.cache_program && config.binds_late(),
        clear: |config| config.timing.cache_program = false,
    },
    NoEffect {
        keys: "timing.cache_program=true, clock=lock-step",
        reason: "pages of a cycle start together, when all before them are done",
        applies: |config| config.timing.cache_program && config.clock == Clock::LockStep,
        clear: |config| config.timing.cache_program = false,
    },
    NoEffect {
        keys: "timing.cache_program=true, buffer.bytes, planes=1 or alloc.kind=superblock without parity",
        reason: "a plane takes its next page from the buffer when the last one is programmed",
        applies: |config| {
            let one_by_one = config.planes == 1 || config.alloc.has_superblocks();
            let alone = one_by_one && config.alloc.parity() == 0;
            config.timing.cache_program && config.buffer.bytes.0 > 0 && alone
        },
        clear: |config| config.timing.cache_program = false,
    },
    NoEffect {
        keys: "sched.write_bound, sched.kind",
        reason: "only read-first and suspend hold reads back for writes",
        applies: |config| config.sched.write_bound.0.is_some() && !config.sched.bounds_writes(),
        clear: |config| config.sched.write_bound = Bound::default(),
    },
    NoEffect {
        keys: "sched.preempt_gc=true, sched.kind",
        reason: "fifo, flin and out-of-order prefer no reads, suspend lets them get in between copies anyway",
        applies: |config| {
            let suspends = matches!(config.sched.policy, SchedPolicy::Suspend(_));
            config.sched.preempt_gc && (suspends || !config.sched.prefers_reads())
        },
        clear: |config| config.sched.preempt_gc = false,
    },
    NoEffect {
        keys: "sched.preempt_gc=true, ftl.kind=direct",
        reason: "nothing is collected",
        applies: |config| config.sched.preempt_gc && is_direct(config),
        clear: |config| config.sched.preempt_gc = false,
    },
    NoEffect {
        keys: "sched.bus_reads_first=false, chips=1 and dies=1, or timing.bus=0 and timing.command=0",
        reason: "no die waits for a bus",
        applies: |config| {
            let no_wait = config.chips * config.dies == 1 || config.bus_is_free();
            matches!(&config.sched.policy, SchedPolicy::Suspend(own) if !own.bus_reads_first) && no_wait
        },
        clear: |config| {
            if let SchedPolicy::Suspend(own) = &mut config.sched.policy {
                own.bus_reads_first = true;
            }
        },
    },
    NoEffect {
        keys: "sched.kind=out-of-order, alloc.kind=striped, chips=1 and dies=1, or timing.bus=0 and timing.command=0",
        reason: "no die waits for a bus, so the oldest command can always start",
        applies: |config| {
            let shares_bus = config.chips * config.dies > 1 && !config.bus_is_free();
            let is_striped = matches!(config.alloc, AllocConfig::Striped(_)) && !config.binds_late();
            matches!(config.sched.policy, SchedPolicy::OutOfOrder(_)) && !shares_bus && is_striped
        },
        clear: |config| config.sched.policy = SchedConfig::default().policy,
    },
    NoEffect {
        keys: "sched.dispatch=immediate, sched.kind=fifo",
        reason: "commands start in the order of arrival",
        applies: |config| config.sched.dispatch == Dispatch::Immediate && !config.sched.reorders(),
        clear: |config| config.sched.dispatch = Dispatch::Batch,
    },
    NoEffect {
        keys: "gc.batch, sched.kind, sched.preempt_gc",
        reason: "reads get in between the copies of a collection only with suspend, or with preempt_gc",
        applies: |config| {
            let suspends = matches!(config.sched.policy, SchedPolicy::Suspend(_));
            config.gc.batch > 1 && !suspends && !config.sched.preempt_gc
        },
        clear: |config| config.gc.batch = 1,
    },
    NoEffect {
        keys: "sched.erase_suspend_time, sched.erase_resume_time, sched.suspends=program",
        reason: "erases are not suspended",
        applies: |config| {
            let none = Bound::default();
            matches!(&config.sched.policy, SchedPolicy::Suspend(own)
                if own.suspends == Suspends::Program && (own.erase_suspend_time, own.erase_resume_time) != (none, none))
        },
        clear: |config| {
            if let SchedPolicy::Suspend(own) = &mut config.sched.policy {
                (own.erase_suspend_time, own.erase_resume_time) = (Bound::default(), Bound::default());
            }
        },
    },
    NoEffect {
        keys: "sched.min_run, sched.max_suspensions=0 or 1",
        reason: "no operation is suspended twice",
        applies: |config| matches!(&config.sched.policy, SchedPolicy::Suspend(own) if own.min_run.0 > 0 && own.max_suspensions < 2),
        clear: |config| {
            if let SchedPolicy::Suspend(own) = &mut config.sched.policy {
                own.min_run.0 = 0;
            }
        },
    },
    NoEffect {
        keys: "sched.interval, sched.low_read_rate, sched.low_write_rate, sched.min_fairness, sched.fair_insertion=false",
        reason: "commands are put in the order of arrival, whatever their flow",
        applies: |config| matches!(&config.sched.policy, SchedPolicy::Flin(own) if own.has_idle_thresholds()),
        clear: |config| {
            if let SchedPolicy::Flin(own) = &mut config.sched.policy {
                own.clear_thresholds();
            }
        },
    },
    NoEffect {
        keys: "sched.priorities",
        reason: "all tenants have the lowest level",
        applies: |config| matches!(&config.sched.policy, SchedPolicy::Flin(own) if own.has_one_level()),
        clear: |config| {
            if let SchedPolicy::Flin(own) = &mut config.sched.policy {
                own.priorities = PerTenant::default();
            }
        },
    },
];
