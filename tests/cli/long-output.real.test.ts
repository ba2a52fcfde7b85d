import { expect, test } from "vitest";
import { describeSandboxed } from "../sandbox/in-sandbox.ts";
import { usePtc } from "./ptc-process.ts";

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
    const gap = /^\[.*: read_output (\{.*\})\]$/gm;
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
