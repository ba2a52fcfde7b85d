/**
 * Writes secrets/token-shapes-secretlint.ts from the rules of the secretlint preset, a dev dependency:
 * `node scripts/token-shapes.ts`. With `--check` it writes nothing, and exits 1 if the file is not up to date.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { rules } from "@secretlint/secretlint-rule-preset-recommend";

/** Why certain rules of the preset are left out. All others are used. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  gcp: "recognises whole files",
  privatekey: "judges by entropy; token-shapes.ts has its own",
  basicauth: "no prefix of a provider",
  "database-connection-string": "no prefix of a provider",
  sendgrid: "filters what its pattern matches; token-shapes.ts has its own",
  "filter-comments": "no secret",
};

/** Patterns that do not begin with a literal, or that match no secret. */
const LEFT_OUT_PATTERNS = [
  "SECRET|secret|Secret", // begins with no literal; token-shapes.ts has its own
  "ACCOUNT|account|Account", // account numbers are no secret
  "x-oauth-basic",
  "_authToken=",
];
/** Identifiers of users, roles and groups, which results may contain. */
const LEFT_OUT_ANCHORS = ["A3T", "AGPA", "AIDA", "AROA", "AIPA", "ANPA", "ANVA"];

/** Turns on patterns that are off by default: the preset's AWS rule finds key ids only on request. */
const OPTIONS = { enableIDScanRule: true };

interface Row {
  kind: string;
  anchors: string[];
  pattern: string;
}

/** The patterns that a rule looks for, recorded with a fake text. */
function patternsOf(rule: (typeof rules)[number]): RegExp[] {
  const asked: RegExp[] = [];
  const content = {
    matchAll(pattern: RegExp) {
      asked.push(pattern);
      return [];
    },
  };
  const context = { createTranslator: () => () => ({}), report: () => {}, sharedOptions: {} };
  const handlers = (
    rule.create as (context: unknown, options: unknown) => { file?(source: unknown): unknown }
  )(context, OPTIONS);
  handlers.file?.({ content, filePath: "text.txt", ext: ".txt", contentType: "text" });
  return asked;
}

/** The literals that a match can begin with: everything before the first class or quantifier. */
function anchorsOf(source: string): string[] {
  const alternatives = topLevelAlternatives(source);
  if (alternatives.length > 1) return [...new Set(alternatives.flatMap(anchorsOf))];
  let anchors = [""];
  let rest = source;
  for (;;) {
    const group = /^\((?:\?:|\?<\w+>)?([\w|-]+)\)(?![?*+{])/.exec(rest);
    const literal = /^(?:\\([./-])|([\w:/-]))(?![?*+{])/.exec(rest);
    const next = group ? (group[1] ?? "").split("|") : literal ? [literal[1] ?? literal[2] ?? ""] : undefined;
    if (next === undefined) break;
    anchors = anchors.flatMap((anchor) => next.map((part) => anchor + part));
    rest = rest.slice((group ?? literal)?.[0].length);
  }
  const groupOfMore = /^\((?:\?:)?([A-Z0-9]+(?:\[[^\]]+\])?(?:\|[A-Z0-9]+)*)\)/.exec(rest);
  if (anchors.join("") === "" && groupOfMore) {
    return (groupOfMore[1] ?? "").split("|").map((part) => part.replace(/\[.*/, ""));
  }
  return anchors;
}

function topLevelAlternatives(source: string): string[] {
  const parts = [""];
  let depth = 0;
  for (const [piece] of source.matchAll(/\\.|\[(?:\\.|[^\]])*\]|[\s\S]/g)) {
    if (piece === "(") depth++;
    if (piece === ")") depth--;
    if (piece === "|" && depth === 0) parts.push("");
    else parts[parts.length - 1] += piece;
  }
  return parts;
}

function rowsOf(rule: (typeof rules)[number]): Row[] {
  const name = rule.meta.id.replace("@secretlint/secretlint-rule-", "");
  if (name in LEFT_OUT) return [];
  const rows = patternsOf(rule)
    .filter(({ source }) => !LEFT_OUT_PATTERNS.some((part) => source.includes(part)))
    .map((pattern): Row => {
      // token-shapes.ts decides for all tokens what may come before them.
      const source = pattern.source.replace(/^\(\?<!\\p\{L\}\)|^\\b/, "");
      const anchors = anchorsOf(source).filter((anchor) => !LEFT_OUT_ANCHORS.includes(anchor));
      if (
        anchors.some((anchor) => anchor.length < 3) ||
        /\\p\{/.test(source) ||
        /[^gmu]/.test(pattern.flags.replace("i", ""))
      ) {
        throw new Error(`${name}: cannot tell what a match of ${pattern} begins with; name it in LEFT_OUT`);
      }
      return { kind: `${name}-token`, anchors, pattern: source };
    });
  if (rows.length === 0) throw new Error(`${name}: asked for no pattern; name it in LEFT_OUT`);
  return rows;
}

const root = join(import.meta.dirname, "..");
const file = join(root, "secrets", "token-shapes-secretlint.ts");
const { version } = createRequire(import.meta.url)(
  "@secretlint/secretlint-rule-preset-recommend/package.json",
) as {
  version: string;
};
const literal = ({ kind, anchors, pattern }: Row) =>
  `  { kind: ${JSON.stringify(kind)}, anchors: ${JSON.stringify(anchors).replaceAll(",", ", ")}, pattern: /${pattern}/ },`;
const text = `/**
 * Shapes of tokens, written by scripts/token-shapes.ts from @secretlint/secretlint-rule-preset-recommend ${version}: not to be edited.
 *
 * Copyright (c) 2020 azu, under the MIT licence: permission is granted, free of charge, to any person obtaining a copy of this
 * software and associated documentation files, to deal in the Software without restriction, including without limitation
 * the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, subject to this:
 * the above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.
 * The Software is provided "as is", without warranty of any kind, express or implied, including but not limited to the
 * warranties of merchantability, fitness for a particular purpose and noninfringement. In no event shall the authors or
 * copyright holders be liable for any claim, damages or other liability, whether in an action of contract, tort or otherwise,
 * arising from, out of or in connection with the Software or the use or other dealings in the Software.
 */
// biome-ignore format: one line for one pattern
export const SECRETLINT_SHAPES = [
${rules
  .flatMap((rule) => rowsOf(rule))
  .map(literal)
  .join("\n")}
];
`;
if (process.argv.includes("--check")) {
  if (readFileSync(file, "utf8") !== text) {
    process.stderr.write(
      "secrets/token-shapes-secretlint.ts is not current; run `node scripts/token-shapes.ts`\n",
    );
    process.exitCode = 1;
  }
} else {
  writeFileSync(file, text);
}
