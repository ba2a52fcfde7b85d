import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeSandboxed } from "../sandbox/in-sandbox.ts";
import { envelopeOf, usePtc } from "./ptc-process.ts";

const COUNT = 400_000;
const MANY = {
  "many.ts": `globalThis.result = Array.from({ length: ${COUNT} }, (_, i) => i);`,
  "many.py": `list(range(${COUNT}))`,
};
const LARGE = {
  "large.ts": 'globalThis.result = Array.from({ length: 200_000 }, (_, i) => "row é " + i);',
  "large.py": '[f"row é {i}" for i in range(200_000)]',
};

describeSandboxed("ptc run --out", () => {
  test.each(["ts", "py"] as const)(
    "writes a result of more values and bytes than others may have, of which the envelope has the ends; a replay agrees (%s)",
    async (suffix) => {
      const project = newProject({ "ptc.yaml": { languages: ["typescript", "python"] }, ...MANY, ...LARGE });
      const refused = envelopeOf(await project.ptc(["run", `many.${suffix}`]));
      expect(refused.result).toMatchObject({
        error: {
          type: "OutputLimit",
          message: expect.stringMatching(/more than 250000 values; return less: .* emit\(/),
        },
      });
      const run = envelopeOf(await project.ptc(["run", `many.${suffix}`, "--out", "many.json"]));
      expect(run.result).toMatchObject({
        ok: true,
        data: { truncated: true, head: expect.stringMatching(/^\[0,1,2,/) },
      });
      const written: unknown = JSON.parse(readFileSync(join(project.directory, "many.json"), "utf8"));
      expect(written).toHaveLength(COUNT);
      expect(await project.ptc(["replay", run.run_id])).toMatchObject({ code: 0 });
      await project.ptc(["run", `large.${suffix}`, "--out", "large.json"]);
      const rows: string[] = JSON.parse(readFileSync(join(project.directory, "large.json"), "utf8"));
      expect(rows.at(-1)).toBe("row é 199999");
    },
  );

  test("writes a text as it is, in the place of what was there, and nothing where the program fails", async () => {
    const project = newProject({
      "text.ts": 'globalThis.result = "a,b\\n1,2\\n";',
      "printed.ts": 'console.log("printed"); console.log("é");',
      "fails.ts": 'throw new Error("no");',
    });
    const read = (file: string) => readFileSync(join(project.directory, file), "utf8");
    await project.ptc(["run", "text.ts", "--out", "out.csv"]);
    expect(read("out.csv")).toBe("a,b\n1,2\n");
    chmodSync(join(project.directory, "out.csv"), 0o600);
    await project.ptc(["run", "printed.ts", "--out", "out.csv"]);
    expect(read("out.csv")).toBe("printed\né\n");
    expect(statSync(join(project.directory, "out.csv")).mode & 0o777).toBe(0o600);
    expect(await project.ptc(["run", "fails.ts", "--out", "out.csv"])).toMatchObject({ code: 1 });
    expect(read("out.csv")).toBe("printed\né\n");
    expect(readdirSync(project.directory).filter((name) => name.startsWith(".out"))).toEqual([]);
  });

  test("refuses in one line, before anything runs, what it cannot write or would lose", async () => {
    const project = newProject({ "text.ts": 'globalThis.result = "lost";', "data.csv": "kept" });
    mkdirSync(join(project.directory, "folder"));
    for (const [args, message] of [
      [["--out", "text.ts"], "--out: text.ts: the run reads this file; name another"],
      [
        ["--file", "data.csv", "--out", "./data.csv"],
        "--out: ./data.csv: the run reads this file; name another",
      ],
      [["--out", "folder"], "--out: folder: is there, and is no plain file; name another"],
      [["--out", "nowhere/out.json"], "--out: nowhere/out.json: there is no such folder"],
    ] as const)
      expect(await project.ptc(["run", "text.ts", ...args])).toEqual({
        code: 2,
        stdout: "",
        stderr: `ptc: ${message}\n`,
      });
    expect(readFileSync(join(project.directory, "text.ts"), "utf8")).toContain("lost");
  });
});

const newProject = usePtc();

const SECRET = "correct-horse-battery-staple";
const LINES = 20_000;
/** Prints about 220 KB, with a secret in the middle of what is not shown. */
const PRINTS = `for (let i = 0; i < ${LINES}; i++) console.log("line", i, i === 10_000 ? "needle " + data.secret : "");`;
/** Returns about 210 KB. */
const RETURNS = "globalThis.result = Array.from({ length: 20_000 }, (_, i) => ({ i }));";

function secretive() {
  return newProject({
    "ptc.yaml": { servers: [{ name: "s", transport: "stdio", command: "x", env: { KEY: SECRET } }] },
  });
}

describeSandboxed("output that is too long to show", () => {
  test("has head and tail in the envelope, and all of it in the archive, without secrets; a replay agrees", async () => {
    const project = secretive();
    const flags = ["--data", JSON.stringify({ secret: SECRET })];
    const { envelope, stdout } = await project.run(PRINTS, flags);
    expect(Buffer.byteLength(stdout)).toBeLessThanOrEqual(65_536);
    expect(envelope.result).toMatchObject({
      ok: true,
      data: expect.stringMatching(
        /^line 0 \n[\s\S]*\n\[\d+ of \d+ characters left out; ptc runs show RUN --output prints all; sha256:[0-9a-f]{64}\]\n[\s\S]*line 19999 \n\.\.\. \(truncated\)$/,
      ),
    });
    const whole = await project.ptc(["runs", "show", envelope.run_id, "--output"]);
    expect(whole.stdout.trimEnd().split("\n")).toHaveLength(LINES);
    expect(whole.stdout).toMatch(/\nline 10000 needle \[?[^\n]*redacted/i);
    expect(whole.stdout).not.toContain(SECRET);
    const replayed = await project.ptc(["replay", envelope.run_id]);
    expect(replayed).toMatchObject({ code: 0, stderr: expect.stringContaining("ptc: same") });
  });

  test("is a bounded form of a value, which is kept whole; a replay agrees, and tells another value", async () => {
    const project = newProject();
    const { envelope, code } = await project.run(RETURNS);
    expect(code).toBe(0);
    expect(envelope.result).toMatchObject({
      ok: true,
      data: { truncated: true, bytes: 228_891, head: expect.stringMatching(/^\[\{"i":0\},/) },
    });
    const whole = await project.ptc(["runs", "show", envelope.run_id, "--output"]);
    expect(JSON.parse(whole.stdout)).toHaveLength(20_000);
    const json = JSON.parse((await project.ptc(["runs", "show", envelope.run_id, "--json"])).stdout);
    expect(json.whole_result).toHaveLength(20_000);
    expect(await project.ptc(["replay", envelope.run_id])).toMatchObject({ code: 0 });
    const other = await project.run(RETURNS.replace("{ i }", "i === 10_000 ? { j: i } : { i }"));
    expect(other.envelope.output_digest).not.toBe(envelope.output_digest);
  });

  test("is more than the archive keeps only where it says how much that is", async () => {
    const { envelope, code } = await newProject().run("globalThis.result = 'x'.repeat(5_000_000);");
    expect(code).toBe(1);
    expect(envelope.result).toMatchObject({
      error: { type: "OutputLimit", message: expect.stringContaining("at most 4193280 fit") },
    });
  });

  test("is shown to a model by head and tail, and read on and searched without another run", async () => {
    const project = newProject();
    const { client } = await project.serve();
    const call = async (name: string, args: object) => {
      const reply = await client.callTool({ name, arguments: { ...args } });
      return (reply.content as { text: string }[])[0]?.text ?? "";
    };
    const png = "'iVBORw0KGgo' + 'A'.repeat(40_000)";
    const text = await call("execute_program", {
      code: `console.log({ type: "image", data: ${png} }); ${PRINTS} console.error("late"); ${RETURNS}`,
    });
    const gap = /^\[.*: read_output (\{[^}]*\}).*\]$/gm;
    expect(Buffer.byteLength(text)).toBeLessThan(17_000);
    expect(text).toMatch(
      /^\[Script executed successfully\]\n\{ type: 'image', data: '\[image\/png, 30 KB\]' \}\n/,
    );
    expect(text).toMatch(/\nline 19999 \n\.\.\. \(truncated\)\n\[the result is 228891 bytes of JSON, /);
    const result = JSON.parse(text.split("\n").find((line) => line.startsWith('{"truncated"')) ?? "");
    expect(result).toMatchObject({
      head: expect.stringMatching(/^\[\{"i":0\},/),
      tail: expect.stringMatching(/\{"i":19999\}\]$/),
    });
    expect(text).toMatch(/\n\[stderr\] late$/);
    const [console, value] = [...text.matchAll(gap)].map(([, args = ""]) => JSON.parse(args));
    const [shown = ""] = text.split("\n[");
    const page = await call("read_output", console);
    const [next = ""] = page.split("\n");
    expect(shown).not.toContain(next);
    expect(page).toMatch(/^line \d+ \n[\s\S]*\n\[characters \d+ to \d+ of \d+; next offset \d+\]$/);
    expect(await call("read_output", value)).toMatch(/^.{0,40}\{"i":\d+\},\{"i":\d+\}/);
    expect(await call("read_output", { run: console.run, grep: "NEEDLE" })).toMatch(
      /^\d+: line 10000 needle undefined\n\[the end\]$/,
    );
    const again = await newServed(project);
    await expect
      .poll(() => again("read_output", { run: console.run, grep: '"i":777}' }))
      .toMatch(/^\d+: .*\{"i":777\}.*\n\[the end\]$/);
    expect(await again("read_output", { run: "nothing" })).toMatch(/^there is no run nothing; [^\n]*$/);
  });
});

/** Calls tools of another ptc, which has the runs of the first one from the archive alone. */
async function newServed(project: ReturnType<typeof newProject>) {
  const { client } = await project.serve();
  return async (name: string, args: object) => {
    const reply = await client.callTool({ name, arguments: { ...args } });
    return (reply.content as { text: string }[])[0]?.text ?? "";
  };
}

const EVERYTHING = createRequire(import.meta.url).resolve(
  "@modelcontextprotocol/server-everything/dist/index.js",
);
const CONFIGURATION = {
  servers: [{ name: "everything", command: process.execPath, args: [EVERYTHING] }],
  tools: { block: ["mcp__everything__prompts/list"] },
};
/** Uses what a real server has beside tools that answer text, and hands it on. */
const PROGRAM = `import * as everything from "./servers/everything/index.js";
const blocks = await everything.getTinyImage({});
emit(blocks);
const bytes = bytesOf(blocks.find((block: ContentBlock) => block.type === "image"));
emit(bytes, { mimeType: "image/png", name: "tiny.png" });
const asked = await everything.triggerElicitationRequest.result({});
const { resources } = await everything.resources.list();
const read = await everything.resources.read("demo://resource/dynamic/blob/1");
const prompt = await everything.prompts.get("args-prompt", { city: "Rome" });
globalThis.result = {
  start: [...bytes.slice(0, 4)],
  asked: asked.error?.message,
  listed: resources.some(({ uri }) => uri.endsWith("/features.md")),
  resource: new TextDecoder().decode(bytesOf(read.contents[0]!)),
  prompt: prompt.messages[0]?.content.text,
  blocked: await everything.prompts.list().catch((error) => error.message),
};`;

describeSandboxed("what a real server sends beyond text", () => {
  const project = usePtc();

  test("reaches the program as bytes, the client as blocks, the archive, and a replay that emits the same", async () => {
    const folder = project({ "ptc.yaml": CONFIGURATION });
    await folder.generate();
    const { envelope, stdout, stderr } = await folder.run(PROGRAM, ["--emit-to", "out"]);
    expect(envelope.result).toMatchObject({
      ok: true,
      data: {
        start: [0x89, 0x50, 0x4e, 0x47],
        asked: expect.stringContaining("server 'everything' asks for an input in the middle of the call"),
        listed: true,
        resource: expect.stringContaining("Resource 1"),
        prompt: "What's weather in Rome?",
        blocked: "'mcp__everything__prompts/list' is not available in execute_program",
      },
    });
    expect(stdout.trim().split("\n")).toHaveLength(1);
    expect(stderr).toContain("ptc: emitted: tiny.png, image/png, 4.0 kB, to ");
    expect(folder.read("out/tiny.png").length).toBeGreaterThan(1_000);
    const shown = await folder.ptc(["runs", "show", envelope.run_id, "--json"]);
    const { emitted } = JSON.parse(shown.stdout) as { emitted: { type: string }[] };
    expect(emitted.map(({ type }) => type)).toEqual(["text", "image", "text", "resource"]);
    const page = await folder.ptc(["runs", "show", envelope.run_id, "--html", "-"]);
    expect(page).toMatchObject({ code: 0 });
    const replayed = await folder.ptc(["replay", envelope.run_id]);
    expect(replayed).toMatchObject({ code: 0, stderr: expect.stringContaining("ptc: same: 6 calls") });
    // Served, the same program hands the blocks to the client beside its text.
    const { client } = await folder.serve();
    const reply = await client.callTool({ name: "execute_program", arguments: { code: PROGRAM } });
    expect((reply.content as { type: string }[]).map(({ type }) => type)).toEqual([
      "text",
      ...emitted.map(({ type }) => type),
    ]);
    await client.close();
  });
});
