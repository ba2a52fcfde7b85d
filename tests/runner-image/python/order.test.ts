import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { missingFor, runInProcess } from "../runner-process.ts";

const missing = missingFor("python");
const PROGRAMS: Record<"sets" | "threads", string> = parse(
  readFileSync(join(import.meta.dirname, "order.yaml"), "utf8"),
);
const ROUNDS = 30;
const upTo = (count: number) => Array.from({ length: count }, (_, i) => i);

it.skipIf(missing !== "")(
  `tasks, futures and threads have the same order in sets wherever they lie in memory${missing}`,
  async () => {
    const results = [];
    for (const taken of [0, 7, 23, 59])
      results.push((await runInProcess("python", PROGRAMS.sets.replaceAll("TAKEN", String(taken)))).claim);
    const [first] = results;
    expect(first).toMatchObject({ ok: true, data: { shown: "<Task pending name='a'<Future " } });
    expect(first).toMatchObject({ data: { begun: upTo(40) } });
    for (const result of results) expect(result).toEqual(first);
  },
);

it.skipIf(missing !== "")(
  `a thread that comes back from the system is not missed by one that begins to wait for it${missing}`,
  async () => {
    const { claim } = await runInProcess("python", PROGRAMS.threads.replace("ROUNDS", String(ROUNDS)));
    expect(claim).toMatchObject({ ok: true, data: upTo(ROUNDS) });
  },
);
