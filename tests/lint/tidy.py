#!/usr/bin/env python3
"""Runs clang-tidy over the sources of a build, several in one unit. Most of its time goes into the headers, which
each source would read anew. Sources of one folder that are compiled alike are written into one file, behind each
other: the analyser, and some checks, look at no file that another one includes. Where that file does not compile,
because two sources have names in common, or where there is a finding, the sources are read apart, so what is
printed is what a run over one source says. What was found clean is left out until a source, a header that it
includes, the rules or clang-tidy change.

usage: tidy.py BUILD REGEX [JOBS]
"""

import concurrent.futures
import hashlib
import itertools
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

TIDY = "clang-tidy-19"
ROOT = pathlib.Path(__file__).resolve().parents[2]
CLEAN = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "scoll" / "tidy"
TOGETHER = 12  # sources


class Run:
    def __init__(self, build, jobs):
        self.build = pathlib.Path(build).resolve()
        self.units = self.build / "tidy"
        self.jobs = jobs
        self.version = subprocess.run([TIDY, "--version"], capture_output=True).stdout
        self.commands = {}
        for entry in json.loads((self.build / "compile_commands.json").read_text()):
            self.commands.setdefault(entry["file"], entry)
        for old in self.units.glob("**/.clang-tidy"):
            old.unlink()
        for config in ROOT.glob("**/.clang-tidy"):
            if self.build not in config.parents and "build" not in config.relative_to(ROOT).parts:
                self.mirror(config)
        self.rules = b"".join(p.read_bytes() for p in sorted(self.units.glob("**/.clang-tidy")))

    def mirror(self, config):
        """clang-tidy takes the rules of the folders above a unit, so these are like the folders of the sources."""
        at = self.units / config.relative_to(ROOT)
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_bytes(config.read_bytes())

    def flags(self, source):
        words = shlex.split(self.commands[source]["command"])
        kept = [w for i, w in enumerate(words) if w not in ("-c", "-o", source) and (i == 0 or words[i - 1] != "-o")]
        return [*kept, "-iquote", os.path.dirname(source)]

    def groups(self, wanted):
        alike = lambda source: (os.path.dirname(source), self.flags(source))
        for _, sources in itertools.groupby(sorted(wanted, key=alike), alike):
            sources = list(sources)
            count = -(-len(sources) // TOGETHER)
            yield from (sources[i::count] for i in range(count))

    def unit(self, sources):
        """The file that stands for some sources."""
        if len(sources) == 1:
            return pathlib.Path(sources[0])
        name = hashlib.sha256("\n".join(sources).encode()).hexdigest()[:16] + ".cpp"
        at = self.units / pathlib.Path(sources[0]).relative_to(ROOT).parent / name
        text = "".join(f'#line 1 "{source}"\n{pathlib.Path(source).read_text()}\n' for source in sources)
        if not at.exists() or at.read_text() != text:
            at.parent.mkdir(parents=True, exist_ok=True)
            at.write_text(text)
        return at

    def run(self, arguments, source):
        return subprocess.run(arguments, cwd=self.commands[source]["directory"], capture_output=True)

    def mark(self, sources, unit):
        """The mark of a clean run over this text, by these rules; the same in every copy of the project. Comments
        count, because some of them are orders to clang-tidy."""
        read = self.run([*self.flags(sources[0]), "-E", "-C", str(unit)], sources[0])
        if read.returncode != 0:
            return None
        said = read.stdout + " ".join(self.flags(sources[0])).encode()
        text = said.replace(str(ROOT).encode(), b"").replace(str(self.build).encode(), b"")
        return CLEAN / hashlib.sha256(text + self.rules + self.version).hexdigest()

    def findings(self, sources):
        """Returns what clang-tidy prints about some sources; None if they have to be read apart."""
        unit = self.unit(sources)
        mark = self.mark(sources, unit)
        if mark is not None and mark.exists():
            return b""
        if len(sources) > 1 and self.run([*self.flags(sources[0]), "-fsyntax-only", str(unit)], sources[0]).returncode:
            return None
        ran = self.run([TIDY, "-quiet", str(unit), "--", *self.flags(sources[0])[1:]], sources[0])
        if ran.returncode == 0 and not ran.stdout.strip():
            if mark is not None:
                CLEAN.mkdir(parents=True, exist_ok=True)
                mark.touch()
            return b""
        return ran.stdout + ran.stderr if len(sources) == 1 else None

    def read(self, sources):
        """Returns what clang-tidy prints about some sources, which are read together if that works."""
        said = self.findings(sources)
        if said is not None:
            return said
        half = len(sources) // 2
        return self.read(sources[:half]) + self.read(sources[half:])

    def all(self, regex):
        wanted = [source for source in self.commands if re.search(regex, source)]
        groups = sorted(self.groups(wanted), key=len, reverse=True)
        found = done = 0
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            for sources, said in zip(groups, pool.map(self.read, groups)):
                done += len(sources)
                print(f"[{done}/{len(wanted)}] {os.path.relpath(os.path.dirname(sources[0]), ROOT)}", flush=True)
                if said:
                    found += 1
                    sys.stdout.buffer.write(said)
                    sys.stdout.flush()
        return 1 if found or not wanted else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(Run(sys.argv[1], int(sys.argv[3]) if len(sys.argv) > 3 else os.cpu_count()).all(sys.argv[2]))
