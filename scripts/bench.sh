#!/bin/sh
# Sets everything up and measures ratios. Takes the flags of bench/main.ts: --help lists them.
. "$(dirname -- "$0")/dependencies.sh"

sh scripts/setup.sh
# Peers that cannot be installed are skipped, which the report shows.
npm install --prefix bench --no-package-lock --no-audit --no-fund --silent || true
exec node bench/main.ts "$@"
