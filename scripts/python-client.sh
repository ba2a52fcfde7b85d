#!/bin/sh
# Builds the wheel and the source distribution of the Python client in dist-python/, and prints their names. Builds of the same
# sources are identical. To publish them: `python3 -m twine upload dist-python/*`, with an identity that the index trusts.
set -eu
CDPATH='' cd -- "$(dirname -- "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv" >&2
"$work/venv/bin/python" -m pip install --quiet hatchling==1.33.0 >&2
rm -rf dist-python
# File times in the archives are the commit's.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
for folder in dist-python "$work/again"; do
  case $folder in /*) out=$folder ;; *) out=$PWD/$folder ;; esac
  (cd clients/python && "$work/venv/bin/python" -m hatchling build -d "$out") >&2
done
for file in dist-python/*; do
  cmp "$file" "$work/again/$(basename "$file")" >&2
  echo "$file"
done
