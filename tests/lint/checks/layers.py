#!/usr/bin/env python3
"""Keeps includes pointing one way: coro, transport, gossip, scoll; each layer knows those before it.

  layer      a file includes a header of a layer that it must not know
  private    a public header, or an example, includes a header of src/; or an example one of another program
  system     include/scoll/coro or src/scoll/coro includes a header of the operating system
  missing    a quoted include from the project's roots that does not exist

usage: layers.py [ROOT]
"""

import pathlib
import re

import sources
from sources import Finding

# What belongs to a folder of include/ and src/ may include itself and these; the longest name that fits counts.
LINKS = ("transport/tcp", "transport/verbs", "transport/sim")
TRANSPORT = ("scoll/coro", "transport/io", "transport/wire", "transport/session", "transport/memory")
KNOWN = {
    "scoll/coro": (),
    "transport": TRANSPORT,  # io, wire, session, memory
    **{link: TRANSPORT for link in LINKS},
    "transport/sim/verbs": (*TRANSPORT, "transport/sim", "transport/verbs"),  # simulated devices
    "gossip": ("scoll/coro", "transport"),
    "scoll": ("scoll", "transport", "gossip"),
}
# Each is a debt with a reason, and leaves this list for good.
EXEMPT = {}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.MULTILINE)
PLAIN_SYSTEM = re.compile(r"^[a-z_0-9]+$|^fmt/")  # the standard library, and text


def within(name, folder):
    return name.startswith(folder + "/")


def layer_of(name):
    fitting = [folder for folder in KNOWN if within(name, folder)]
    return max(fitting, key=len, default=None)


def may_know(layer, included):
    """Links are known to themselves, to the layer on top, and where it is said."""
    if layer != "scoll" and layer_of(included) in LINKS:
        return layer_of(included) in (layer, *KNOWN[layer])
    return any(within(included, folder) for folder in (layer, *KNOWN[layer]))


def includes_of(text):
    for match in INCLUDE.finditer(text):
        yield sources.line_of(text, match.start()), match[1] == '"', match[2]


def of_library(root, name, included, quoted):
    folder, inner = name.split("/", 1)
    layer = layer_of(inner)
    if layer is None:
        return
    if not quoted:
        if layer == "scoll/coro" and not PLAIN_SYSTEM.match(included):
            yield f"<{included}> is a header of the operating system, which coro does not know"
        return
    if not may_know(layer, included):
        yield f"{layer} does not know {included}"
    public = pathlib.Path(root, "include", included).exists()
    if not public and not pathlib.Path(root, "src", included).exists():
        yield f"there is no {included}, neither in include/ nor in src/"
    elif folder == "include" and not public:
        yield f"{included} is private: it stands in src/"


def of_example(root, name, included, quoted):
    if not quoted or pathlib.Path(root, "include", included).exists():
        return
    if included.startswith("tools/common/") and pathlib.Path(root, included).exists():
        return
    own = "/".join(name.split("/")[:2])
    beside = (pathlib.Path(root, name).parent / included).resolve()
    if not any(place.is_file() and within(sources.name_of(place, root), own) for place in (beside, pathlib.Path(root, included))):
        yield f"{included} is neither a public header nor the example's own"


def check(root):
    for folders, rule in ((("include", "src"), of_library), (("examples",), of_example)):
        for path in sources.code_files(root, folders):
            name = sources.name_of(path, root)
            for line, quoted, included in includes_of(sources.read(path)):
                if (name, included) not in EXEMPT:
                    yield from (Finding(name, line, text) for text in rule(root, name, included, quoted))


if __name__ == "__main__":
    sources.main(check, __doc__)
