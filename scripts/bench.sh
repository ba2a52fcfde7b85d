#!/bin/sh
# Sets everything up and measures, in ratios. Takes the flags of bench/main.ts: --help lists them.
. "$(dirname -- "$0")/dependencies.sh"

sh scripts/setup.sh
# Peers that cannot be installed are left out visibly.
npm install --prefix bench --no-package-lock --no-audit --no-fund --silent || true
exec node bench/main.ts "$@"
