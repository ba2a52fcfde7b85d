#!/bin/sh
# Pushes the Helm chart as an OCI artifact, and signs it by its digest.
#
#   sh scripts/publish-chart.sh REGISTRY/OWNER/charts
set -eu
CDPATH='' cd -- "$(dirname -- "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

helm lint --strict deploy/chart --values deploy/chart/ci/example-values.yaml
helm package deploy/chart --destination "$work"
helm push "$work"/*.tgz "oci://$1" >"$work/said" 2>&1 || {
  cat "$work/said" >&2
  exit 1
}
digest=$(sed -n 's/^Digest: //p' "$work/said")
cosign sign --yes "$1/ptc@${digest:?helm names no digest}"
