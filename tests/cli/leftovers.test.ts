import { expect, onTestFinished, test } from "vitest";
import { DockerEngine } from "../../sandbox/docker-engine.ts";
import { OWNER_LABEL } from "../../sandbox/leftovers.ts";
import { startTimeOf } from "../../sandbox/process-identity.ts";
import { describeSandboxed } from "../sandbox/in-sandbox.ts";
import { envelopeOf, fixtureServer, type Project, type PtcProcess, usePtc } from "./ptc-process.ts";

const project = usePtc();
const engine = new DockerEngine();

/** Calls a server that ignores every request to end, and so does its child; prints their pids and never ends. */
const STUBBORN = "console.log(JSON.stringify(await mcp__x__go({}))); for (;;) {}";

async function startStubborn(): Promise<{ folder: Project; ptc: PtcProcess; pids: number[] }> {
  const folder = project({ "ptc.yaml": { servers: [fixtureServer("x", "stubborn.mjs")] }, "p.ts": STUBBORN });
  await folder.generate();
  const ptc = folder.start(["run", "p.ts"]);
  const [line] = await ptc.printed(/^\[\d+,\d+\]$/m);
  const pids = JSON.parse(line) as number[];
  onTestFinished(() => clearUp(ptc, pids));
  return { folder, ptc, pids };
}

/** Ends what a test that failed has left. */
async function clearUp(ptc: PtcProcess, pids: number[]): Promise<void> {
  ptc.kill("SIGKILL");
  await ptc.exited;
  for (const pid of alive(pids)) process.kill(pid, "SIGKILL");
  for (const id of await containersOf(ptc.pid)) await engine.remove(id);
}

async function containersOf(pid: number): Promise<string[]> {
  const containers = await engine.listLabelled(OWNER_LABEL);
  return containers
    .filter(({ labels }) => labels[OWNER_LABEL]?.split(".")[1] === String(pid))
    .map(({ id }) => id);
}

const alive = (pids: number[]) => pids.filter((pid) => startTimeOf(pid) !== undefined);

describeSandboxed("ptc that is ended during a run", () => {
  test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
    "by %s reports Cancelled and leaves nothing behind",
    async (signal) => {
      const { folder, ptc, pids } = await startStubborn();
      expect(await containersOf(ptc.pid)).toHaveLength(1);
      expect(alive(pids)).toEqual(pids);
      ptc.kill(signal);
      const exited = await ptc.exited;
      expect(exited.code).toBe(1);
      expect(envelopeOf(exited).result).toMatchObject({ ok: false, error: { type: "Cancelled" } });
      expect(await containersOf(ptc.pid)).toEqual([]);
      expect(alive(pids)).toEqual([]);
      expect(folder.state()).toEqual([]);
    },
  );

  test("by SIGKILL leaves what the next run clears: container, sockets and the server's processes", async () => {
    const { folder, ptc, pids } = await startStubborn();
    ptc.kill("SIGKILL");
    await ptc.exited;
    expect(await containersOf(ptc.pid)).toHaveLength(1);
    expect(alive(pids)).toEqual(pids);
    expect(folder.state()).toHaveLength(1);
    const next = await folder.run("globalThis.result = 1;");
    expect(next.envelope.result).toMatchObject({ ok: true, data: 1 });
    expect(await containersOf(ptc.pid)).toEqual([]);
    expect(alive(pids)).toEqual([]);
    expect(folder.state()).toEqual([]);
  });

  test("leaves alone what belongs to a ptc that is alive", async () => {
    const { folder, ptc, pids } = await startStubborn();
    await folder.run("globalThis.result = 1;");
    expect(await containersOf(ptc.pid)).toHaveLength(1);
    expect(alive(pids)).toEqual(pids);
    expect(folder.state()).toHaveLength(1);
    ptc.kill("SIGINT");
    await ptc.exited;
  });
});
