import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { Envelope } from "../../../protocol/envelope.ts";
import { describeSandboxed } from "../../sandbox/in-sandbox.ts";
import { envelopeOf, usePtc } from "../ptc-process.ts";

const sha256 = (text: string) => `sha256:${createHash("sha256").update(text).digest("hex")}`;

describeSandboxed("ptc run", () => {
  const project = usePtc();

  test("prints one line on stdout, the program's console on stderr, and exits 0", async () => {
    const { code, stderr, envelope } = await project().run(
      "console.log('printed'); console.error('logged'); globalThis.result = { answer: 42 };",
    );
    expect(code).toBe(0);
    expect(stderr).toBe("printed\nlogged\n");
    expect(envelope).toMatchObject({
      tool_name: "execute_program",
      approval_state: "NOT_REQUIRED",
      sandbox_image: expect.stringMatching(/^sha256:/),
      result: { ok: true, data: { answer: 42 }, metrics: { tool_calls: 0, tool_result_bytes: 0 } },
    });
  });

  test("keeps what the program logged, and none of the runtime's own messages", async () => {
    const folder = project();
    const { stderr, envelope } = await folder.run(
      `console.error("one"); process.emitWarning("noise"); console.warn("two");
       process.stderr.write("three\\n"); globalThis.result = 1;`,
    );
    expect(stderr).toContain("noise");
    const { stdout } = await folder.ptc(["runs", "show", envelope.run_id, "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({ console: "", stderr: "one\ntwo\nthree\n" });
  });

  test("has the run in the archive when its line comes, whatever becomes of ptc then", async () => {
    const folder = project({ "p.js": "globalThis.result = 1;" });
    const run = folder.start(["run", "p.js"]);
    const line = await run.line();
    run.kill("SIGKILL");
    await run.exited;
    const shown = await folder.ptc(["runs", "show", Envelope.parse(JSON.parse(line)).run_id, "--json"]);
    expect(shown).toMatchObject({ code: 0 });
  });

  test("gives every run an id of its own, and equal inputs equal digests by RFC 8785", async () => {
    const code = "globalThis.result = data;";
    const folder = project({ "p.js": code, "q.mjs": code, "p.ts": code });
    const data = '{"z": 1.0, "\\u00e9": "\\u20ac", "a": [1e21, null, {"y": 1, "x": 2}]}';
    const canonical = '{"a":[1e+21,null,{"x":2,"y":1}],"z":1,"é":"€"}';
    const envelopes = [];
    for (const file of ["p.js", "q.mjs", "p.ts"]) {
      envelopes.push(envelopeOf(await folder.ptc(["run", file, "--data", data])));
    }
    const [js, mjs, ts] = envelopes;
    const digest = (language: string) =>
      sha256(`{"code":${JSON.stringify(code)},"data":${canonical},"language":"${language}"}`);
    expect(js?.input_digest).toBe(digest("javascript"));
    expect(mjs?.input_digest).toBe(digest("javascript"));
    expect(ts?.input_digest).toBe(digest("typescript"));
    for (const envelope of envelopes) {
      expect(envelope.output_digest).toBe(sha256(`{"data":${canonical},"ok":true}`));
    }
    expect(new Set(envelopes.map(({ run_id }) => run_id)).size).toBe(3);
    expect(new Set(envelopes.map(({ trace_id }) => trace_id)).size).toBe(3);
  });

  test("digests a failure as it is reported", async () => {
    const { code, envelope } = await project().run("throw new Error('no');");
    expect(code).toBe(1);
    const error = { message: "Error: no\n    at program.ts:1:7", retryable: false, type: "ScriptError" };
    expect(envelope.result).toMatchObject({ ok: false, error });
    expect(envelope.output_digest).toBe(sha256(JSON.stringify({ error, ok: false })));
  });

  test("takes TypeScript from stdin", async () => {
    const exited = await project().ptc(["run", "-"], {
      stdin:
        "const n: number = 2;\nenum E { A = 5 }\nglobalThis.result = n + E.A + (await Promise.resolve(0));",
    });
    expect(envelopeOf(exited).result).toMatchObject({ ok: true, data: 7 });
  });

  test("takes data inline, from a file, and without any as an empty object", async () => {
    const folder = project({ "data.json": '{"from": "file"}', "p.ts": "globalThis.result = data;" });
    const dataOf = async (...args: string[]) => envelopeOf(await folder.ptc(["run", "p.ts", ...args])).result;
    expect(await dataOf("--data", '["inline", {"__proto__": 1}]')).toMatchObject({ data: ["inline", {}] });
    expect(await dataOf("--data", "@data.json")).toMatchObject({ data: { from: "file" } });
    expect(await dataOf()).toMatchObject({ ok: true, data: {} });
  });

  test("takes a time limit from --timeout, else from the configuration", async () => {
    const folder = project({ "ptc.yaml": "execution:\n  timeout_seconds: 1\n" });
    const configured = await folder.run("for (;;) {}");
    expect(configured.code).toBe(1);
    expect(configured.envelope.result).toMatchObject({
      error: { type: "Timeout", message: "Execution exceeded 1s limit" },
    });
    const flagged = await folder.run("for (;;) {}", ["--timeout", "0.5"]);
    expect(flagged.envelope.result).toMatchObject({ error: { message: "Execution exceeded 0.5s limit" } });
  });

  test("takes its limits from the file that --config names", async () => {
    const folder = project({ "other.yaml": "execution:\n  max_output_bytes: 2048\n" });
    const { stdout, envelope } = await folder.run("console.log('x'.repeat(100_000));", [
      "--config",
      "other.yaml",
    ]);
    expect(Buffer.byteLength(stdout)).toBeLessThanOrEqual(2_048);
    expect(envelope.result).toMatchObject({
      ok: true,
      data: expect.stringMatching(/x\n\.\.\. \(truncated\)$/),
    });
    const tooLarge = await folder.run("globalThis.result = 'x'.repeat(2_000);", ["--config", "other.yaml"]);
    expect(tooLarge.envelope.result).toMatchObject({ ok: true, data: { truncated: true, bytes: 2_002 } });
    expect(Buffer.byteLength(tooLarge.stdout)).toBeLessThanOrEqual(2_048);
  });

  test("survives a program that prints 100 MB", async () => {
    const { code, stderr, stdout } = await project().run(
      "for (let i = 0; i < 100; i++) console.log('x'.repeat(1_000_000)); globalThis.result = 'done';",
    );
    expect(code).toBe(0);
    expect(stdout).toContain('"data":"done"');
    expect(stderr.endsWith("... (truncated)\n")).toBe(true);
    expect(stderr.length).toBeLessThan(70_000);
  });

  test("takes no more of stderr than is configured, however a program writes to it", async () => {
    const { code, stderr } = await project().run(
      `for (let i = 0; i < 100; i++) {
         console.log("o".repeat(10_000));
         console.error("e".repeat(10_000));
         process.stderr.write("r".repeat(10_000) + "\\n");
       }`,
    );
    expect(code).toBe(0);
    expect(Buffer.byteLength(stderr)).toBeLessThanOrEqual(262_144);
    expect(stderr).toContain("\n... (truncated)\n");
  });

  test.each([
    ["image", "sandbox: { image: ptc-no-such-image }", {}, /ptc image build/],
    [
      "runtime",
      "sandbox: { engine: docker, runtime: no-such-runtime, allow_weaker_isolation: true }",
      {},
      /install .*gVisor/,
    ],
    [
      "runtime but runsc without an engine",
      "sandbox: { engine: runsc, runtime: no-such-runtime, allow_weaker_isolation: true }",
      {},
      /without an engine there is no runtime but runsc/,
    ],
    [
      "runsc",
      "sandbox: { engine: runsc }",
      { PATH: "/nowhere" },
      /there is no runsc on this machine; install gVisor/,
    ],
    [
      "engine",
      "sandbox: { engine: docker }",
      { DOCKER_HOST: "unix:///nonexistent/docker.sock" },
      /which is DOCKER_HOST.* install .*gVisor/,
    ],
    [
      "context",
      "sandbox: { engine: docker }",
      { DOCKER_CONTEXT: "gone" },
      /context 'gone' is not there; `docker context ls`/,
    ],
  ])("exits 3 with what to do where there is no %s", async (_, config, env, advice) => {
    const { code, envelope } = await project({ "ptc.yaml": config }).run("globalThis.result = 1;", [], {
      env,
    });
    expect(code).toBe(3);
    expect(envelope).toMatchObject({
      sandbox_image: null,
      result: { ok: false, error: { type: "SandboxUnavailable", message: expect.stringMatching(advice) } },
    });
  });

  test("leaves nothing behind", async () => {
    const folder = project();
    await folder.run("globalThis.result = 1;");
    await folder.run("throw 1;");
    expect(folder.state()).toEqual([]);
  });
});
