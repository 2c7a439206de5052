#!/usr/bin/env python3
"""clang-tidy that reads a source only once. A source in which it has found nothing is left out until the source, a
header that it includes, the rules or clang-tidy change. `run-clang-tidy` calls it in the place of clang-tidy."""

import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys

TIDY = "clang-tidy-19"
ROOT = pathlib.Path(__file__).resolve().parents[2]
CLEAN = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "scoll" / "tidy"


def option(arguments, name):
    return next((a.partition("=")[2] for a in arguments if a.startswith(f"{name}=")), None)


def preprocessed(build, source):
    """The text that the compiler sees, with comments, because some of them are orders to clang-tidy."""
    commands = json.loads((pathlib.Path(build) / "compile_commands.json").read_text())
    entry = next((c for c in commands if c["file"] == source), None)
    if entry is None:
        return None
    words = shlex.split(entry["command"])
    kept = [w for i, w in enumerate(words) if w not in ("-c", "-o") and (i == 0 or words[i - 1] != "-o")]
    ran = subprocess.run(kept + ["-E", "-C"], cwd=entry["directory"], capture_output=True)
    return ran.stdout + " ".join(kept).encode() if ran.returncode == 0 else None


def fingerprint(arguments):
    """Names what clang-tidy would read; the same in every copy of the project. None if that cannot be told."""
    text = preprocessed(option(arguments, "-p") or ".", arguments[-1])
    if text is None:
        return None
    rules = b"".join(p.read_bytes() for p in sorted(ROOT.glob("**/.clang-tidy")) if "build" not in p.parts)
    version = subprocess.run([TIDY, "--version"], capture_output=True).stdout
    return hashlib.sha256(text.replace(str(ROOT).encode(), b"") + rules + version).hexdigest()


def main():
    arguments = sys.argv[1:]
    mark = None
    if arguments and arguments[-1].endswith(".cpp"):
        name = fingerprint(arguments)
        mark = CLEAN / name if name else None
    if mark is not None and mark.exists():
        return 0
    ran = subprocess.run([TIDY, *arguments], capture_output=True)
    sys.stdout.buffer.write(ran.stdout)
    sys.stderr.buffer.write(ran.stderr)
    if mark is not None and ran.returncode == 0 and not ran.stdout.strip():
        CLEAN.mkdir(parents=True, exist_ok=True)
        mark.touch()
    return ran.returncode


if __name__ == "__main__":
    sys.exit(main())
