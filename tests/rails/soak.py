"""What the soaks in network namespaces share: the command line, and what they tell at the end."""

import json
import pathlib
import sys

import fabric


def main(parser, make):
    """Runs what `make` makes of the arguments, in namespaces of its own. The exit status is 1 if something was wrong."""
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="also write what was counted to a file")
    asked = parser.parse_args()
    fabric.enter()
    counted = make(asked, sys.stderr.isatty()).run()
    text = json.dumps(counted, indent=2)
    print(text)
    if asked.json:
        asked.json.write_text(text + "\n")
    sys.exit(1 if counted["wrong"] else 0)
