import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { eventually } from "../eventually.ts";
import { envelopeOf, fixtureServer, type Project, usePtc } from "./ptc-process.ts";

const newProject = usePtc();
let project: Project;
let env: Record<string, string>;

const calls = () => {
  const log = join(project.directory, "calls");
  return existsSync(log) ? readFileSync(log, "utf8").trimEnd().split("\n") : [];
};

beforeAll(async () => {
  project = newProject();
  const log = join(project.directory, "calls");
  project.write("ptc.yaml", {
    servers: [fixtureServer("r", "counts-calls.mjs", [log]), fixtureServer("w", "counts-calls.mjs", [log])],
    languages: ["typescript", "python"],
    approvals: { ask: ["mcp__w__*"] },
    sandbox: { warm: 1 },
  });
  env = { XDG_STATE_HOME: join(project.directory, "state") };
  await project.generate();
});

/** Sees time, randomness and the order of answers before it comes to its question. */
const PROGRAM = `
import * as r from "./servers/r/index.js";
import * as w from "./servers/w/index.js";
const order: string[] = [];
await Promise.all(["1", "2", "3"].map(async (id) => { await r.note({ id }); order.push(id); }));
await new Promise((resolve) => setTimeout(resolve, 20));
const seen = { at: Date.now(), random: Math.random(), order };
console.log("seen", JSON.stringify(seen));
await w.note({ id: "write " + JSON.stringify(seen) });
globalThis.result = { seen, later: Date.now() - seen.at };
`;

test("a run is suspended by one process, approved by another, and continued by a third, which sees the same again", async () => {
  project.write("program.ts", PROGRAM);
  const ptc = (...args: string[]) => project.start(args, { env }).exited;
  const first = await ptc("run", "program.ts", "--suspend");
  const suspended = envelopeOf(first);
  expect([first.code, suspended.result]).toMatchObject([1, { error: { type: "ApprovalPending" } }]);
  const [seen] = /(?<=seen ).*/.exec(first.stderr) ?? [];
  expect(calls()).toHaveLength(3);

  const listed = await ptc("approvals", "list", "--json");
  const [{ ticket }] = JSON.parse(listed.stdout);
  expect((await ptc("run", "--ticket", ticket)).code).toBe(2);
  const shown = await ptc("approvals", "approve", ticket.slice(0, 6));
  expect(shown).toMatchObject({ code: 0, stdout: expect.stringContaining("│ mcp__w__note") });
  expect((await ptc("approvals", "deny", ticket)).code).toBe(1);

  const third = envelopeOf(await ptc("run", "--ticket", ticket));
  expect(third).toMatchObject({
    run_id: suspended.run_id,
    approval_state: "APPROVED",
    result: { ok: true, data: { seen: JSON.parse(seen ?? ""), later: expect.any(Number) } },
  });
  // Its clock is that of the present again: several processes were started in between.
  expect((third.result.ok && (third.result.data as { later: number }).later) || 0).toBeGreaterThan(100);
  expect(calls()).toEqual([expect.any(String), expect.any(String), expect.any(String), `write ${seen}`]);
  const replayed = await ptc("replay", third.run_id);
  expect(replayed).toMatchObject({ code: 0, stderr: expect.stringContaining("same: 4 calls") });
  expect((await ptc("run", "--ticket", ticket)).code).toBe(2);
});

const PYTHON_SEEN = `
time.sleep(0.02)
seen = {"at": time.time(), "random": random.random(), "order": order}
print("seen", json.dumps(seen))
`;

const PYTHON_PROGRAMS: [name: string, code: string][] = [
  [
    "awaits",
    `
import asyncio, json, random, time
from servers import r, w
order = []
async def one(id):
    await r.note(id=id)
    order.append(id)
await asyncio.gather(*(one(id) for id in ("1", "2", "3")))
${PYTHON_SEEN}
await w.note(id="write " + json.dumps(seen))
result = {"seen": seen, "later": time.time() - seen["at"]}
`,
  ],
  [
    "blocks in threads",
    `
import json, random, threading, time
from servers import r, w
order = []
def one(id):
    r.note(id=id)
    order.append(id)
threads = [threading.Thread(target=one, args=(id,)) for id in ("1", "2", "3")]
for thread in threads: thread.start()
for thread in threads: thread.join()
${PYTHON_SEEN}
w.note(id="write " + json.dumps(seen))
result = {"seen": seen, "later": time.time() - seen["at"]}
`,
  ],
];

test.each(PYTHON_PROGRAMS)("a run in Python that %s continues, and sees the same again", async (_, code) => {
  project.write("program.py", code);
  const first = await project.ptc(["run", "program.py", "--suspend"], { env });
  expect(envelopeOf(first)).toMatchObject({ result: { error: { type: "ApprovalPending" } } });
  const [seen = ""] = /(?<=seen ).*/.exec(first.stderr) ?? [];
  const before = calls();
  const [{ ticket }] = JSON.parse((await project.ptc(["approvals", "list", "--json"], { env })).stdout);
  await project.ptc(["approvals", "approve", ticket], { env });
  const { run_id, result } = envelopeOf(await project.ptc(["run", "--ticket", ticket], { env }));
  expect(result).toMatchObject({ ok: true, data: { seen: JSON.parse(seen), later: expect.any(Number) } });
  // Its clock is that of the present again: a sandbox was started in between.
  expect((result.ok && (result.data as { later: number }).later) || 0).toBeGreaterThan(0.1);
  expect(calls()).toEqual([...before, `write ${seen}`]);
  const replayed = await project.ptc(["replay", run_id], { env });
  expect(replayed).toMatchObject({ code: 0, stderr: expect.stringContaining("same: 4 calls") });
});

test("a call that was approved is not made again when ptc was killed after it", async () => {
  const code = 'import * as w from "./servers/w/index.js";\nawait w.hold({ id: "held" });';
  await project.run(code, ["--suspend"], { env });
  const [{ ticket }] = JSON.parse((await project.ptc(["approvals", "list", "--json"], { env })).stdout);
  await project.ptc(["approvals", "approve", ticket], { env });
  const killed = project.start(["run", "--ticket", ticket], { env });
  await eventually(async () => expect(calls().filter((id) => id === "held")).toHaveLength(1));
  killed.kill("SIGKILL");
  await killed.exited;
  const again = await project.ptc(["run", "--ticket", ticket], { env });
  expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining("no run waits under") });
  expect(calls().filter((id) => id === "held")).toHaveLength(1);
});

test("a client that cannot ask gets a ticket, with which the program goes on after a restart of ptc", async () => {
  const code =
    'import * as w from "./servers/w/index.js";\nconsole.log(typeof (await w.note({ id: "served" })).pid);';
  const before = await project.serve({ env });
  const asked = await before.client.callTool({ name: "execute_program", arguments: { code } });
  const [{ text }] = asked.content as [{ text: string }];
  expect(text).toMatch(/^\[Script waits for an approval\]\nmcp__w__note is not called before/);
  const [, ticket = ""] = /"code":"ticket (\w+)"/.exec(text) ?? [];
  await before.client.close();
  expect(calls()).not.toContain("served");

  const after = await project.serve({ env });
  const goOn = () =>
    after.client.callTool({ name: "execute_program", arguments: { code: `ticket ${ticket}` } });
  const reply = goOn();
  // The request waits for an answer that comes by another way.
  await project.ptc(["approvals", "approve", ticket], { env });
  expect((await reply).content).toEqual([{ type: "text", text: "[Script executed successfully]\nnumber" }]);
  expect(calls()).toContain("served");
  expect(await goOn()).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining("is over") }],
  });
  await after.client.close();
});
