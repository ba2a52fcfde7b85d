import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { examineQuickly } from "../../../cli/doctor/examine.ts";
import { InProcessEngine } from "../../sandbox/in-process-engine.ts";

/** What is wrong with a folder that has a configuration of that text. */
async function find(
  text: string | undefined,
  engine = new InProcessEngine(),
  more: Record<string, string> = {},
) {
  const cwd = mkdtempSync(join(tmpdir(), "ptc-quickly-"));
  onTestFinished(() => rmSync(cwd, { recursive: true }));
  mkdirSync(join(cwd, "run"), { mode: 0o700 });
  mkdirSync(join(cwd, "generated"));
  if (text !== undefined) writeFileSync(join(cwd, "ptc.yaml"), text);
  for (const [file, content] of Object.entries(more)) writeFileSync(join(cwd, file), content);
  return examineQuickly({ env: { XDG_RUNTIME_DIR: join(cwd, "run") }, cwd, engine: () => engine });
}

test("nothing is wrong with a folder that uses no ptc", async () => {
  expect(await find(undefined)).toBeUndefined();
});

const LOCAL = "servers: [{ name: x, command: never-started }]";

test.each([
  ["servers: 1", "configuration", /^ptc\.yaml:1: .*servers/],
  ["servers: []", "configuration", /^ptc\.yaml names no servers/],
  [LOCAL, "servers", /^the tools of 'x' are not known yet; run `ptc generate`$/],
])("with %j the first thing that is wrong is in the %s", async (text, area, detail) => {
  expect(await find(text)).toMatchObject({ area, ok: false, detail: expect.stringMatching(detail) });
});

test("modules that were edited are told, and nothing is started to find that out", async () => {
  const engine = new InProcessEngine();
  const found = await find(LOCAL, engine, { "generated/catalog.json": "{" });
  expect(found).toMatchObject({ area: "servers", detail: expect.stringContaining("catalog.json") });
  expect(engine.live.size).toBe(0);
});

test("of an engine the runtime and the image are asked for", async () => {
  const off = "servers: [{ name: x, command: y, env: { A: '${UNSET_VALUE}' } }]";
  expect(await find(off)).toMatchObject({ area: "sandbox", part: "gvisor" });
  const engine = new InProcessEngine();
  const describe = engine.describe;
  engine.describe = async () => ({
    ...(await describe()),
    runtimes: new Map([["runsc", { path: "/nowhere/runsc" }]]),
  });
  expect(await find(off, engine)).toBeUndefined();
  Object.assign(engine, { findImage: async () => undefined });
  expect(await find(off, engine)).toMatchObject({
    area: "sandbox",
    detail: "there is no image 'ptc-runner'; run `ptc image build`",
  });
});
