import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { FollowedConfiguration } from "../../../configuration/follow.ts";
import { openServing } from "../../../wiring/serving.ts";
import { MemoryStore } from "../../archive/memory-store.ts";
import { eventually } from "../../eventually.ts";
import { InProcessEngine } from "../../sandbox/in-process-engine.ts";

const ECHO = join(import.meta.dirname, "../../fixtures/servers/echo-v1.mjs");

/** A ptc that serves one server, `x`, which echoes. Programs that pass their checks come to the word "ran". */
async function serve(settings: object) {
  const cwd = mkdtempSync(join(tmpdir(), "ptc-languages-"));
  mkdirSync(join(cwd, "run"), { mode: 0o700 });
  const configure = (more: object) =>
    writeFileSync(
      join(cwd, "ptc.yaml"),
      JSON.stringify({ servers: [{ name: "x", command: process.execPath, args: [ECHO] }], ...more }),
    );
  configure(settings);
  const env = { XDG_RUNTIME_DIR: join(cwd, "run"), XDG_STATE_HOME: join(cwd, "state") };
  const edits: string[] = [];
  const following = await FollowedConfiguration.open({
    env,
    cwd,
    onEdit: (edit) => void edits.push(String(edit)),
  });
  const store = new MemoryStore();
  const engine = new InProcessEngine(async () => "ran");
  const opened = await openServing({
    configuration: following.current,
    env,
    principal: "local",
    following,
    engine: () => engine,
    archive: () => store,
    onWarning: () => {},
  });
  onTestFinished(async () => {
    await opened.host.close();
    rmSync(cwd, { recursive: true });
  });
  await opened.host.warm();
  await expect.poll(async () => (await opened.host.currentTools()).all.names().length).toBe(2);
  const run = async (code: string, said: { language?: string; fileName?: string } = {}) => {
    const { recorded, envelope, unchecked } = await opened.host.run({
      program: { code, data: {}, ...said },
      context: { principal: "local", source: "serve" },
      approver: { ask: async () => ({ decision: "once", by: "a person" }) },
      signal: new AbortController().signal,
    });
    await recorded;
    const { record } = await store.read(envelope.run_id);
    return { result: envelope.result, unchecked, language: record.language };
  };
  return { ...opened, run, configure, edits, engine, has: (file: string) => existsSync(join(cwd, file)) };
}

test("a language that an edit turns on while ptc serves is recognised, has its modules, and is checked", async () => {
  const { run, configure, printers, engine, has, edits } = await serve({ languages: ["typescript"] });
  const wrong = 'from servers.x import echo\n\nfor word in ["a"]:\n    print(echo(txt=word))\n';
  expect(await run("1 + 1")).toMatchObject({ result: { ok: true, data: "ran" }, language: "typescript" });
  expect(await run(wrong)).toMatchObject({ result: { ok: false }, language: "typescript" });

  configure({ languages: ["typescript", "python"] });
  // A check that the machine is too busy for lets a program run, and says so.
  const refused = await eventually(async () => {
    const outcome = await run(wrong);
    expect(outcome.unchecked).toBeUndefined();
    return outcome;
  });
  expect(refused).toMatchObject({ result: { ok: false }, language: "python" });
  const error = refused.result.ok ? undefined : refused.result.error;
  expect(error).toEqual({
    type: "TypeCheckError",
    message:
      "program.py:4:16: 'txt' is not a parameter of echo; did you mean 'text'?\n    print(echo(txt=word))\nexpected: echo(*, text: str) -> Any",
    retryable: false,
  });
  expect(edits).toEqual(["ptc.yaml was edited, and is in force"]);
  expect(has("generated/servers/x/__init__.pyi")).toBe(true);
  expect(printers().map(({ language }) => language)).toEqual(["typescript", "python"]);
  expect(await run("import servers.x\nservers.x.echo(text='a')")).toMatchObject({
    result: { ok: true, data: "ran" },
  });
  expect(engine.requests.map(({ runner }) => runner)).toContain("python");
  expect(await run("const x: number = 1;\nconsole.log(x);")).toMatchObject({ language: "typescript" });

  configure({ languages: ["python"] });
  expect(await run("1 + 1")).toMatchObject({ language: "python" });
});
