import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { missingFor, type RunnerLanguage, runInProcess } from "./runner-process.ts";

const text = (seed: number, length: number) => `${seed} \u00e9"\\\n`.repeat(length).slice(0, length);

/** Results with large texts in all places, and small ones between them. */
const RESULTS: unknown[] = [
  text(0, 3_000_000),
  { page: text(1, 200_000), at: 1 },
  "small",
  [
    { type: "text", text: text(2, 70_000) },
    { type: "image", data: "A".repeat(1_000_000) },
  ],
  `${text(3, 100_000)}\ud800`,
  { rows: Array.from({ length: 5_000 }, (_, id) => ({ id, name: text(id, 20) })) },
  { nested: { deep: { a: text(4, 66_000), b: { c: { d: text(5, 66_000) } } } } },
  null,
];

const PROGRAMS: Record<RunnerLanguage, string> = parse(
  readFileSync(join(import.meta.dirname, "large-results.yaml"), "utf8"),
);

describe.each(Object.entries(PROGRAMS) as [RunnerLanguage, string][])("a program in %s", (language, code) => {
  const missing = missingFor(language);
  it.skipIf(missing !== "")(
    `has large results as its server gave them, one after the other and at once${missing}`,
    async () => {
      const answer = async (call: { arguments: unknown }) => RESULTS[(call.arguments as { i: number }).i];
      const { claim } = await runInProcess(language, code.replaceAll("COUNT", String(RESULTS.length)), {
        answer,
      });
      const digests = RESULTS.map((value) =>
        createHash("sha256").update(JSON.stringify(value)).digest("hex"),
      );
      expect(claim).toMatchObject({ ok: true, data: { one: digests, all: digests } });
    },
  );
});
