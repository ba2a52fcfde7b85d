#!/bin/sh
# Changes the sources in small ways and counts how many of the changes the fast tests notice; --help says in which files.
. "$(dirname -- "$0")/dependencies.sh"

exec node scripts/mutate/mutate.ts "$@"
