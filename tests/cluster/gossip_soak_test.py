#!/usr/bin/env python3
# needs: gossipctl
"""A short soak; `./dev soak gossip` runs the long one. Ends with 3, which ctest takes for skipped, if it proves nothing."""

import argparse
import sys

from gossip_soak import Soak

VOID = 3

soak = Soak(argparse.Namespace(nodes=24, seconds=12, loss=0.2, seed=6))
code = soak.run()
if code == 0 and not soak.counts["quick_restarts"] and soak.counts["slow_restarts"]:
    print("void: no process was restarted within one interval", file=sys.stderr)
    code = VOID
elif code == 0 and not all(soak.counts[kind] for kind in ("kills", "quick_restarts", "pauses")):
    print(f"nothing was tested: {soak.counts}", file=sys.stderr)
    code = 1
sys.exit(code)
