"""
The runner, which every sandbox for Python programs runs. It connects to the broker's socket, imports what programs use, says
hello and waits; then it runs its program and prints one line, the claim, on stdout.
"""

import sys

sys.path.insert(0, sys.argv[0].rpartition("/")[0])

from ptc_runner.start import start

start(sys.argv)
