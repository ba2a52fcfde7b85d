import { describe, expect, it } from "vitest";
import { projectInProcess } from "../ptc-in-process.ts";

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
