#!/bin/sh
# The quick gate: sources and fast tests. Needs no engine.
. "$(dirname -- "$0")/dependencies.sh"
. scripts/static-checks.sh

heading "Fast tests (vitest)"
vitest run --project fast --project alone
