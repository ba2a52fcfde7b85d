#!/bin/sh
# Installs PostgreSQL's server programs from the distribution's packages, for the tests of shared storage, which start their own
# server and are skipped without it. Starts nothing. Does nothing if they are installed, or if it cannot install them.
set -eu
command -v postgres >/dev/null 2>&1 && exit 0
for folder in /usr/lib/postgresql/*/bin; do
  [ -x "$folder/postgres" ] && [ -x "$folder/initdb" ] && exit 0
done
command -v apt-get >/dev/null 2>&1 || exit 0
[ "$(id -u)" = 0 ] || exit 0
echo "Installing PostgreSQL ..."
export DEBIAN_FRONTEND=noninteractive
# By default the package would create a cluster and start it.
clusters=/etc/postgresql-common/createcluster.d/ptc.conf
apt-get update -qq && apt-get install -y -qq --no-install-recommends postgresql-common >/dev/null &&
  mkdir -p "${clusters%/*}" && echo "create_main_cluster = false" >"$clusters" &&
  apt-get install -y -qq --no-install-recommends postgresql >/dev/null ||
  echo "PostgreSQL cannot be installed here; the tests that need it are skipped." >&2
