#!/bin/sh
# Runs many programs and kills what runs them, and checks what must hold; `npm run soak -- --help` says how to do less.
. "$(dirname -- "$0")/dependencies.sh"

sh scripts/setup.sh
exec node --no-warnings tests/soak/run.ts "$@"
