#!/bin/sh
# Tries a release of the commit: checks that all files name the same version, runs all tests, and packs twice to make sure that
# both packages are identical. It publishes nothing; .github/workflows/release.yml does, of a tag.
. "$(dirname -- "$0")/dependencies.sh"

heading "Versions"
node scripts/check-release.ts
if [ -n "$(git status --porcelain)" ]; then
  echo "release: there are changes that are not committed" >&2
  exit 1
fi

heading "Tests"
npm test

heading "Package"
# What is tested above is built from these sources, and so is what is packed.
node scripts/build.ts
packages=$(mktemp -d)
trap 'rm -rf "$packages"' EXIT
field() { node -p "JSON.parse(process.argv[1]).$1" "$2"; }
first=$(node scripts/package.ts --out "$packages")
second=$(node scripts/package.ts --out "$packages")
if [ "$first" != "$second" ]; then
  echo "release: two packages of the same sources differ: $first, $second" >&2
  exit 1
fi
field integrity "$first"

heading "Client for Python"
sh scripts/python-client.sh
