import { expect, test } from "vitest";
import { describeSandboxed } from "../../../sandbox/in-sandbox.ts";
import { unsteady, useRecordedPrograms } from "../../../sandbox/programs/recorded-programs.ts";

const EVERYTHING = `
import crypto, { randomUUID, randomBytes, randomInt, randomFill } from "node:crypto";
import os from "node:os";
import { performance as perf } from "node:perf_hooks";
import { hrtime } from "node:process";
import { setTimeout as sleep, setImmediate as turn, setInterval as ticks } from "node:timers/promises";
import { promisify } from "node:util";
const seen = [];
const note = (...values) => seen.push(values.map((value) => typeof value === "bigint" ? String(value) : value));
note("random", Math.random(), Math.random(), randomUUID(), randomBytes(8).toString("hex"), randomInt(1000), randomInt(-5, 5));
note("web", globalThis.crypto.randomUUID(), [...globalThis.crypto.getRandomValues(new Uint16Array(4))], [...crypto.getRandomValues(new Uint8Array(3))]);
note("v7", crypto.randomUUIDv7?.());
note(require("node:crypto").randomBytes(4).toString("hex"));
await new Promise((done) => randomBytes(8, (_, bytes) => { note("callback", bytes.toString("hex")); done(); }));
await new Promise((done) => randomFill(new Uint32Array(4), 1, 2, (_, words) => { note("fill", [...words]); done(); }));
await new Promise((done) => randomInt(100, (_, value) => { note("int", value); done(); }));
note("clock", Date.now(), new Date(), Date(), performance.now(), performance.timeOrigin, perf.now(), hrtime(), hrtime.bigint(), process.uptime(), os.uptime());
note("format", new Intl.DateTimeFormat("en", { dateStyle: "full", timeStyle: "full" }).format(), new Intl.DateTimeFormat().formatToParts().length);
note("zone", new Date().toString(), new Date().toLocaleString(), Intl.DateTimeFormat().resolvedOptions().timeZone);
note("host", os.hostname(), process.pid, os.freemem() === os.totalmem());
console.time("calls");
const end = Date.now() + 30;
let rounds = 0;
while (Date.now() < end) rounds++;
note("rounds", rounds);
const names = ["a", "b", "c", "d", "e", "f", "g", "h"];
await Promise.all(names.map(async (name) => {
  await callTool("mcp__desk__echo", { name, at: Date.now() });
  note("answer", name, Math.random());
  await null;
  note("after", name, performance.now());
  await callTool("mcp__desk__echo", { name, id: randomUUID() });
  note("second", name);
}));
for (let i = 0; i < 6; i++) {
  note("race", await Promise.race([callTool("mcp__desk__echo", { i }).then(() => "call"), sleep(20, "timer")]));
}
console.timeLog("calls", seen.length);
let polls = 0;
let answered = false;
const slow = callTool("mcp__desk__echo", { slow: true }).then(() => { answered = true; });
while (!answered) { polls++; await turn(); }
note("polls", polls);
let beats = 0;
const heart = setInterval(() => note("beat", ++beats, Date.now()), 3);
await callTool("mcp__desk__echo", { last: true });
clearInterval(heart);
for await (const value of ticks(2, "tick")) { note(value, Date.now()); if (seen.at(-1)[1] % 2 === 0) break; }
setTimeout(() => note("cleared"), 1).close();
const [later, sooner] = [promisify(setTimeout)(6, "later"), promisify(setTimeout)(5, "sooner")];
note(await Promise.race([later, sooner]));
note(await sleep(50, 0, { signal: AbortSignal.timeout(5) }).catch((error) => [error.name, error.cause.name]));
performance.mark("one");
note("marks", performance.measure("whole", "one").duration, performance.getEntriesByName("one")[0].startTime);
console.timeEnd("calls");
console.log(seen.length);
globalThis.result = seen;
`;

describeSandboxed("a program that is replayed", () => {
  const { record, replay } = useRecordedPrograms();

  test("comes to the same result, to the byte, whatever it reads of the world", async () => {
    const live = await record(EVERYTHING, unsteady);
    expect(live.claim).toMatchObject({ ok: true });
    expect(live.trace?.complete).toBe(true);
    for (let round = 0; round < 2; round++) {
      const again = await replay(EVERYTHING, live);
      expect(again.claim).toEqual(live.claim);
      expect(again.console).toBe(live.console);
      expect(again.trace).toEqual(live.trace);
    }
    const other = await record(EVERYTHING, unsteady);
    expect(other.claim).not.toEqual(live.claim);
  });

  test.each([
    [
      "files against long timers",
      `import { readFile, writeFile } from "node:fs/promises";
       await writeFile("/tmp/file", "text");
       globalThis.result = await Promise.race([readFile("/tmp/file", "utf8"), new Promise((r) => setTimeout(r, 100, "timer"))]);`,
      "text",
    ],
    [
      "a server that stays open",
      `import { createServer } from "node:net";
       const server = createServer().listen("/tmp/socket");
       const seen = [];
       for (let i = 0; i < 2; i++) seen.push(await Promise.race([callTool("mcp__desk__echo", { i }).then(() => "call"), new Promise((r) => setTimeout(r, 20, "timer"))]));
       server.close();
       globalThis.result = seen.length;`,
      2,
    ],
  ])("is told the same of %s", async (_, code, data) => {
    const live = await record(code, unsteady);
    expect(live.claim).toMatchObject({ ok: true, data });
    const again = await replay(code, live);
    expect(again.claim).toEqual(live.claim);
    expect(again.trace).toEqual(live.trace);
  });
});

describeSandboxed("what a program sees of the world", () => {
  const { record } = useRecordedPrograms();
  const facts = async (code: string, environment = {}) => {
    const { claim } = await record(code, undefined, environment);
    if (!claim?.ok) throw new Error(JSON.stringify(claim));
    return claim.data as Record<string, unknown>;
  };

  test("is the locale of every sandbox, and the time zone that the host names", async () => {
    const code = `globalThis.result = {
      zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      summer: new Date(2024, 6, 1).toISOString(), winter: new Date(2024, 0, 1).toString(),
      locale: new Intl.NumberFormat().resolvedOptions().locale, number: (1234.5).toLocaleString(), order: ["ö", "z", "o"].sort(new Intl.Collator().compare),
    };`;
    const locale = { locale: "en-US", number: "1,234.5", order: ["o", "ö", "z"] };
    expect(await facts(code)).toEqual({
      ...locale,
      zone: "UTC",
      summer: "2024-07-01T00:00:00.000Z",
      winter: "Mon Jan 01 2024 00:00:00 GMT+0000 (Coordinated Universal Time)",
    });
    expect(await facts(code, { time_zone: "Europe/Berlin" })).toEqual({
      ...locale,
      zone: "Europe/Berlin",
      summer: "2024-06-30T22:00:00.000Z",
      winter: "Mon Jan 01 2024 00:00:00 GMT+0100 (Central European Standard Time)",
    });
  });

  test("passes as real time does in a live run", async () => {
    const code = `
      const [before, start] = [Date.now(), performance.now()];
      await new Promise((r) => setTimeout(r, 60));
      globalThis.result = { date: Date.now() - before, performance: performance.now() - start, started: before };`;
    const { date, performance: passed, started } = await facts(code);
    expect(date).toBeGreaterThanOrEqual(59);
    expect(passed).toBeGreaterThanOrEqual(59);
    expect(Math.abs(Number(started) - Date.now())).toBeLessThan(60_000);
  });
});
