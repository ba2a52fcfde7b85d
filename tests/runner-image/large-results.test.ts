import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
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

const PROGRAMS: Record<RunnerLanguage, string> = {
  javascript: `
    import { createHash } from "node:crypto";
    const digest = (value) => createHash("sha256").update(JSON.stringify(value)).digest("hex");
    const get = (i) => callTool("mcp__demo__get", { i });
    const one = [];
    for (let i = 0; i < ${RESULTS.length}; i++) one.push(digest(await get(i)));
    const all = await Promise.all(Array.from({ length: ${RESULTS.length} }, (_, i) => get(i).then(digest)));
    globalThis.result = { one, all };`,
  python: `
import asyncio, hashlib, json
def digest(value):
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace(chr(0xD800), chr(92) + "ud800")
    return hashlib.sha256(text.encode()).hexdigest()
def get(i):
    return call_tool("mcp__demo__get", i=i)
one = [digest(await get(i)) for i in range(${RESULTS.length})]
all = [digest(value) for value in await asyncio.gather(*(get(i) for i in range(${RESULTS.length})))]
result = {"one": one, "all": all}`,
};

describe.each(Object.entries(PROGRAMS) as [RunnerLanguage, string][])("a program in %s", (language, code) => {
  const missing = missingFor(language);
  it.skipIf(missing !== "")(
    `has large results as its server gave them, one after the other and at once${missing}`,
    async () => {
      const answer = async (call: { arguments: unknown }) => RESULTS[(call.arguments as { i: number }).i];
      const { claim } = await runInProcess(language, code, { answer });
      const digests = RESULTS.map((value) =>
        createHash("sha256").update(JSON.stringify(value)).digest("hex"),
      );
      expect(claim).toMatchObject({ ok: true, data: { one: digests, all: digests } });
    },
  );
});
