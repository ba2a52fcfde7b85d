# Sourced after dependencies.sh: all checks of the sources that do not run them.
# shellcheck shell=sh
heading "Types (tsc)"
tsc -p tsconfig.json
tsc -p examples

heading "Format and lint (biome)"
biome ci .

heading "Import rules (dependency-cruiser)"
node scripts/check-imports.ts

heading "Dead code (knip)"
knip

heading "Token shapes (as the rules of their package say)"
node scripts/token-shapes.ts --check

heading "Characters that pass for ASCII (as the data of Unicode says)"
node scripts/confusables.ts --check

heading "Python code (ruff, pyright)"
node scripts/check-python.ts
