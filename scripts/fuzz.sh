#!/bin/sh
# Attacks the parsers of foreign input until something breaks or it is stopped; `npm run fuzz -- --help` says how to do less.
. "$(dirname -- "$0")/dependencies.sh"

exec node --no-warnings tests/fuzz/run.ts "$@"
