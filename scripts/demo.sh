#!/bin/sh
# Sets everything up and shows ptc at work.
. "$(dirname -- "$0")/dependencies.sh"

sh scripts/setup.sh
exec node scripts/demo.ts
