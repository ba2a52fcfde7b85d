import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { describeSandboxed } from "../../sandbox/in-sandbox.ts";
import { envelopeOf, fixtureServer, type Project, usePtc } from "../ptc-process.ts";

describeSandboxed("the run of a single call", () => {
  test("comes to the same when its program is replayed in a sandbox, also where it failed", async () => {
    const project = newProject({ "ptc.yaml": { servers: [fixtureServer("docs", "documents.mjs")] } });
    await project.generate();
    for (const [tool, code] of [
      ["get_document", 0],
      ["lock_document", 1],
      ["delete_document", 1],
    ] as const) {
      const exited = await project.ptc(["call", `docs.${tool}`, "documentId=a"]);
      expect({ tool, code: exited.code }).toEqual({ tool, code });
    }
    expect(await project.ptc(["replay", "--all"])).toMatchObject({
      code: 0,
      stdout: "3 runs replayed: 3 the same, 0 diverged\n",
    });
  });
});

const newProject = usePtc();

const SECRET = "correct-horse-battery-staple";

/** A server that answers with what it was called with, and counts its calls in a file, so that a replay can be seen not to. */
function project(extra: object = {}): Project {
  const made = newProject({ "names.txt": "one" });
  made.write("ptc.yaml", {
    servers: [
      fixtureServer("my-documents", "documents.mjs"),
      fixtureServer("slow", "slow-tool.mjs"),
      { ...fixtureServer("env", "env-dump.mjs"), env: { API_KEY: SECRET } },
    ],
    ...extra,
  });
  return made;
}

const DICE = `
const documents = await Promise.all(
  ["c", "a", "b"].map(async (documentId) => (await mcp__my_documents__get_document({ documentId })).title),
);
const started = Date.now();
await new Promise((resolve) => setTimeout(resolve, 20));
console.log(Math.random(), crypto.randomUUID(), new Date().toISOString());
result = { documents, took: Date.now() - started, dice: Math.random() };
`;

async function recorded(made: Project, code: string) {
  await made.generate();
  const { envelope } = await made.run(code);
  return envelope;
}

/** What a replay says, from the line on stdout. */
async function replay(made: Project, args: string[]) {
  const exited = await made.ptc(["replay", ...args]);
  return { ...exited, envelope: exited.stdout === "" ? undefined : JSON.parse(exited.stdout) };
}

describe("a replay", () => {
  it("comes to the same by the same means, without any server", async () => {
    const made = project();
    const live = await recorded(made, DICE);
    // Were a server started, it would fail.
    made.write("ptc.yaml", { servers: [fixtureServer("my-documents", "exits-at-once.mjs")] });
    const { code, envelope, stderr } = await replay(made, [live.input_digest]);
    expect({ code, result: envelope.result.data }).toEqual({
      code: 0,
      result: live.result.ok && live.result.data,
    });
    expect(envelope.output_digest).toBe(live.output_digest);
    expect(stderr).toMatch(/^ptc: same: 3 calls, sha256:/m);
    expect(await replay(made, [live.run_id.slice(0, 8)])).toMatchObject({ code: 0 });
  });

  it("of a program that failed fails in the same way, and that is the same", async () => {
    const made = project();
    const live = await recorded(
      made,
      'const { title } = await mcp__my_documents__get_document({ documentId: "a" });\nthrow new Error(title);',
    );
    const { code, envelope } = await replay(made, [live.input_digest]);
    expect(code).toBe(0);
    expect(envelope.result).toMatchObject({
      ok: false,
      error: { type: "ScriptError", message: /Document a/ },
    });
  });

  it("names the call in which an edited program leaves the record", async () => {
    const made = project();
    const live = await recorded(made, DICE);
    made.write("edited.ts", DICE.replace('"b"', '"z"'));
    const { code, envelope, stderr } = await replay(made, [live.input_digest, "--code", "edited.ts"]);
    expect(code).toBe(1);
    expect(envelope.result.error).toMatchObject({
      type: "ReplayDiverged",
      message: expect.stringMatching(
        /expected call \d: mcp__my_documents__get_document\(\{"documentId":"b"\}\); got mcp__my_documents__get_document\(\{"documentId":"z"\}\)/,
      ),
    });
    expect(stderr).toContain("diverged");
  });

  it("runs an edited program against what was recorded", async () => {
    const made = project();
    const live = await recorded(made, DICE);
    made.write("edited.ts", 'result = (await mcp__my_documents__get_document({ documentId: "a" })).title;');
    made.write("ptc.yaml", { servers: [] });
    const { code, envelope } = await replay(made, [live.input_digest, "--code", "edited.ts"]);
    expect({ code, data: envelope.result.data }).toEqual({ code: 0, data: "Document a" });
  });

  it("calls the real servers when asked to, and shows what differs", async () => {
    const file = "names.txt";
    const made = project();
    const counted = { name: "file", command: process.execPath, args: ["server.mjs"] };
    made.write("ptc.yaml", { servers: [counted] });
    made.write("server.mjs", FILE_SERVER);
    const live = await recorded(made, "result = await mcp__file__read({ part: 1 });");
    expect(await made.ptc(["replay", live.input_digest, "--live"])).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("the result is the recorded one"),
    });
    made.write(file, "two");
    const changed = await made.ptc(["replay", live.input_digest, "--live"]);
    expect(changed.code).toBe(1);
    expect(changed.stderr).toContain('~ mcp__file__read({"part":1})\n    .data: recorded "one", now "two"');
    expect((await made.ptc(["replay", live.input_digest])).code).toBe(0);
  });

  it("of every run sums up, and is 1 when one diverges", async () => {
    const made = project();
    await recorded(made, DICE);
    const odd = await made.run(
      "result = process.memoryUsage().rss + process.hrtime()[1] + performance.now();",
    );
    expect(odd.envelope.result.ok).toBe(true);
    await made.run("throw new Error('x')");
    const { code, stdout } = await made.ptc(["replay", "--all"]);
    expect(stdout).toMatch(/^diverged [0-9a-f-]{36} {2}the result differs at \.data: expected \d/m);
    expect(stdout).toMatch(/^3 runs replayed: 2 the same, 1 diverged$/m);
    expect(code).toBe(1);
    expect((await made.ptc(["replay", "--all", "--since", "2099-01-01"])).stdout).toBe(
      "0 runs replayed: 0 the same, 0 diverged\n",
    );
  });

  it.each([
    ["a call that was denied", [], "DENIED", { ok: false, error: { type: "ApprovalDenied" } }],
    ["a call that was approved", ["--approve", "*"], "APPROVED", { ok: true, data: "deleted a" }],
  ])("knows of %s", async (_, flags, approval_state, result) => {
    const made = project();
    await made.generate();
    const code = 'result = await mcp__my_documents__delete_document({ documentId: "a" });';
    const { envelope: live } = await made.run(code, flags);
    expect(live).toMatchObject({ approval_state, result });
    const { code: exit, envelope } = await replay(made, [live.input_digest]);
    expect(exit).toBe(0);
    expect(envelope).toMatchObject({ approval_state, result, output_digest: live.output_digest });
    made.write("edited.ts", `${code}\n`);
    expect(await replay(made, [live.input_digest, "--code", "edited.ts"])).toMatchObject({
      envelope: { approval_state, result },
    });
  });

  it.each([
    ["in a call", ""],
    ["between calls", "await new Promise((resolve) => setTimeout(resolve, 60_000));"],
    [
      "in one of many calls",
      "for (let id = 1; ; id++) await Promise.all([get({ id }), new Promise((resolve) => setTimeout(resolve, 20))]);",
    ],
  ])("is the same up to where a run was cut %s, by its time limit or by hand", async (_, rest) => {
    const made = project();
    await made.generate();
    const code = `
      const get = ({ id }) => mcp__my_documents__get_document({ documentId: String(id) });
      const { title } = await get({ id: 0 });
      console.log("first", title);
      ${rest}
      await mcp__slow__go({});`;
    const { envelope: late } = await made.run(code, ["--timeout", "2"]);
    expect(late.result).toMatchObject({ ok: false, error: { type: "Timeout" } });
    const running = made.start(["run", "program.ts"]);
    await running.printed(/first/);
    running.kill("SIGINT");
    const stopped = envelopeOf(await running.exited);
    expect(stopped.result).toMatchObject({ ok: false, error: { type: "Cancelled" } });
    for (const { run_id, output_digest } of [late, stopped]) {
      const { code: exit, envelope, stderr } = await replay(made, [run_id]);
      expect({ exit, stderr }).toMatchObject({ exit: 0 });
      expect(envelope.output_digest).toBe(output_digest);
    }
  });

  it("of a run that was cut tells when its program does not come as far", async () => {
    const made = project();
    await made.generate();
    const { envelope } = await made.run(
      `await mcp__my_documents__get_document({ documentId: String(process.memoryUsage().rss) });
       await mcp__slow__go({});`,
      ["--timeout", "2"],
    );
    expect(envelope.result).toMatchObject({ ok: false, error: { type: "Timeout" } });
    const { code, stderr } = await replay(made, [envelope.run_id]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/diverged: the program made a call that is not in the record: expected call 1: /);
  });

  it("of every run skips those in which no program ran", async () => {
    const made = project();
    await recorded(made, "result = 1");
    const configuration = JSON.parse(made.read("ptc.yaml"));
    const sandbox = { runtime: "no-such-runtime", allow_weaker_isolation: true };
    made.write("ptc.yaml", { ...configuration, sandbox });
    expect((await made.run("result = 2")).envelope.result).toMatchObject({
      ok: false,
      error: { type: "SandboxUnavailable" },
    });
    made.write("ptc.yaml", configuration);
    expect(await made.ptc(["replay", "--all"])).toMatchObject({
      code: 0,
      stdout: "1 run replayed: 1 the same, 0 diverged; 1 skipped, in which no program ran\n",
    });
    const { stdout } = await made.ptc(["replay", "--all", "--json"]);
    expect(JSON.parse(stdout)).toEqual({ replayed: 1, same: 1, diverged: [], skipped: 1 });
  });

  let archived: Promise<Project> | undefined;
  /** A folder with one run in its archive, for all that change nothing. */
  async function archivedRun(): Promise<Project> {
    const made = project();
    await recorded(made, "result = 1");
    return made;
  }

  it.each([
    [["nothing-like-a-digest"], /is not|goes by|4/],
    [["0000000000"], /no run or input begins with 0000000000/],
    [["../../etc/passwd"], /./],
    [["' OR 1=1 --"], /./],
    [[], /give the digest of a run, or --all/],
    [["--all", "--live"], /do not go together/],
    [["--all", "--since", "yesterday"], /--since: 'yesterday' is not a time/],
  ])("refuses %j in one line", async (args, message) => {
    archived ??= archivedRun();
    const { code, stdout, stderr } = await (await archived).ptc(["replay", ...args]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(message);
    expect(stderr.trim().split("\n")).toHaveLength(1);
  });
});

describe("the archive of a run", () => {
  it("is private, and holds no configured secret, nor does anything else that ptc writes", async () => {
    const made = project();
    await made.generate();
    const { envelope, stderr, stdout } = await made.run(
      // What a server is used with is kept from the program, which can still come by it.
      "const env = await callTool('mcp__env__go', {}); env.secret = [...env.reversed.API_KEY].reverse().join(''); console.log(env); result = { env: JSON.stringify(env), again: await callTool('mcp__env__go', { note: JSON.stringify(env) }).catch(String) };",
    );
    expect(stdout + stderr).toContain("[REDACTED]");
    const folder = join(made.directory, ".ptc");
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    for (const file of ["archive.db", "audit.jsonl"])
      expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600);
    const exported = join(made.directory, "run.ptc");
    const shown = await made.ptc(["runs", "show", envelope.run_id, "--json"]);
    await made.ptc(["runs", "export", envelope.run_id, "--out", exported]);
    const everything = [
      stdout,
      stderr,
      shown.stdout,
      readFileSync(join(folder, "archive.db"), "latin1"),
      readFileSync(join(folder, "audit.jsonl"), "utf8"),
    ].join("\n");
    expect(everything).not.toContain(SECRET);
    expect(JSON.parse(shown.stdout).record.redactions).toBeGreaterThan(0);
    const [, line] = readFileSync(join(folder, "audit.jsonl"), "utf8").split("\n");
    expect(JSON.parse(line ?? "")).toMatchObject({ event: "call", decision: "allowed", redactions: 1 });
  });

  it("that cannot be written costs a warning, never the run", async () => {
    const made = project({ archive: { path: "ptc.yaml/archive.db" } });
    await made.generate();
    const { code, envelope, stderr } = await made.run("result = 1");
    expect({ code, data: envelope.result }).toMatchObject({ code: 0, data: { ok: true, data: 1 } });
    expect(stderr).toMatch(/^ptc: warning: .*ptc\.yaml\/archive\.db/m);
  });
});

/** Answers with what stands in a file. */
const FILE_SERVER = `
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
const tools = [{ name: "read", inputSchema: { type: "object" } }];
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  const answer = (result) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\\n");
  if (method === "initialize")
    answer({ protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "f", version: "1" } });
  else if (method === "tools/list") answer({ tools });
  else if (method === "tools/call") answer({ content: [{ type: "text", text: readFileSync("names.txt", "utf8") }] });
  else if (id !== undefined)
    process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: "no" } }) + "\\n");
}
`;
