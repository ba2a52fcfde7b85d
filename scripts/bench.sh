#!/bin/sh
# Sets everything up and measures, in ratios.
. "$(dirname -- "$0")/dependencies.sh"

sh scripts/setup.sh
exec node bench/main.ts
