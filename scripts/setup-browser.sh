#!/bin/sh
# Installs a headless Chromium from the distribution's packages, for the tests of ptc's web pages, which are skipped without
# one. Does nothing if there is one already, or if it cannot install one.
set -eu
command -v chromium >/dev/null 2>&1 && exit 0
command -v apt-get >/dev/null 2>&1 || exit 0
[ "$(id -u)" = 0 ] || exit 0
echo "Installing Chromium ..."
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null ||
  echo "Chromium cannot be installed here; the tests that need it are skipped." >&2
