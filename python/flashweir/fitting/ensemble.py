"""Keys of the best drive, with the values of drives that fit almost as well."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from flashweir.fitting import held, space
from flashweir.fitting.outcome import KeyFound
from flashweir.fitting.trials import Trial

# Error within which two drives fit alike, beside that of the best: assumed.
_NOISE = held.NOISE
# Times that noise: errors of drives that fit almost as well.
_NEAR = 3
# Share of a key's range that its interval has at most where the data determine it.
_DETERMINED = 0.5


def simplest(trials: Sequence[Trial]) -> Trial:
    """The best drive, or one with fewer keys that is worse by less than the noise."""
    best = min(trials, key=lambda trial: trial.error)
    near = [trial for trial in trials if trial.error <= best.error + _NOISE]
    return min(near, key=lambda trial: (len(trial.places), trial.error))


def keys(
    best: Trial, trials: Sequence[Trial], varied: Sequence[Trial], settings: Mapping[str, object]
) -> list[KeyFound]:
    """Keys with the interval of those drives of the same kind that fit almost as well.

    Args:
        best: the drive that was chosen.
        trials: drives of the search, whose errors are of the same simulations as those of `varied`.
        varied: the chosen drive with one key at another value each.
        settings: the chosen drive at last: it may hold writes back, and has keys for that.
    """
    same = [trial for trial in (*trials, *varied) if trial.start.names == best.start.names]
    own = [trial.error for trial in same if trial.places == best.places]
    limit = min(own, default=best.error) + _NEAR * _NOISE
    near = [trial for trial in same if trial.error <= limit]
    names = ", ".join(best.start.names)
    solved, found = space.solved().key, []
    searched = {name: key for key in best.start.keys for name in (key.name, *key.also)}
    for name, value in best.settings.items():
        if name in searched:
            found.append(_searched(best, searched[name], near, name, value))
        elif name == solved.name:
            values = [middle(trial.settings[name]) for trial in near if name in trial.settings]
            sure = solved.place(max(values)) - solved.place(min(values)) <= _DETERMINED
            source = f"from throughput at saturation; {solved.source}"
            found.append(KeyFound(name, value, min(values), max(values), sure, source))
        elif name in space.fixed():
            found.append(KeyFound(name, value, None, None, False, "assumed"))
        elif name == space.settled().name:
            found.append(KeyFound(name, value, None, None, False, f"from measurements; {space.settled().source}"))
        else:
            found.append(KeyFound(name, value, None, None, False, f"chosen: {names}"))
    return [*(replace(one, value=settings[one.key]) for one in found), *_held(settings)]


def _held(settings: Mapping[str, object]) -> list[KeyFound]:
    """Keys of a drive that holds writes back in phases."""
    sources = {
        held.POLICY: "chosen: writes held back in phases",
        held.RATE: "from throughput at saturation",
        **{key.name: f"fitted after all others; {key.source}" for key in space.held()},
    }
    return [
        KeyFound(name, value, None, None, False, sources[name]) for name, value in settings.items() if name in sources
    ]


def middle(value: object) -> float:
    """The time of a middle page, where page types have different ones."""
    return float(str(value[1] if isinstance(value, list) else value))


def _searched(best: Trial, key: space.Key, near: Sequence[Trial], name: str, value: object) -> KeyFound:
    at = best.start.keys.index(key)
    places = [trial.places[at] for trial in near] or [best.places[at]]
    low, high = min(*places, best.places[at], 1.0), max(*places, best.places[at], 0.0)
    sure = len(near) > len(best.places) and high - low <= _DETERMINED
    return KeyFound(name, value, key.at(low), key.at(high), sure, f"fitted; {key.source}")
