#!/bin/sh
# Makes sure that Docker and gVisor (runsc) are installed, running and known to each other.
# A working engine is left alone. Installs the distribution's packages, as root on Debian or Ubuntu. On other distributions it registers
# a runsc that is there with a Docker that is there.
# Exit 0: ready. Exit 3: it cannot be set up here; the last lines say what to do.
#
#   sudo sh setup-engine.sh            sets it up, and notes in /var/lib/ptc/setup what it has changed
#   sudo sh setup-engine.sh --undo     takes back what is noted there
#
# PTC_ENGINE=runsc    sets up gVisor alone, without Docker.
# PTC_RUNSC_PLATFORM  gVisor's platform: ptrace (default), systrap or kvm.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
daemon_json=/etc/docker/daemon.json
daemon_log=/var/log/dockerd.log
docker_data=/var/lib/docker
daemon_pid=/var/run/docker.pid
policy=/usr/sbin/policy-rc.d
record=/var/lib/ptc/setup
backports_list=/etc/apt/sources.list.d/bookworm-backports.list
platform=${PTC_RUNSC_PLATFORM:-ptrace}
wrote_policy=no
needs_docker=yes
export DEBIAN_FRONTEND=noninteractive

say() { printf '%s\n' "$*"; }

give_up() {
  printf 'The sandbox cannot run here: %s\n' "$1" >&2
  shift
  for line; do printf '  %s\n' "$line" >&2; done
  exit 3
}

clean_up() { if [ "$wrote_policy" = yes ]; then rm -f "$policy"; fi; }
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# --- The current state ---

docker_answers() { command -v docker >/dev/null 2>&1 && docker info >/dev/null 2>&1; }

# What Docker knows about runsc, as JSON; empty if it knows nothing.
registered_runsc() {
  docker info --format '{{range $name, $it := .Runtimes}}{{if eq $name "runsc"}}{{json $it}}{{end}}{{end}}' 2>/dev/null
}

# The only way out of a sandbox is a socket of the host, which runsc refuses to open without this flag.
# A runtime without a path is a containerd shim, whose configuration cannot be seen from here.
runsc_usable() {
  runtime=$(registered_runsc)
  case $runtime in
    '') return 1 ;;
    *'"path":'*) ;;
    *) return 0 ;;
  esac
  case $runtime in *-host-uds*) ;; *) return 1 ;; esac
  engine_elsewhere && return 0
  path=$(printf '%s' "$runtime" | sed 's/.*"path":"\([^"]*\)".*/\1/')
  "$path" --version >/dev/null 2>&1
}

# Whether the registered flags are exactly those that this script used to write. A runtime set up by a person is left alone.
registered_by_an_earlier_version() {
  registered_runsc | grep -qE '"runtimeArgs":\["--host-uds=open","--network=none","--platform=[a-z]+"\]'
}

sentry_is_nobody() { registered_runsc | grep -qE -e '-directfs=(false|0)'; }

engine_elsewhere() {
  case ${DOCKER_HOST:-unix://} in unix://*) return 1 ;; *) return 0 ;; esac
}

report_ready() {
  say "Docker $(docker info --format '{{.ServerVersion}}') with gVisor (runsc) is ready."
}

# --- Whether this script may help ---

require_a_machine_it_knows() {
  [ "$(uname -s)" = Linux ] || give_up "gVisor needs Linux, and this is $(uname -s)." \
    "Use a Linux machine or a virtual machine with Debian or Ubuntu."
  engine_elsewhere && give_up "the Docker engine at DOCKER_HOST does not answer or has no usable runsc runtime." \
    "Set it up there, or unset DOCKER_HOST to use this machine."
  distribution=$(. /etc/os-release 2>/dev/null && printf '%s %s' "${ID:-}" "${ID_LIKE:-}") || distribution=
  case " $distribution " in
    *' debian '* | *' ubuntu '*) ;;
    *) if ! command -v dockerd >/dev/null 2>&1 || ! command -v runsc >/dev/null 2>&1; then
      give_up "Docker with gVisor is missing, and only Debian and Ubuntu are set up automatically." \
      "Install Docker: https://docs.docker.com/engine/install/" \
      "Install gVisor: https://gvisor.dev/docs/user_guide/install/" \
      "Then run this again, which makes Docker and gVisor known to each other."
    fi ;;
  esac
  [ "$(id -u)" = 0 ] || give_up "$(what_is_missing), and only root can change that." \
    "Run once: sudo sh $here/${0##*/}" \
    "Then let your user reach Docker: sudo usermod -aG docker \"\$USER\", and log in again."
  find_node || give_up "Node.js is missing." "Install Node.js 20 or newer."
}

find_node() {
  node=$here/../node_modules/.bin/node
  [ -x "$node" ] || node=$(command -v node)
}

what_is_missing() {
  if docker_answers; then
    echo "Docker has no usable runsc runtime"
  elif [ -S /var/run/docker.sock ]; then
    echo "Docker is there, but this user cannot reach it"
  else
    echo "no Docker engine is running"
  fi
}

# --- Packages ---

quiet_apt() {
  log=$(mktemp)
  if apt-get -qq -o Dpkg::Use-Pty=0 "$@" >"$log" 2>&1; then rm -f "$log"; return 0; fi
  tail -n 5 "$log" >&2
  rm -f "$log"
  return 1
}

candidate() { apt-cache policy "$1" 2>/dev/null | sed -n 's/^ *Candidate: //p' | grep -v '(none)'; }

# Debian 12's own runsc dates from 2022; its backports have a newer one. They come from the same mirror, which apt
# itself names, whatever the format of its sources.
add_backports() {
  [ "$(. /etc/os-release && echo "${ID:-} ${VERSION_CODENAME:-}")" = "debian bookworm" ] || return 0
  if ! in_backports; then
    mirror=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
      awk '($2 == "bookworm" || $3 == "bookworm") && $4 == "main" { print $1; exit }')
    [ -n "$mirror" ] || return 0
    keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    option=
    [ ! -f $keyring ] || option="[signed-by=$keyring] "
    list=$backports_list
    printf 'deb %s%s bookworm-backports main\n' "$option" "$mirror" >$list
    if ! quiet_apt update 2>/dev/null || ! in_backports; then
      rm -f $list
      quiet_apt update
      return 0
    fi
    mkdir -p $record
    cp $list $record/backports.list
    say "Added the suite bookworm-backports for a newer gVisor."
  fi
  runsc_package=runsc/bookworm-backports
}

in_backports() { apt-cache madison runsc 2>/dev/null | grep -q bookworm-backports; }

# Docker's and gVisor's packages start services immediately. They should start later, with our configuration.
hold_services() {
  [ ! -e $policy ] || return 0
  wrote_policy=yes
  printf '#!/bin/sh\nexit 101\n' >$policy
  chmod +x $policy
}

release_services() {
  clean_up
  wrote_policy=no
}

installed_packages() { dpkg-query -W -f '${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p' | sort; }

# Notes what was installed since the list before.
note_packages() {
  installed_packages | comm -13 $record/before - >>$record/packages
  rm -f $record/before
}

install_packages() {
  packages=
  [ "$needs_docker" = no ] || command -v dockerd >/dev/null 2>&1 || docker_answers || packages=docker.io
  runsc=$(command -v runsc) || runsc=
  if [ -z "$packages" ] && [ -n "$runsc" ]; then return 0; fi
  say "Reading the package lists ..."
  quiet_apt update || give_up "the package lists could not be read." "Check the network and apt's sources."
  # Newer releases have the command line in a separate package.
  if [ "$needs_docker" = yes ] && ! command -v docker >/dev/null 2>&1 && [ -n "$(candidate docker-cli)" ]; then packages="$packages docker-cli"; fi
  if [ -z "$runsc" ]; then
    runsc_package=runsc
    [ -n "$(candidate runsc)" ] || runsc_package=gvisor
    add_backports
    [ -n "$(candidate "${runsc_package%/*}")" ] || give_up "this release has no package for gVisor (on Ubuntu it is in \"universe\")." \
      "Enable that component and run this again, or follow https://gvisor.dev/docs/user_guide/install/"
    packages="$packages $runsc_package"
  fi
  say "Installing$(printf ' %s' $packages) ..."
  hold_services
  mkdir -p $record
  installed_packages >$record/before
  # shellcheck disable=SC2086 # a list of words
  quiet_apt install -y --no-install-recommends $packages || give_up "the packages could not be installed." \
    "Try by hand: apt-get install$(printf ' %s' $packages)"
  release_services
  note_packages
  runsc=$(command -v runsc) || give_up "the package for gVisor brought no runsc."
}

# --- Configuration ---

# Whether runsc knows a flag: old releases lack some.
knows_flag() { "$runsc" "$1" --version >/dev/null 2>&1; }

# Without --directfs the kernel of a sandbox runs as user nobody on this machine, not as root with some capabilities.
flags_for_a_new_runtime() {
  for flag in --network=none "--platform=$platform" --directfs=false; do
    ! knows_flag "$flag" || echo "$flag"
  done
}

write_daemon_json() {
  knows_flag --host-uds=open || give_up "$runsc is too old ($("$runsc" --version | head -n 1))." \
    "Install a runsc of 2023 or newer: https://gvisor.dev/docs/user_guide/install/"
  mkdir -p "$(dirname $daemon_json)" $record
  # What somebody has changed since this script wrote it counts as theirs.
  if [ ! -e $daemon_json ]; then
    rm -f $record/daemon.json.before
  elif ! cmp -s $daemon_json $record/daemon.json.written; then
    cp $daemon_json $record/daemon.json.before
  fi
  [ -e $daemon_json ] || : >$daemon_json
  # shellcheck disable=SC2046 # a list of words
  "$node" "$here/merge-daemon-config.mjs" --runsc "$runsc" --need=--host-uds=open "$@" -- \
    $(flags_for_a_new_runtime) <$daemon_json >$daemon_json.new || {
    rm -f $daemon_json.new
    give_up "$daemon_json could not be extended."
  }
  chmod 644 $daemon_json.new
  mv $daemon_json.new $daemon_json
  cp $daemon_json $record/daemon.json.written
}

# Without permission to write firewall rules, dockerd does not start unless it is told to leave them alone.
# Sandboxes never have a network anyway.
can_write_firewall_rules() { iptables -w -t nat -S >/dev/null 2>&1; }

# --- The daemon ---

has_systemd() { [ -d /run/systemd/system ]; }

wait_for() { # SECONDS COMMAND
  tenths=$(($1 * 10))
  shift
  while ! "$@"; do
    tenths=$((tenths - 1))
    [ $tenths -gt 0 ] || return 1
    sleep 0.1
  done
}

daemon_up_or_dead() {
  docker_answers || { [ -n "${started:-}" ] && ! kill -0 "$started" 2>/dev/null; }
}

start_daemon() {
  if has_systemd; then
    systemctl enable -q docker 2>/dev/null || true
    systemctl reset-failed -q docker 2>/dev/null || true
    systemctl restart -q docker 2>/dev/null && wait_for 30 docker_answers
    return
  fi
  mkdir -p "$(dirname $daemon_log)"
  setsid dockerd >$daemon_log 2>&1 </dev/null &
  started=$!
  wait_for 30 daemon_up_or_dead && docker_answers
}

last_log_lines() {
  if has_systemd; then journalctl -u docker -n 8 --no-pager -o cat; else tail -n 8 $daemon_log; fi 2>/dev/null
}

start_engine() {
  if can_write_firewall_rules; then write_daemon_json; else write_daemon_json --no-bridge; fi
  say "Starting Docker ..."
  if start_daemon; then return 0; fi
  if last_log_lines | grep -qiE 'iptables|nftables|bridge|network controller' && ! grep -q '"bridge"' $daemon_json; then
    say "It cannot set up a network here; starting it without one ..."
    write_daemon_json --no-bridge
    if start_daemon; then return 0; fi
  fi
  last_log_lines >&2
  give_up "Docker does not start; its last messages are above."
}

# A running Docker may be in use: its runtimes are reloaded, and its containers keep running.
extend_engine() {
  say "Adding gVisor (runsc) to the running Docker ..."
  write_daemon_json
  if pid=$(cat $daemon_pid 2>/dev/null || pidof dockerd); then
    kill -HUP "$pid"
    if wait_for 5 runsc_usable; then return 0; fi
  fi
  give_up "Docker runs, but does not see the runsc now named in $daemon_json." \
    "Restart it, which stops its containers: systemctl restart docker"
}

# Makes sandbox kernels run as user nobody in a working engine that an earlier version of this script set up. If that is not
# possible, the engine stays unchanged.
improve_engine() {
  [ "$(id -u)" = 0 ] && ! engine_elsewhere && registered_by_an_earlier_version || return 0
  runsc=$(registered_runsc | sed 's/.*"path":"\([^"]*\)".*/\1/')
  knows_flag --directfs=false || return 0
  find_node || return 0
  pid=$(cat $daemon_pid 2>/dev/null || pidof dockerd) || return 0
  say "Making gVisor's kernel run as user nobody (--directfs=false in $daemon_json) ..."
  write_daemon_json --need=--directfs=false
  kill -HUP "$pid"
  wait_for 5 sentry_is_nobody || say "Docker does so once it has read $daemon_json again: systemctl reload docker"
}

# Docker only shows that runsc is registered. This starts a sandbox without Docker, on the files of this machine.
try_gvisor() {
  if complaint=$(timeout 30 "$runsc" --network=none "--platform=$platform" do true 2>&1); then return 0; fi
  say "Warning: gVisor could not start a sandbox: $(printf '%s' "$complaint" | tail -n 1)"
}

# --- Without Docker ---

# An image in a single read-only file needs no helper process for each sandbox. Without the tool, an image is a folder.
install_erofs() {
  ! PATH=$PATH:/usr/sbin:/sbin command -v mkfs.erofs >/dev/null 2>&1 || return 0
  [ "$(id -u)" = 0 ] && [ -n "$(candidate erofs-utils)" ] || return 0
  mkdir -p $record
  installed_packages >$record/before
  if quiet_apt install -y --no-install-recommends erofs-utils; then note_packages; return 0; fi
  rm -f $record/before
  say "erofs-utils could not be installed; images are folders."
}

set_up_without_docker() {
  if ! command -v runsc >/dev/null 2>&1; then
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 || give_up "gVisor's runsc is missing." \
      "Install it: https://gvisor.dev/docs/user_guide/install/"
    say "gVisor is missing; setting it up."
    needs_docker=no
    install_packages
  fi
  install_erofs
  try_gvisor
  say "gVisor (runsc $(runsc --version | sed -n 's/^runsc version //p')) is ready, without Docker."
}

# --- Undo ---

# What apt would remove with these packages, by a simulation.
removed_with() { apt-get -s -o Debug::NoLocking=1 --no-auto-remove remove "$@" 2>/dev/null | sed -n 's/^Remv \([^ :]*\).*/\1/p' | sort -u; }

# Divides the noted packages into `packages`, which go, and `staying`: with these, apt would remove others that came from elsewhere.
sort_packages() {
  packages=
  staying=
  noted=$(mktemp)
  sort -u $record/packages >"$noted"
  for package in $(installed_packages | comm -12 "$noted" -); do
    others=$(removed_with "$package" | comm -13 "$noted" - | tr '\n' ' ')
    if [ -z "$others" ]; then
      packages="$packages $package"
    else
      staying="$staying $package"
      say "$package stays: ${others% } needs it, which this script has not installed."
    fi
  done
  # shellcheck disable=SC2086 # a list of words
  others=$([ -z "$packages" ] || removed_with $packages | comm -13 "$noted" - | tr '\n' ' ')
  rm -f "$noted"
  [ -z "$others" ] || give_up "with$packages apt would remove ${others% } too, which this script has not installed." \
    "Remove by hand what you do not need."
}

# Docker's package leaves a script that deletes all images and volumes once the package is purged.
remove_packages() {
  say "Removing$packages ..."
  # shellcheck disable=SC2086 # a list of words
  quiet_apt remove -y --no-auto-remove $packages || give_up "the packages could not be removed." "Try by hand: apt-get remove$packages"
  rm -f $docker_data/nuke-graph-directory.sh
}

restore_daemon_json() {
  [ -e $record/daemon.json.written ] || return 0
  if ! cmp -s $daemon_json $record/daemon.json.written; then
    say "$daemon_json was changed since, so it stays; \"runsc\" is among its \"runtimes\"."
  elif [ -e $record/daemon.json.before ]; then
    mv $record/daemon.json.before $daemon_json
    if grep -q '"runsc"' $daemon_json; then say "$daemon_json is as it was before the last set-up; \"runsc\" is among its \"runtimes\"."; fi
  else
    rm -f $daemon_json
  fi
  rm -f $record/daemon.json.written $record/daemon.json.before
}

# Takes back what this script has noted, and nothing else: a daemon.json that somebody has changed since stays, and so do packages that
# others need by now, and the data of Docker.
undo() {
  if [ ! -d $record ]; then
    say "Nothing is noted in $record: this script has changed nothing here."
    return 0
  fi
  [ "$(id -u)" = 0 ] || give_up "only root can take it back." "Run: sudo sh $here/${0##*/} --undo"
  packages=
  staying=
  [ ! -e $record/packages ] || sort_packages
  restore_daemon_json
  case "$packages " in
    *' docker.io '*)
      say "Stopping Docker ..."
      if has_systemd; then systemctl stop -q docker.socket docker 2>/dev/null || true
      elif pid=$(cat $daemon_pid 2>/dev/null); then kill "$pid" && wait_for 30 daemon_is_gone "$pid" || true
      fi ;;
    *) if pid=$(cat $daemon_pid 2>/dev/null || pidof dockerd); then kill -HUP "$pid" || true; fi ;;
  esac
  [ -z "$packages" ] || remove_packages
  if [ -e $record/backports.list ] && cmp -s $backports_list $record/backports.list; then rm -f $backports_list; fi
  rm -f $record/before $record/backports.list $record/packages
  # What stays is noted on, for another time.
  # shellcheck disable=SC2086 # a list of words
  [ -z "$staying" ] || printf '%s\n' $staying >$record/packages
  # Another script may have a note of its own there.
  rmdir $record /var/lib/ptc 2>/dev/null || true
  say "What this script had changed is taken back${staying:+, but for$staying}. Docker's images and volumes stay in $docker_data."
}

daemon_is_gone() { ! kill -0 "$1" 2>/dev/null; }

# --- Main ---

if [ "${1:-}" = --undo ]; then
  undo
  exit 0
fi

if [ "${PTC_ENGINE:-}" = runsc ]; then
  set_up_without_docker
  exit 0
fi
if docker_answers && runsc_usable; then
  improve_engine
  report_ready
  exit 0
fi
require_a_machine_it_knows
say "$(what_is_missing); setting it up."
install_packages
install_erofs
if docker_answers; then extend_engine; else start_engine; fi
runsc_usable || give_up "Docker runs, but without a usable runsc." "See: docker info"
try_gvisor
report_ready
