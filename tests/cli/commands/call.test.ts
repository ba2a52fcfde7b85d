import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Envelope } from "../../../protocol/envelope.ts";
import { completion, scriptedModel } from "../../upstream/model/scripted-model.ts";
import { projectInProcess } from "../in-process.ts";
import { fixtureServer } from "../ptc-process.ts";
import { hasPython, onTerminal, WITHOUT_PYTHON } from "../terminal/run-on-terminal.ts";

const EVERYTHING = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";

/** No engine is there, and none is needed. */
const _NOWHERE = { DOCKER_HOST: "unix:///nowhere/docker.sock" };

async function setUp(more: object = {}) {
  const {
    project,
    env,
    ptc: run,
  } = projectInProcess({
    servers: [
      fixtureServer("docs", "documents.mjs"),
      { name: "every-thing", command: process.execPath, args: [`${process.cwd()}/${EVERYTHING}`] },
      { ...fixtureServer("dump", "env-dump.mjs"), env: { TOKEN: { keyring: "hub" } } },
    ],
    ...more,
  });
  const ptc = (args: string[], stdin = "") => run(args, {}, stdin);
  await ptc(["auth", "set", "hub"], "keyring-secret-1");
  expect(await ptc(["generate"])).toMatchObject({ code: 0 });
  const call = (args: string[], stdin?: string) => ptc(["call", ...args], stdin);
  return { project, env, ptc, call };
}

describe("ptc call", () => {
  it("answers on stdout: JSON or text, by any of a tool's names, with arguments of its types", async () => {
    const { project, env, call } = await setUp();
    const answer = async (args: string[], stdin?: string) => {
      const { code, stdout, stderr } = await call(args, stdin);
      expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: "" });
      return stdout;
    };
    project.write("args.json", { a: 3, b: 4 });
    project.write("id.txt", "from a file");
    expect(await answer(["docs.get_document", "documentId=7"])).toBe('{"title":"Document 7","words":3}\n');
    expect(await answer(["mcp__docs__get_document", "documentId=@id.txt"])).toBe(
      '{"title":"Document from a file","words":3}\n',
    );
    expect(await answer(["every_thing.getSum", "a=1", "b=2.5"])).toBe("The sum of 1 and 2.5 is 3.5.\n");
    expect(await answer(["every-thing.get-sum", "@args.json"])).toBe("The sum of 3 and 4 is 7.\n");
    expect(await answer(["every-thing.get-sum", "--json", '{"a": 3, "b": 4}', "b=-1"])).toBe(
      "The sum of 3 and -1 is 2.\n",
    );
    expect(await answer(["every-thing.get-sum", "--json", "@-"], '{"a": 5, "b": 6}')).toBe(
      "The sum of 5 and 6 is 11.\n",
    );
    // The same as a process of its own.
    expect(
      await project.ptc(["call", "every-thing.get-sum", "--json", "@-"], { env, stdin: '{"a": 1, "b": 6}' }),
    ).toEqual({ code: 0, stdout: "The sum of 1 and 6 is 7.\n", stderr: "" });
    expect(await answer(["every-thing.echo", "message=@@you = \u001b[2J"])).toBe("Echo: @you = \u001b[2J\n");
  });

  it("says what is wrong with the arguments in one line, before a server is started", async () => {
    const { project, ptc, call } = await setUp();
    project.write("ptc.yaml", project.read("ptc.yaml").replaceAll(process.execPath, "/nowhere/node"));
    const refusals: [string[], string][] = [
      [[], "name a tool: ptc call SERVER.TOOL; `ptc list` has them all"],
      [["docs.get_documnt"], "there is no tool 'docs.get_documnt'; did you mean mcp__docs__get_document"],
      [
        ["docs.get_document", "documentID=7"],
        "mcp__docs__get_document has no argument 'documentID'; did you mean 'documentId'?",
      ],
      [
        ["docs.get_document", "--json", '{"doc": 1}'],
        "mcp__docs__get_document has no argument 'doc'; it takes documentId",
      ],
      [["docs.list_documents", "x=1"], "mcp__docs__list_documents has no argument 'x'; it takes none"],
      [["docs.get_document"], "mcp__docs__get_document needs 'documentId'"],
      [["docs.get_document", "documentId"], "'documentId' is no argument; write key=value"],
      [["docs.get_document", "documentId=1", "documentId=2"], "'documentId' stands twice"],
      [["every-thing.get-sum", "a=one", "b=2"], "a=one: must be a number"],
      [["every-thing.get-sum", "--json", "[]"], "--json: must be an object with the tool's arguments"],
      [["every-thing.get-sum", "--json", "{"], "--json: is not JSON"],
      [["every-thing.get-sum", "@none.json"], "none.json: there is no such file"],
      [["every-thing.get-sum", "--json", "{}", "@x"], "all arguments were given twice"],
      [["every-thing.get-sum", "a=@none", "b=1"], "none: there is no such file"],
    ];
    for (const [args, message] of refusals) {
      const { code, stdout, stderr } = await call(args);
      expect({ args, code, stdout }).toEqual({ args, code: 2, stdout: "" });
      expect(stderr).toMatch(/^ptc: .*\n$/);
      expect(stderr).toContain(message);
    }
    expect((await ptc(["runs", "list", "--json"])).stdout).not.toContain("run_id");
  });

  it("shows what a tool takes, from its schema", async () => {
    const { call } = await setUp();
    const { code, stdout } = await call(["every-thing.get-annotated-message", "--help"]);
    expect(code).toBe(0);
    expect(stdout).toContain("Demonstrates how annotations can be used");
    expect(stdout).toMatch(
      /^ {2}messageType=TEXT +required, one of "error", "success", "debug"\. Type of message/m,
    );
    expect(stdout).toMatch(/^ {2}includeImage=true\|false +true or false, by default false\. /m);
    expect(stdout).toContain("  ptc call every-thing.get-annotated-message messageType=TEXT\n");
    expect((await call(["--help"])).stdout).toContain("key=value, read by the tool's schema");
  });

  it("goes through policy and approval, and is audited and archived without secrets, whatever becomes of it", async () => {
    const { project, ptc, call } = await setUp({
      tools: { block: ["mcp__docs__list_documents"] },
      audit: "strict",
    });
    const outcomes: [string[], number, string][] = [
      [
        ["docs.lock_document", "documentId=a"],
        1,
        "'mcp__docs__lock_document' failed: a is locked by somebody else",
      ],
      [
        ["docs.delete_document", "documentId=a"],
        1,
        "nobody can be asked here; run it on a terminal, where a person can be",
      ],
      [["docs.delete_document", "documentId=a", "--approve", "*delete*"], 0, ""],
      [["docs.list_documents"], 1, "'mcp__docs__list_documents' is not available"],
      [["dump.go", "--json", "{}"], 0, ""],
    ];
    for (const [args, code, message] of outcomes) {
      const exited = await call(args);
      expect({ args, code: exited.code }).toEqual({ args, code });
      expect(exited.stderr).toContain(message);
      expect(exited.stdout).not.toContain("keyring-secret-1");
    }
    const runs = JSON.parse((await ptc(["runs", "list", "--json"])).stdout) as {
      run_id: string;
      status: string;
      source: string;
      calls: number;
    }[];
    expect(runs.map(({ status, source, calls }) => [status, source, calls])).toEqual([
      ["ok", "call", 1],
      ["ToolError", "call", 1],
      ["ok", "call", 1],
      ["ApprovalDenied", "call", 1],
      ["ToolError", "call", 1],
    ]);
    const shown = await ptc(["runs", "show", runs[3]?.run_id ?? ""]);
    expect(shown.stdout).toContain("by local through ptc call");
    expect(shown.stdout).toContain('globalThis.result = await callTool("mcp__docs__delete_document", data);');
    const dumped = await ptc(["runs", "show", runs[0]?.run_id ?? "", "--json"]);
    expect(dumped.stdout).toContain("[REDACTED]");
    expect(dumped.stdout).not.toContain("keyring-secret-1");
    const audit = project
      .read(".ptc/audit.jsonl")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(
      audit.filter(({ event }) => event === "call").map(({ tool, decision }) => [tool, decision]),
    ).toEqual([
      ["mcp__docs__lock_document", "allowed"],
      ["mcp__docs__delete_document", "denied"],
      ["mcp__docs__delete_document", "approved-once"],
      ["mcp__docs__list_documents", "unavailable"],
      ["mcp__dump__go", "allowed"],
    ]);
    // Calls that may have an effect are there before they go out, and those that did not go out are not.
    const effects = audit.filter(
      ({ tool, event }) => event === "calling" || (event !== "decision" && /lock|delete/.test(tool ?? "")),
    );
    expect(effects.map(({ event, tool, decision }) => [event, tool.split("__")[2], decision])).toEqual([
      ["calling", "lock_document", "allowed"],
      ["call", "lock_document", "allowed"],
      ["approval", "delete_document", "denied"],
      ["call", "delete_document", "denied"],
      ["approval", "delete_document", "approved"],
      ["calling", "delete_document", "approved-once"],
      ["call", "delete_document", "approved-once"],
      ["calling", "go", "allowed"],
    ]);
    expect((await ptc(["audit", "verify"])).stdout).toMatch(/^\d+ lines in 1 file are as they were written/);
    // Where a line cannot be written, nothing with an effect goes out.
    rmSync(join(project.directory, ".ptc/audit.jsonl"));
    mkdirSync(join(project.directory, ".ptc/audit.jsonl"));
    const kept = await call(["docs.lock_document", "documentId=a"]);
    expect(kept.code).toBe(1);
    expect(kept.stderr).toContain(
      "was not called: ptc.yaml has `audit: strict`, and the audit log cannot be written",
    );
    expect(kept.stderr).not.toContain("is locked by somebody else");
  });

  it("prints the envelope instead where it is asked to, and says why a server cannot be used", async () => {
    const { ptc, call } = await setUp();
    const { stdout } = await call(["docs.get_document", "documentId=7", "--envelope"]);
    expect(Envelope.parse(JSON.parse(stdout))).toMatchObject({
      sandbox_image: null,
      result: { ok: true, data: { words: 3 }, metrics: { tool_calls: 1 } },
    });
    await ptc(["auth", "set", "hub", "--remove"]);
    const failed = await call(["dump.go"]);
    expect(failed).toMatchObject({ code: 1, stdout: "" });
    expect(failed.stderr).toContain(
      "server 'dump' is not started: ptc.yaml:1: servers[2].env.TOKEN: the keyring has no 'hub'; put it in with `ptc auth set hub`",
    );
  });

  it.skipIf(!hasPython)(`asks on a terminal${WITHOUT_PYTHON}`, async () => {
    const { project, env } = await setUp();
    const question = "Allow mcp__docs__delete_document\\? .*: ";
    const screen = await onTerminal(
      project,
      [[question, "y\r"]],
      ["call", "docs.delete_document", "documentId=a"],
      env,
    );
    expect(screen).toContain("ptc asks: you want to call\n│ mcp__docs__delete_document\n");
    expect(screen).toMatch(/\ndeleted a\n$/);
  });
});

const KEY = "the-key-of-the-model";
const ARGUMENTS = JSON.stringify({ value: `Ada, ${KEY}`, schema: { type: "string" } });

describe("extract", () => {
  it("is a tool of ptc's own server where a model is configured: decided about, audited, archived, without its key", async () => {
    const model = await scriptedModel([completion({ value: `Ada ${KEY}` })]);
    const extract = { url: model.url, model: "small", key: KEY };
    const { project, ptc, call, auditLines } = projectInProcess({ extract });
    expect(await ptc(["generate"])).toMatchObject({ code: 0 });
    expect((await ptc(["inspect", "mcp__ptc__extract"])).stdout).toContain("through a model");
    const answered = await call("ptc.extract", "--json", ARGUMENTS);
    expect(answered).toMatchObject({ code: 0, stdout: "Ada [REDACTED]\n" });
    expect(JSON.stringify(model.requests[0]?.body)).not.toContain(KEY);
    const shown = await ptc(["runs", "show", "latest", "--json"]);
    expect(shown.stdout).not.toContain(KEY);
    expect(auditLines().find(({ event }) => event === "call")).toMatchObject({
      server: "ptc",
      tool: "mcp__ptc__extract",
      decision: "allowed",
    });
    for (const policy of [
      { tools: { block: ["mcp__ptc__extract"] } },
      { approvals: { ask: ["mcp__ptc__*"] } },
    ]) {
      project.write("ptc.yaml", { extract, ...policy });
      expect(await call("ptc.extract", "--json", ARGUMENTS)).toMatchObject({ code: 1, stdout: "" });
    }
    expect(model.requests).toHaveLength(1);
    // Where no model is configured, there is nothing of it.
    project.write("ptc.yaml", {});
    expect((await call("ptc.extract", "--json", ARGUMENTS)).stderr).toContain(
      "there is no tool 'ptc.extract'",
    );
  });
});

const text = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };

const LOCAL = [
  {
    name: "word_count",
    description: "Counts the words of a text",
    command: ["wc", "-w"],
    stdin: "{text}",
    inputSchema: text,
    output: "text",
    timeout_seconds: 10,
    annotations: { readOnlyHint: true },
  },
  {
    name: "shape",
    command: [process.execPath, "-e", "process.stdin.pipe(process.stdout)"],
    inputSchema: { type: "object", properties: { side: { type: "integer" } } },
    output: "json",
    outputSchema: { type: "object", properties: { side: { type: "integer" } }, required: ["side"] },
    env: { SHAPE_TOKEN: "a-configured-secret" },
  },
  {
    name: "wipe",
    command: ["echo", "wiped", "--", "{text}"],
    inputSchema: text,
    annotations: { destructiveHint: true },
  },
  {
    name: "tell",
    command: ["sh", "-c", "echo $TELL_KEY >&2; exit 1"],
    inputSchema: {},
    env: { TELL_KEY: "tell-tale-key-1" },
  },
];

const KEYED = {
  name: "keyed",
  command: ["sh", "-c", "echo $KEY"],
  inputSchema: {},
  env: { KEY: { file: "key.txt" } },
};

describe("tools.local", () => {
  it("is a server like any other: generated with types, searched, called, decided about, audited", async () => {
    const { project, ptc, call, auditLines } = projectInProcess({
      languages: ["typescript", "python"],
      tools: { local: LOCAL, block: ["mcp__local__tell*"] },
    });
    expect(await ptc(["generate"])).toMatchObject({ code: 0 });
    const module = project.read("generated/servers/local/index.ts");
    expect(module).toContain("export type WordCountOutput = string;");
    expect(module).toContain("Counts the words of a text");
    expect(project.read("generated/servers/local/__init__.pyi")).toContain("word_count");
    expect((await ptc(["search", "count words"])).stdout).toContain("wordCount  Counts the words");
    expect(await call("local.word_count", "text=one two three")).toEqual({
      code: 0,
      stdout: "3\n",
      stderr: "",
    });
    expect(await call("local.shape", "side=4")).toMatchObject({ stdout: '{"side":4}\n' });
    // Arguments and results are checked against the schemas.
    expect((await call("local.shape", "--json", '{"side": "x"}')).stderr).toContain(
      "was not called: arguments.side must be integer",
    );
    const mismatch =
      "'mcp__local__shape' answered against its own outputSchema: structuredContent.side is missing";
    const warned = await call("local.shape", "--json", "{}");
    expect(warned).toMatchObject({ code: 0, stdout: "{}\n", stderr: `ptc: warning: ${mismatch}\n` });
    const [last] = JSON.parse((await ptc(["runs", "list", "--json"])).stdout);
    expect((await ptc(["runs", "show", last.run_id])).stdout).toContain(`warning: ${mismatch}`);
    expect((await call("local.tell")).stderr).toContain("'mcp__local__tell' is not available");
    expect((await call("local.wipe", "text=-x")).stderr).toContain("'mcp__local__wipe' needs an approval");
    expect(await call("local.wipe", "text=-x", "--approve", "mcp__local__*")).toMatchObject({
      stdout: "wiped -- -x\n",
    });
    expect(
      auditLines()
        .filter(({ event }) => event === "call")
        .map(({ server, tool, decision }) => [server, tool, decision]),
    ).toEqual([
      ["local", "mcp__local__word_count", "allowed"],
      ["local", "mcp__local__shape", "allowed"],
      ["local", "mcp__local__shape", "invalid"],
      ["local", "mcp__local__shape", "allowed"],
      ["local", "mcp__local__tell", "unavailable"],
      ["local", "mcp__local__wipe", "denied"],
      ["local", "mcp__local__wipe", "approved-once"],
    ]);
  });

  it("goes on without the one whose secret cannot be read, until it can", async () => {
    const { project, ptc, call } = projectInProcess({ tools: { local: [...LOCAL, KEYED] } });
    expect(await ptc(["generate"])).toMatchObject({ code: 0 });
    expect(await call("local.word_count", "text=one two")).toMatchObject({ code: 0, stdout: "2\n" });
    const without = await call("local.keyed");
    expect(without).toMatchObject({ code: 1, stdout: "" });
    expect(without.stderr).toMatch(
      /local tool 'keyed' was not run: ptc\.yaml:\d+: tools\.local\[4\]\.env\.KEY: .*key\.txt/,
    );
    project.write("key.txt", "the-key-of-a-file");
    expect(await call("local.keyed")).toMatchObject({
      code: 0,
      stdout: expect.not.stringContaining("the-key-of"),
    });
  });

  it("keeps secrets of a tool to it, follows its definition, and says in one line what is wrong", async () => {
    const { project, ptc, call } = projectInProcess({ tools: { local: LOCAL } });
    expect(await ptc(["generate"])).toMatchObject({ code: 0 });
    const told = await call("local.tell");
    expect(told).toMatchObject({ code: 1, stdout: "" });
    expect(told.stderr).toMatch(/'mcp__local__tell' failed: `sh` ended with exit code 1: \[REDACTED\]/);
    const [first, ...others] = LOCAL;
    const changed = { ...first, description: "Counts words" };
    project.write("ptc.yaml", { tools: { local: [changed, ...others] } });
    expect((await call("local.word_count", "text=x")).stderr).toContain(
      "was changed by its server since its types were generated; run `ptc generate`",
    );
    expect(await ptc(["generate", "--check"])).toMatchObject({ code: 4 });
    project.write("ptc.yaml", { tools: { local: [{ ...first, command: ["nowhere-at-all"] }] } });
    expect(await ptc(["generate"])).toMatchObject({ code: 0 });
    expect(await call("local.word_count", "text=x")).toEqual({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(
        /^ptc: .*'mcp__local__word_count' failed: local tool 'word_count' was not run: there is no command `nowhere-at-all` on the PATH[^\n]*\n$/,
      ),
    });
    project.write("ptc.yaml", { tools: { local: [{ ...first, stdin: "{txt}" }] } });
    expect(await ptc(["generate"])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /^ptc: ptc.yaml:\d+: tools\.local\[0\]\.stdin: `\{txt\}` is none of [^\n]*\n$/,
      ),
    });
  });
});
