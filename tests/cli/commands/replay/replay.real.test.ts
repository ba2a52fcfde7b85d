import { describe, expect, it, test } from "vitest";
import { describeSandboxed } from "../../../sandbox/in-sandbox.ts";
import { envelopeOf, fixtureServer, usePtc } from "../../ptc-process.ts";
import { DICE, recorded, replay, SERVERS } from "./recorded.ts";

const newProject = usePtc();
const project = () => newProject({ "ptc.yaml": { servers: SERVERS } });

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
    const { envelope: late } = await made.run(code, ["--timeout", "1"]);
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
});
