#!/bin/sh
# Runs many programs, kills the processes that run them, and checks the invariants; `npm run soak -- --help` says how to do less.
. "$(dirname -- "$0")/dependencies.sh"

sh scripts/setup.sh
exec node --no-warnings tests/soak/run.ts "$@"
