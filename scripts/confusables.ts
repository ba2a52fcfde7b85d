/**
 * Writes base/confusables.ts from the data of the dev dependency unhomoglyph, which is Unicode's confusables.txt (UTS #39):
 * `node scripts/confusables.ts`. With `--check` it writes nothing, and exits 1 if the file is not up to date.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

/** Characters before this belong to the alphabets of languages with Latin letters, such as þ and ı. */
const FIRST = 0x180;

/** Renders the file: for each ASCII text, the characters that pass for it, as hexadecimal code points. */
export function renderConfusables(): string {
  const require = createRequire(import.meta.url);
  const data = require("unhomoglyph/data.json") as Record<string, string>;
  const { version } = require("unhomoglyph/package.json") as { version: string };
  const byPrototype = new Map<string, number[]>();
  for (const [character, prototype] of Object.entries(data)) {
    const code = character.codePointAt(0) ?? 0;
    const isOne = [...character].length === 1;
    if (!isOne || code < FIRST || !/^[!-~]{1,3}$/.test(prototype)) continue;
    // A letter that looks like two, such as \u01a1 like o', is a letter of an alphabet, and \u2116 is a separate sign.
    if (prototype.length > 1 && (/^[\p{L}\p{M}]$/u.test(character) || /[A-Za-z0-9]/.test(prototype)))
      continue;
    // Characters that compatibility normalisation turns into ASCII need no table, and are more current there.
    if (/^[\p{L}\p{Nd}]$/u.test(character) && /^[!-~]+$/.test(character.normalize("NFKC"))) continue;
    byPrototype.set(prototype, [...(byPrototype.get(prototype) ?? []), code]);
  }
  const rows = [...byPrototype]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([prototype, codes]) => {
      const listed = codes.sort((a, b) => a - b).map((code) => code.toString(16));
      return `  [${JSON.stringify(prototype)}, "${listed.join(" ")}"],`;
    });
  return `/**
 * Characters that pass for ASCII (Unicode's confusables.txt, UTS #39, section 4), as unhomoglyph ${version} has them: written by
 * scripts/confusables.ts, not to be edited. By what they pass for, their code points in hexadecimal.
 *
 * Copyright (c) 2016 Vitaly Puzrin, under the MIT licence, and Copyright (c) Unicode, Inc., under the Unicode licence:
 * permission is granted, free of charge, to any person obtaining a copy of the data files and of this software to deal in them
 * without restriction, including without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or
 * sell copies of them, provided that the above copyright notices and this permission notice appear with all copies. They are provided
 * "as is", without warranty of any kind, express or implied, including but not limited to the warranties of merchantability, fitness
 * for a particular purpose and noninfringement. In no event shall the authors or copyright holders be liable for any claim, damages or
 * other liability arising from, out of or in connection with them or their use.
 */
// biome-ignore format: one line for what is passed for
export const CONFUSABLES: readonly (readonly [passesFor: string, codePoints: string])[] = [
${rows.join("\n")}
];
`;
}

if (import.meta.main) {
  const file = join(import.meta.dirname, "../base/confusables.ts");
  const text = renderConfusables();
  if (!process.argv.includes("--check")) writeFileSync(file, text);
  else if (readFileSync(file, "utf8") !== text) {
    process.stderr.write("base/confusables.ts is not current; run `node scripts/confusables.ts`\n");
    process.exitCode = 1;
  }
}
