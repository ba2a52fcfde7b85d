#!/bin/sh
# Runs a command in a root of Debian as if that were the machine: a mount namespace and processes of its own, and the root pivoted, because gVisor
# makes no user namespaces in a chroot.
#
#   unshare --mount --pid --fork sh in-debian-root.sh ROOT COMMAND...
set -eu
root=$1
shift
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
cd "$root"
mkdir -p .machine
pivot_root . .machine
exec "$@"
