#!/bin/sh
# Gives the pushed images of both architectures one name, and signs it by its digest.
#
#   sh scripts/publish-images.sh REGISTRY/OWNER TAG IMAGE...
set -eu
repository=$1
tag=$2
shift 2

for image; do
  name=$repository/$image
  docker buildx imagetools create --tag "$name:$tag" "$name:$tag-amd64" "$name:$tag-arm64"
  digest=$(docker buildx imagetools inspect "$name:$tag" --format '{{.Manifest.Digest}}')
  cosign sign --yes --recursive "$name@$digest"
  echo "$name@$digest"
done
