"""Probe of a drive: finds out from outside, by requests and their times, what it is made of."""

import json
import os

from flashweir.api import Progress
from flashweir.arguments import in_python
from flashweir.healthlogs.around import Health
from flashweir.importing import device
from flashweir.options import target as option
from flashweir.options.option import checked, declared
from flashweir.results.section import Section
from flashweir.targets import Target, given
from flashweir.tenants import AnyPath

__all__ = ["probe"]


@declared
@in_python
def probe(
    target: AnyPath | Target,
    *,
    erase: option.Erase = None,
    seed: option.Seed = 1,
    health_before: option.HealthBefore = None,
    health_after: option.HealthAfter = None,
    progress: Progress | None = None,
) -> Section:
    """Finds pages, channels, dies, planes, blocks, times, spare space and write buffer of a drive.

    Overwrites the whole drive. Uses requests and their times alone (docs/guide/model-my-drive.md).

    Args:
        target: `"sim:PRESET[,KEY=VALUE...]"`, `"py:FILE.py:CLASS[,key=value...]"`, the path of a block device or file,
            or an object of a class as `py:` names one.
        progress: that of `simulate`, with the phase "run" and `done` in requests.

    Returns:
        `answers`, each with the `key` of a device, its `value`, how `sure` it is (0, a default, to 1), `how` it was
        found, or why it was not, and `showed_by`, the requests that showed it; `admissible`, false if the target does
        not behave like flash, and `not_flash`, why; `path`, overhead and jitter of the path; `requests` and
        `written_bytes`; and `device_file`, the text of a TOML file that
        `simulate(device=...)` takes.

        `health` has the changes in the health logs (docs/reference/health.md), None without them.

    Raises:
        ConfigError: a simulated drive that can't be.
        DeviceError: the target can't be used, is too small, or may not be written.
        FlashweirError: the target failed, or `progress` stopped it.
        KeyboardInterrupt: Ctrl-C.
    """
    checked(probe, locals())
    # Measuring needs numpy, which importing the package does without.
    from flashweir.probing.run import probed

    watch = Health(target, health_before, health_after)
    with given(target) as name:
        asked = device.target(name)
        spec = {"target": asked, "erase": asked if erase == target else erase and os.fspath(erase), "seed": seed}
        with device.named(name, asked):
            text = probed(spec, progress)
    return Section(json.loads(device.original(text, name, asked)) | {"health": watch.end()})
