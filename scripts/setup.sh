#!/bin/sh
# Makes a bare clone ready: dependencies, engine, build, image. Leaves alone whatever exists already.
# Exit 3: everything is built, but the sandbox cannot run here.
. "$(dirname -- "$0")/dependencies.sh"

engine=0
sh scripts/setup-engine.sh || engine=$?
case $engine in 0 | 3) ;; *) exit "$engine" ;; esac

sh scripts/setup-postgresql.sh

echo "Building dist/ ..."
node scripts/build.ts
[ "$engine" = 0 ] || exit "$engine"
node dist/cli/ptc.js image build >/dev/null
# The tests use both engines if both are installed.
if [ "${PTC_ENGINE:-}" != runsc ] && command -v runsc >/dev/null 2>&1; then
  PTC_ENGINE=runsc node dist/cli/ptc.js image build >/dev/null ||
    echo "Sandboxes without Docker have no image here; their tests are skipped." >&2
fi
