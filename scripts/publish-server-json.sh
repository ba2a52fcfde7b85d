#!/bin/sh
# Tells the registry of MCP servers of the version in server.json, with the identity that the workflow gives. The package must be on npm.
set -eu
CDPATH='' cd -- "$(dirname -- "$0")/.."
publisher=$(go env GOPATH)/bin/publisher

"$publisher" login github-oidc
"$publisher" publish server.json
