import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { eventually } from "../../eventually.ts";
import { echoServer, servedProject } from "../../project/served-project.ts";
import { InProcessEngine } from "../../sandbox/in-process-engine.ts";

/** A ptc that serves one server, `x`, which echoes. Programs that pass their checks come to the word "ran". */
async function serve(settings: object) {
  const configured = (more: object) => ({ servers: [echoServer("x")], ...more });
  const { cwd, configure, open } = servedProject(configured(settings));
  const engine = new InProcessEngine(async () => "ran");
  const { run, store, ...opened } = await open({ engine, tools: 2 });
  return {
    ...{ ...opened, engine },
    configure: (more: object) => configure(configured(more)),
    has: (file: string) => existsSync(join(cwd, file)),
    async run(code: string) {
      const { envelope, unchecked } = await run({ program: { code, data: {} } });
      const { record } = await store.read(envelope.run_id);
      return { result: envelope.result, unchecked, language: record.language };
    },
  };
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
