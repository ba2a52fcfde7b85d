import { expect, test } from "vitest";
import { describeSandboxed } from "../sandbox/in-sandbox.ts";
import { useHosts } from "./background/hosted-project.ts";
import { envelopeOf, fixtureServer, usePtc } from "./ptc-process.ts";

const newProject = usePtc();
const hosted = useHosts();

const CONFIG = {
  sessions: { max: 1 },
  languages: ["typescript", "python"],
  servers: [fixtureServer("desk", "echo-v1.mjs")],
  sandbox: { warm: 1 },
};

const FIRST = 'const asked = await mcp__desk__echo({ text: "kept" }); globalThis.result = asked;';
const SECOND = "globalThis.result = [asked.toUpperCase(), asked.length];";

describeSandboxed("a session", () => {
  test("lasts from one ptc run to the next in the background host, is listed, replayed and ended", async () => {
    const own = hosted({ "ptc.yaml": CONFIG, "first.ts": FIRST, "second.ts": SECOND });
    await own.ptc(["generate"]);
    const first = await own.ptc(["run", "first.ts", "--session", "report"]);
    expect(envelopeOf(first).result).toMatchObject({ ok: true, data: "kept" });
    const second = await own.ptc(["run", "second.ts", "--session", "report"]);
    expect(envelopeOf(second).result).toMatchObject({ ok: true, data: ["KEPT", 4] });
    const listed = await own.ptc(["sessions", "list", "--json"]);
    expect(JSON.parse(listed.stdout)).toMatchObject([{ name: "report", programs: 2 }]);
    const replayed = await own.ptc(["replay", envelopeOf(second).run_id]);
    expect(replayed).toMatchObject({ code: 0, stderr: expect.stringContaining("same: ") });

    const audited = await own.ptc(["audit", "--run", envelopeOf(second).run_id, "--event", "run", "--json"]);
    expect(JSON.parse(audited.stdout)).toMatchObject({ outcome: "ok", session_position: 2 });
    expect(JSON.parse(audited.stdout).session).toMatch(/./);

    const full = await own.ptc(["run", "first.ts", "--session", "other"]);
    expect(envelopeOf(full).result).toMatchObject({ ok: false, error: { type: "SandboxUnavailable" } });
    expect(await own.ptc(["sessions", "end", "report"])).toMatchObject({ code: 0 });
    const after = await own.ptc(["run", "second.ts", "--session", "report"]);
    expect(envelopeOf(after).result).toMatchObject({ ok: false });
    expect(after.stderr).toContain("the one before ended by `ptc sessions end`");
    await own.ptc(["run", "first.ts", "--session", "report"]);
    own.project.write("ptc.yaml", { ...CONFIG, execution: { timeout_seconds: 60 } });
    const edited = await own.ptc(["run", "first.ts", "--session", "report"]);
    expect(edited.stderr).toContain(
      "session 'report' is a new one: the one before ended with the background host, which was started with another configuration",
    );
  });

  test("is what execute_program names in ptc serve, and one in another language is refused", async () => {
    const project = newProject({ "ptc.yaml": CONFIG });
    await project.generate();
    const { client } = await project.serve();
    const run = async (code: string, more: Record<string, unknown> = {}) => {
      const { content } = await client.callTool({
        name: "execute_program",
        arguments: { code, session: "notes", ...more },
      });
      return (content as { text: string }[]).map(({ text }) => text).join("\n");
    };
    try {
      expect(await run(FIRST)).toContain("kept");
      expect(await run(SECOND)).toContain('["KEPT",4]');
      const listed = await project.start(["sessions", "list", "--json"]).exited;
      expect(JSON.parse(listed.stdout)).toMatchObject([{ name: "notes", programs: 2, through: "serve" }]);
      expect(await run(SECOND, { session: undefined })).toContain("asked");
      expect(await run("result = 1", { language: "python" })).toContain("give another name");
      expect(await project.start(["sessions", "end", "notes"]).exited).toMatchObject({ code: 0 });
      expect(await project.start(["sessions", "end", "notes"]).exited).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("there is no session 'notes'"),
      });
      expect(await run(FIRST)).toContain("ended by `ptc sessions end`");
    } finally {
      await client.close();
    }
  });
});
