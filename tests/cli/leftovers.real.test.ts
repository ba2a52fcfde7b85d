import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { DockerEngine } from "../../sandbox/docker/docker-engine.ts";
import { startTimeOf } from "../../system/process-identity.ts";
import { containersOf, lookingEngine } from "../sandbox/containers-of.ts";
import { describeSandboxed } from "../sandbox/in-sandbox.ts";
import { TESTED_ENGINE } from "../sandbox/tested-engine.ts";
import { envelopeOf, fixtureServer, type Project, type PtcProcess, usePtc } from "./ptc-process.ts";

const project = usePtc();

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
  for (const id of await containersOf(ptc.pid)) await lookingEngine.remove(id);
}

async function runningOf(pid: number): Promise<string[]> {
  const owned = await containersOf(pid);
  if (TESTED_ENGINE !== "docker") return owned;
  const running = new Set((await new DockerEngine().docker.listContainers()).map(({ Id }) => Id));
  return owned.filter((id) => running.has(id));
}

/** Waits until nothing is left of the containers of a ptc, which no other ptc clears meanwhile. */
async function gone(pid: number): Promise<void> {
  while ((await containersOf(pid)).length > 0) await delay(50);
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

  test("by SIGKILL leaves what the next run clears: sockets and the server's processes", async () => {
    const { folder, ptc, pids } = await startStubborn();
    ptc.kill("SIGKILL");
    await ptc.exited;
    expect(alive(pids)).toEqual(pids);
    expect(folder.state()).toHaveLength(1);
    const next = await folder.run("globalThis.result = 1;");
    expect(next.envelope.result).toMatchObject({ ok: true, data: 1 });
    expect(await containersOf(ptc.pid)).toEqual([]);
    expect(alive(pids)).toEqual([]);
    expect(folder.state()).toEqual([]);
  });

  test.each([
    ["is busy", "console.error('ready'); for (;;) {}"],
    ["waits", "console.error('ready'); await new Promise((resolve) => setTimeout(resolve, 3_600_000));"],
    [
      "ignores signals, will not exit and has cut itself off",
      `import { closeSync, readdirSync, readlinkSync } from "node:fs";
       for (const name of ["SIGTERM", "SIGINT", "SIGHUP", "SIGPIPE"]) process.on(name, () => {});
       process.exit = process.reallyExit = process.abort = process.kill = () => {};
       for (const fd of readdirSync("/proc/self/fd")) {
         try { if (Number(fd) > 2 && readlinkSync("/proc/self/fd/" + fd).startsWith("socket:")) closeSync(Number(fd)); } catch {}
       }
       setInterval(() => {}, 1_000);
       console.error("ready");`,
    ],
    [
      "tries to stop whatever there is besides it",
      `import { readdirSync } from "node:fs";
       const own = new Set(readdirSync("/proc/self/task"));
       for (let pid = 1; pid < 32; pid++) {
         if (own.has(String(pid))) continue;
         for (const signal of ["SIGSTOP", "SIGTSTP", "SIGKILL"]) try { process.kill(pid, signal); } catch {}
       }
       try { process.kill(-1, "SIGSTOP"); } catch {}
       setInterval(() => {}, 1_000);
       console.error("ready");`,
    ],
    [
      "has children that go on without it",
      `import { spawn } from "node:child_process";
       import { once } from "node:events";
       for (let i = 0; i < 2; i++) {
         const child = spawn(process.execPath, ["-e", "console.log(1); for (;;) {}"], { detached: true, stdio: ["ignore", "pipe", "ignore"] });
         await once(child.stdout, "data");
         child.unref();
       }
       setInterval(() => {}, 1_000);
       console.error("ready");`,
    ],
  ])("by SIGKILL takes its sandbox with it, though the program in it %s", async (_, code) => {
    const folder = project({ "p.js": code });
    const ptc = folder.start(["run", "p.js"]);
    onTestFinished(() => clearUp(ptc, []));
    await ptc.printed(/^ready$/m);
    expect(await containersOf(ptc.pid)).toHaveLength(1);
    ptc.kill("SIGKILL");
    await ptc.exited;
    await gone(ptc.pid);
  });

  test("by SIGKILL takes the sandbox with it that waits for a program", async () => {
    const folder = project({ "ptc.yaml": { sandbox: { warm: 2 } } });
    const { client, pid } = await folder.serve();
    await client.listTools();
    // One that was created and never started is nobody's to end: the next ptc clears it.
    while ((await runningOf(pid)).length < 1) await delay(50);
    process.kill(pid, "SIGKILL");
    await gone(pid);
    await client.close();
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
