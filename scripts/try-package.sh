#!/bin/sh
# Does what a first user does with the package: from an empty folder and an empty home to the first answer of a program over real MCP servers, in
# two commands, with the engine that needs nothing but Node.js. Prints one line of JSON with what that took.
#
#   sh scripts/try-package.sh PACKAGE.tgz|FOLDER
set -eu

package=$1
[ -f "$package" ] || for package in "$1"/*.tgz; do :; done
case $package in /*) ;; *) package=$PWD/$package ;; esac
[ -f "$package" ] || { echo "try-package: there is no package at $1" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
HOME=$work/home
export HOME
unset XDG_STATE_HOME XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_RUNTIME_DIR CLAUDE_CONFIG_DIR PTC_CONFIG
mkdir -p "$HOME" "$work/project"
cd "$work/project"

# The servers that the user has in Claude Code.
cat >.mcp.json <<JSON
{
  "mcpServers": {
    "memory": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"] },
    "files": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "."] }
  }
}
JSON

commands=0
step() {
  commands=$((commands + 1))
  echo "\$ $*" >&2
  "$@" >&2
}
megabytes() { du -sm "$@" 2>/dev/null | awk '{ sum += $1 } END { print sum + 0 }'; }
began=$(date +%s)

step npm install --no-audit --no-fund "$package"
step env PTC_ENGINE=wasm PTC_HOST=off PTC_KEYRING=off npx --no-install ptc up --yes

ended=$(date +%s)
runs=$(npx --no-install ptc runs list --json)
node -e '
  const [commands, seconds, installed, downloaded, listed] = process.argv.slice(1);
  const [{ status, calls }] = JSON.parse(listed);
  console.log(JSON.stringify({
    commands: Number(commands), seconds: Number(seconds), status, calls,
    megabytes: { installed: Number(installed), home: Number(downloaded) },
  }));
  process.exitCode = status === "ok" && calls > 0 ? 0 : 1;
' "$commands" "$((ended - began))" "$(megabytes node_modules)" "$(megabytes "$HOME")" "$runs"
