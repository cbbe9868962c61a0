"""Since when a policy is as it is: the commits of its settings and of the files that hold its code."""

import subprocess
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Between git and hanging.
_PATIENCE_S = 30


@dataclass(frozen=True)
class Source:
    """A file with code or constants of a policy: the commit that changed it last, none if it has changes since."""

    path: str
    commit: str | None
    date: str | None


@dataclass(frozen=True)
class Frozen:
    """The first commit from which on the policy's settings have not changed; none if they are not committed."""

    policy: str
    commit: str | None
    date: str | None
    sources: Sequence[Source]

    @property
    def said(self) -> list[str]:
        """A sentence each for the settings and for every file."""
        found = [
            f"The settings of {self.policy} are unchanged since commit {_short(self.commit)} of {self.date}."
            if self.commit
            else f"The settings of {self.policy} are not committed: nothing shows that they were there first."
        ]
        for source in self.sources:
            if source.commit:
                found.append(f"{source.path} is unchanged since commit {_short(source.commit)} of {source.date}.")
            else:
                found.append(f"{source.path} has changes that are not committed.")
        return found

    def as_json(self) -> dict[str, Any]:
        """The same as a JSON object."""
        sources = [{"path": one.path, "commit": one.commit, "date": one.date} for one in self.sources]
        return {"policy": self.policy, "commit": self.commit, "date": self.date, "sources": sources}


def since(file: Path, policy: str, sources: Sequence[Path], settings_in: Callable[[dict[str, Any]], object]) -> Frozen:
    """Looks through the history of `file` in git.

    Args:
        file: the TOML file that holds the settings.
        policy: what it is called.
        sources: files with its code.
        settings_in: gives the settings from the file's contents; what it raises or differs in is another policy.
    """
    folder, name = file.absolute().parent, file.name
    try:
        now = settings_in(tomllib.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        now = None
    commit = date = None
    for line in (_git(folder, "log", "--format=%H %cs", "--", name) or "").splitlines():
        this, _, day = line.partition(" ")
        try:
            then = settings_in(tomllib.loads(_git(folder, "show", f"{this}:./{name}") or ""))
        except Exception:  # noqa: BLE001 - an earlier file may have been anything
            break
        if then != now:
            break
        commit, date = this, day
    return Frozen(policy, commit, date, [_source(path) for path in sources])


def _source(path: Path) -> Source:
    folder, name = path.absolute().parent, path.name
    last = _git(folder, "log", "-1", "--format=%H %cs", "--", name)
    if not last or _git(folder, "status", "--porcelain", "--", name):
        return Source(str(path), None, None)
    commit, _, day = last.strip().partition(" ")
    return Source(str(path), commit, day)


def _git(folder: Path, *args: str) -> str | None:
    """Output of git; None without a repository or without git."""
    command = ["git", "-C", str(folder), *args]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE_S, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return done.stdout


def _short(commit: str | None) -> str:
    return (commit or "")[:10]
