#!/bin/sh
# Installs gVisor's runsc as its makers release it, checked against the digest that they publish, into /usr/local/bin: for Linux distributions that
# have no package of it. A runsc that is there is left alone.
#
#   sudo sh setup-gvisor.sh           installs it
#   sudo sh setup-gvisor.sh --undo    removes what this script has installed
set -eu

target=/usr/local/bin/runsc
record=/var/lib/ptc/setup

if [ "${1:-}" = --undo ]; then
  [ -f $record/runsc.sha512 ] || { echo "This script has installed no runsc here."; exit 0; }
  if (cd / && sha512sum -c $record/runsc.sha512 >/dev/null 2>&1); then
    rm -f $target
    echo "Removed $target."
  else
    echo "$target is another one by now; it stays."
  fi
  rm -f $record/runsc.sha512
  rmdir $record /var/lib/ptc 2>/dev/null || true
  exit 0
fi

# A PATH of sudo may lack the folder of the target.
if command -v runsc >/dev/null 2>&1 || [ -e $target ]; then
  echo "gVisor (runsc) is installed."
  exit 0
fi
url=https://storage.googleapis.com/gvisor/releases/release/latest/$(uname -m)
fetch() { if command -v curl >/dev/null 2>&1; then curl -fsSLO "$1"; else wget -q "$1"; fi; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
fetch "$url/runsc"
fetch "$url/runsc.sha512"
sha512sum -c runsc.sha512 >/dev/null
install -m 755 runsc $target
mkdir -p $record
sha512sum $target >$record/runsc.sha512
echo "gVisor ($($target --version | head -n 1)) is installed."
