import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { usePtcWithoutWalls } from "../../in-process.ts";
import type { Project } from "../../ptc-process.ts";
import { DICE, recorded, replay, SECRET, SERVERS } from "./recorded.ts";

const newProject = usePtcWithoutWalls();
const project = (more: object = {}) =>
  newProject({ "names.txt": "one", "ptc.yaml": { servers: SERVERS, ...more } });

describe("a replay", () => {
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

  it("of a run that was cut tells when its program does not come as far", async () => {
    const made = project();
    await made.generate();
    const { envelope } = await made.run(
      `await mcp__my_documents__get_document({ documentId: String(process.memoryUsage().rss) });
       await mcp__slow__go({});`,
      ["--timeout", "1"],
    );
    expect(envelope.result).toMatchObject({ ok: false, error: { type: "Timeout" } });
    const { code, stderr } = await replay(made, [envelope.run_id]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/diverged: the program made a call that is not in the record: expected call 1: /);
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

const REFUSED: [type: string, code: string][] = [
  ["TypeCheckError", "result = await mcp__my_documents__get_document({ id: 1 });"],
  ["TypeCheckError", "result = await mcp__my_documents__get_documents({});"],
  [
    "TypeCheckError",
    'import { go } from "./servers/slow/index.js";\nresult = await getDocument({}); go({});',
  ],
  ["BundleError", "const x = ;"],
  ["BundleError", 'import _ from "lodash"; result = _.now();'],
  ["BundleError", 'import * as x from "./servers/my_document/index.js"; result = await x.getDocument({});'],
  ["BundleError", 'import { getPage } from "./servers/my_documents/index.js"; result = await getPage({});'],
  ["BundleError", "return 1;"],
];

describe("a replay of every run", () => {
  it("finds each program that never ran refused again, for the same reason, and is 0", async () => {
    const made = project();
    await made.generate();
    for (const [type, code] of REFUSED) {
      const { envelope } = await made.run(code);
      expect(envelope.result, code).toMatchObject({ ok: false, error: { type } });
    }
    // What is generated now does not matter: the record has what there was.
    made.write("ptc.yaml", { servers: [] });
    const { code, stdout } = await made.ptc(["replay", "--all"]);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: `${REFUSED.length} runs replayed: ${REFUSED.length} the same, 0 diverged\n`,
    });
  });
});

describe("an edited program that needs more than the record has", () => {
  it.each([
    [
      "a server that the run did not use",
      'import * as slow from "./servers/slow/index.js"; result = await slow.go({});',
    ],
    ["a tool that the server did not have", "result = await mcp__my_documents__rename_document({});"],
    ["other arguments", 'result = await mcp__my_documents__get_document({ documentId: "a", page: 2 });'],
  ])("is told so, and to run live: %s", async (_, edited) => {
    const made = project();
    await made.generate();
    const { envelope } = await made.run(
      'result = await mcp__my_documents__get_document({ documentId: "a" });',
    );
    expect(envelope.result.ok).toBe(true);
    made.write("edited.ts", edited);
    const { code, stdout } = await made.ptc(["replay", envelope.run_id, "--code", "edited.ts"]);
    const { message } = JSON.parse(stdout).result.error;
    expect(code).toBe(1);
    expect(message).toContain("modules in the record of the run, which has servers/my_documents");
    expect(message).toContain("`ptc generate` does not change these");
    expect(message).toContain("run it with `ptc run`");
    expect(message).not.toContain("run `ptc generate`");
  });

  it("is told to run live when it makes a call without a recorded answer", async () => {
    const made = project();
    await made.generate();
    const { envelope } = await made.run(
      'result = await mcp__my_documents__get_document({ documentId: "a" });',
    );
    made.write("edited.ts", 'result = await mcp__my_documents__get_document({ documentId: "b" });');
    const { stdout } = await made.ptc(["replay", envelope.run_id, "--code", "edited.ts"]);
    expect(JSON.parse(stdout).result.error).toMatchObject({
      type: "ReplayDiverged",
      message: expect.stringMatching(
        /a call that is not in the record: .*; to use tools as they are now, run it with `ptc run`$/,
      ),
    });
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
