"""Options of fio's job files: which have a meaning here, which have none and do no harm, and other names of theirs."""

import difflib

from flashweir.fio.jobfile import Option, Section

ALIASES = {
    "readwrite": "rw", "blocksize": "bs", "io_limit": "io_size", "fileoffset": "offset", "ba": "blockalign",
    "blocksize_range": "bsrange", "blocksize_unaligned": "bs_unaligned", "timeout": "runtime",
    "wait_for_previous": "stonewall", "nr_files": "nrfiles", "fdp_pli": "plids", "fdp_pli_select": "plid_select",
}  # fmt: skip
MEANT = (
    "rw", "rw_sequencer", "size", "io_size", "offset", "offset_increment", "number_ios", "bs", "bssplit", "bsrange",
    "bs_unaligned", "blockalign", "numjobs", "iodepth", "rate", "rate_iops", "rate_process", "thinktime",
    "thinktime_blocks", "random_distribution", "percentage_random", "norandommap", "softrandommap", "randrepeat",
    "allrandrepeat", "randseed", "runtime", "time_based", "startdelay", "stonewall", "wait_for", "fsync", "fdatasync",
    "end_fsync", "rwmixread", "rwmixwrite", "loops", "kb_base", "filename", "nrfiles", "fdp", "dataplacement",
    "plids", "plid_select",
)  # fmt: skip
# Harmless: they change how fio submits, measures or fills, and not the requests.
IGNORED = frozenset((
    "name", "description", "directory", "filename_format", "unique_filename", "filetype", "opendir", "lockfile",
    "ioengine", "direct", "buffered", "iodepth_batch", "iodepth_batch_submit", "iodepth_batch_complete",
    "iodepth_batch_complete_min", "iodepth_batch_complete_max", "iodepth_low", "io_submit_mode", "serialize_overlap",
    "hipri", "sqthread_poll", "sqthread_poll_cpu", "fixedbufs", "registerfiles", "nonvectored", "force_async",
    "userspace_reap", "uncached", "nowait", "cmd_type", "openfiles", "file_service_type", "fallocate", "fadvise_hint",
    "overwrite", "create_serialize", "create_fsync", "create_on_open", "create_only", "allow_file_create",
    "allow_mounted_write", "pre_read", "unlink", "unlink_each_loop", "invalidate", "fsync_on_close", "end_syncfs",
    "mem", "iomem", "iomem_align", "mem_align", "lockmem", "hugepage-size", "clocksource", "random_generator",
    "verify", "do_verify", "verifysort", "verifysort_nr", "verify_interval", "verify_offset", "verify_pattern",
    "verify_pattern_interval", "verify_fatal", "verify_dump", "verify_async", "verify_async_cpus", "verify_policy",
    "experimental_verify", "verify_state_load", "verify_state_save", "verify_write_sequence", "verify_header_seed",
    "exec_prerun", "exec_postrun", "ioscheduler", "rwmixcycle", "comm", "nice", "prio", "prioclass", "priohint",
    "thinktime_spin", "thinktime_blocks_type", "thinkcycles", "rate_min", "ratemin", "rate_iops_min", "rate_cycle",
    "ratecycle", "rate_ignore_thinktime", "max_latency", "write_hint", "cpumask", "cpus_allowed",
    "cpus_allowed_policy", "numa_cpu_nodes", "numa_mem_policy", "gpu_dev_id", "new_group", "thread", "per_job_logs",
    "write_bw_log", "write_lat_log", "write_iops_log", "write_hist_log", "write_iolog", "bwavgtime", "iopsavgtime",
    "group_reporting", "stats", "zero_buffers", "refill_buffers", "scramble_buffers", "buffer_pattern",
    "buffer_compress_percentage", "buffer_compress_chunk", "dedupe_percentage", "dedupe_global", "dedupe_mode",
    "dedupe_working_set_percentage", "clat_percentiles", "lat_percentiles", "slat_percentiles", "percentile_list",
    "significant_figures", "disk_util", "gtod_reduce", "disable_lat", "disable_clat", "disable_slat",
    "disable_bw_measurement", "disable_bw", "gtod_cpu", "job_start_clock_id", "unified_rw_reporting",
    "continue_on_error", "ignore_error", "error_dump", "exitall_on_error", "block_error_percentiles", "cgroup",
    "cgroup_nodelete", "cgroup_weight", "uid", "gid", "unit_base",
))  # fmt: skip
_LOGS = "log_"


def known(section: Section) -> tuple[dict[str, Option], list[Option]]:
    """The options of a section by their first names, and those that are ignored.

    Raises:
        ConfigError: an option is neither; the message has its name, file and line.
    """
    found: dict[str, Option] = {}
    ignored: list[Option] = []
    for option in sorted(section.options.values(), key=lambda one: (one.file != section.file, one.line)):
        name = ALIASES.get(option.name, option.name)
        if name in MEANT:
            found[name] = option
        elif name in IGNORED or name.startswith(_LOGS):
            ignored.append(option)
        else:
            near = difflib.get_close_matches(name, (*MEANT, *IGNORED), 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise option.refused(f"this option of fio has no counterpart in a workload here{hint}")
    return found, ignored
