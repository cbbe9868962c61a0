"""Answers of a log of requests: first if it can answer, then a verdict a symptom, else the active test that would.

A log of a drive shows the write buffer where it begins with the drive at rest, one request at a time. It shows bad
mapping only of a drive that was empty: a used one collects from the first write on, as a bad map merges. It never
shows poor collection: spare, written range and victims are confounded (docs/concepts/diagnosis.md).
"""

import math
from collections.abc import Mapping
from typing import Any

FORMAT = "flashweir-diagnosis-2"
# Mean outstanding requests above which the time of one write is that of others, too.
_DEPTH = 1.2
_MIN_WRITES, _MIN_WRITE_SHARE, _MAX_IDLE = 1000, 0.9, 0.05
# Decades of time: logs of features are to the base of 10. A quarter of all bytes faster than flash would lift the mean
# of the first 128 KiB by far more than `_SAME`; hiccups of a host of a few per mille by less.
_SAME, _AT_REST = 0.08, 0.5
# Writes that need no flash take less than 100 us; a share of them below this is chance.
_NO_FAST, _FLASH_US = 0.02, 2.0
# Sizes of writes differ by less, so that the mean of the first ones is comparable.
_ONE_SIZE = 0.02
_SHOWN = 0.5
# A buffer that is emptied while it is filled looks larger by this: `_filled`. Half as large a buffer is excluded by the
# geometric mean of both.
_GOOD_KIB, _VOLUMES_KIB = 128 * math.sqrt(0.5), (128, 256, 512, 1024)
_SAYS = "`flashweir diagnose TARGET --active` measures it"


def answered(found: dict[str, Any], *, empty: bool) -> dict[str, Any]:
    """The diagnosis of a log with `symptoms`, `admissible` and bounds of amplification; the detectors' are `findings`.

    Args:
        found: what the detectors said.
        empty: if the drive held nothing when the log began.
    """
    limits = _limits(found)
    findings = found["symptoms"]
    symptoms = {
        "mapping": _mapping(found, limits, empty=empty),
        "collection": _unknown(f"spare, written range and victims look alike in a log; {_SAYS} (collection-hot)"),
        "buffer": _buffer(found, limits),
    }
    verdicts = [one["verdict"] for one in symptoms.values()]
    verdict = "ill" if "bad" in verdicts else "unknown"
    return {
        "format": FORMAT,
        "verdict": verdict,
        "sentence": _sentence(symptoms, limits),
        "admissible": not limits,
        "limits": limits,
        "symptoms": symptoms,
        "write_amplification": _amplification(found, limits),
        "findings": findings,
        **{key: value for key, value in found.items() if key not in ("verdict", "sentence", "symptoms")},
    }


def _limits(found: Mapping[str, Any]) -> list[str]:
    """Reasons for which a log can't answer anything."""
    limits = []
    if found["writes"] < _MIN_WRITES:
        limits.append(f"{found['writes']} writes have a response time: expected at least {_MIN_WRITES}")
        return limits
    if found["depth"] > _DEPTH:
        limits.append(f"{found['depth']:.2f} requests are outstanding on average: expected 1")
    share = found["writes"] / max(found["requests"], 1)
    if share < _MIN_WRITE_SHARE:
        limits.append(f"{100 * share:.0f}% of the requests are writes: expected at least {100 * _MIN_WRITE_SHARE:.0f}%")
    if found["usual_pbr_ns_per_byte"] <= 0:
        limits.append("the clock is too coarse: a run of 64 writes takes no time")
    if found["features"]["idle"] > _MAX_IDLE:
        limits.append(f"the drive idles {100 * found['features']['idle']:.0f}% of the time, and may work unseen")
    return limits


def _mapping(found: Mapping[str, Any], limits: list[str], *, empty: bool) -> dict[str, str]:
    if limits:
        return _unknown(f"{limits[0]}; {_SAYS}")
    if not empty:
        return _unknown(f"a drive that was used is slow from the first write on, too, and may be; {_SAYS} (mapping)")
    if found["written_bytes"] < found["distinct_bytes"] * 1.2:
        return _unknown(f"little is overwritten; {_SAYS} (mapping)")
    for finding in found["symptoms"]:
        if finding["symptom"] == "mapping" and finding["probability"] >= _SHOWN:
            return {"verdict": "bad", "reason": "writes are slow before the drive can have been full"}
    return _unknown(f"no merges show, but a coarse mapping unit or a map on flash does not either; {_SAYS} (mapping)")


def _buffer(found: Mapping[str, Any], limits: list[str]) -> dict[str, str]:
    """By the mean cost of the first 128 KiB against the fastest writes: nothing else was written before them."""
    if limits:
        return _unknown(f"{limits[0]}; {_SAYS}")
    features = found["features"]
    first, fastest = features["first_128k_us"], min(features["p05_us"], features["first_32k_us"])
    # A small buffer slows all that follows; a hiccup of the host is gone after a while.
    stays = min(features["first_256k_us"], features["first_1024k_us"]) >= first - _ONE_SIZE
    # The first condition that holds decides.
    cases = [
        (
            features["count_below_100us"] < _NO_FAST and features["first_32k_us"] > _FLASH_US,
            ("bad", "writes take 100 us and more, the first ones as well: they wait for flash"),
        ),
        (
            abs(features["size_spread"]) > _ONE_SIZE,
            ("unknown", f"writes have different sizes, so the first ones can't be compared; {_SAYS} (buffer)"),
        ),
        (
            features["first_32k_us"] > fastest + _AT_REST,
            ("unknown", f"the first writes wait though later ones don't: the drive was busy before; {_SAYS} (buffer)"),
        ),
        (
            first < fastest + _SAME and _filled(features, fastest) < _GOOD_KIB,
            ("unknown", f"flash keeps up with single writes: a small buffer would look the same; {_SAYS} (buffer)"),
        ),
        (first < fastest + _SAME, ("good", "the first 128 KiB are acknowledged as fast as any write")),
        (stays, ("bad", f"the first 128 KiB take {10 ** (first - fastest):.2g} times as long as fast writes")),
        (True, ("unknown", f"single writes among the first 128 KiB are slow; {_SAYS} (buffer)")),
    ]
    verdict, reason = next(answer for holds, answer in cases if holds)
    return {"verdict": verdict, "reason": reason}


def _filled(features: Mapping[str, float], fastest: float) -> float:
    """Least size, KiB, of a buffer that takes the first writes as fast as any, and has later ones wait.

    While it takes V bytes in flash takes V / s out of it, where later writes are s times as long as the first ones.
    """
    fast = [kib for kib in _VOLUMES_KIB if features[f"first_{kib}k_us"] < fastest + _SAME]
    slower = 10 ** max(features["mean_us"] + features["eighth_0"] - fastest, 0.0)
    return max(fast, default=0) * (1 - 1 / slower)


def _amplification(found: Mapping[str, Any], limits: list[str]) -> dict[str, object]:
    """Bounds: at least 1; at most what fits into the time, if the fastest run of 64 writes was free of copies."""
    if limits:
        return {"low": 1.0, "high": None, "method": "inferred"}
    fastest = found["usual_pbr_ns_per_byte"]
    return {"low": 1.0, "high": float(f"{max(1.0, found['mean_pbr_ns_per_byte'] / fastest):.4g}"), "method": "inferred"}


def _sentence(symptoms: Mapping[str, Mapping[str, str]], limits: list[str]) -> str:
    names = {"mapping": "address mapping", "collection": "garbage collection", "buffer": "write buffer"}
    said: dict[str, list[str]] = {"bad": [], "good": [], "unknown": []}
    for name, one in symptoms.items():
        said[one["verdict"]].append(names[name])
    if limits:
        return f"The log can't tell: {limits[0]}."
    parts = [
        f"{' and '.join(known)} {'is' if len(known) == 1 else 'are'} {word}" for word, known in said.items() if known
    ]
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def _unknown(reason: str) -> dict[str, str]:
    return {"verdict": "unknown", "reason": reason}
