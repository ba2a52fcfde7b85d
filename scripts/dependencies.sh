# Sourced by the other scripts: enters the project, installs its dependencies if they are missing or outdated, and puts
# them first on PATH, including the Node.js that runs TypeScript.
# shellcheck shell=sh
set -eu
CDPATH='' cd -- "$(dirname -- "$0")/.."

if [ -t 1 ]; then bold=$(printf '\033[1m') plain=$(printf '\033[0m'); else bold='' plain=''; fi
heading() { printf '\n%s%s%s\n' "$bold" "$1" "$plain"; }

need() { # COMMAND ADVICE
  command -v "$1" >/dev/null 2>&1 && return 0
  printf '%s is missing: %s\n' "$1" "$2" >&2
  exit 2
}

need node "install Node.js 20 or newer from https://nodejs.org/"
case $(node --version) in
  v[0-9].* | v1[0-9].*)
    echo "Node.js $(node --version) is too old: install 20 or newer from https://nodejs.org/" >&2
    exit 2
    ;;
esac
need npm "install it with Node.js from https://nodejs.org/"

# Not `npm ci`, which refuses a lock file that lacks optional packages of other platforms. This installs the same versions,
# checked against the same hashes, and changes no file.
install_dependencies() {
  echo "Installing the dependencies (npm install) ..."
  npm install --no-save --no-audit --no-fund --loglevel=error >/dev/null
}

installed=node_modules/.package-lock.json
if [ ! -f "$installed" ] || [ -n "$(find package-lock.json -newer "$installed")" ]; then install_dependencies; fi

PATH=$PWD/node_modules/.bin:$PATH
export PATH
case $(node --version) in
  v24.*) ;;
  *)
    echo "node_modules has no Node.js 24, because its install script did not run. Run it: npm rebuild node" >&2
    exit 2
    ;;
esac
