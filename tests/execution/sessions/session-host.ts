import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import type { Approver } from "../../../broker/approvals/approvals.ts";
import { loadConfiguration } from "../../../configuration/load.ts";
import { openServing } from "../../../wiring/serving.ts";
import { ProcessEngine } from "../../runner-image/process-engine.ts";

const ECHO = join(import.meta.dirname, "../../fixtures/servers/echo-v1.mjs");

/** In the place of a language: the program does not say it. */
export const UNSAID = "";

/**
 * A host with sessions, whose sandboxes are processes, and whose servers `x` and `out` echo.
 *
 * @param idleMs how long a session may be idle, in the place of the minutes of `sessions`.
 */
export async function openHost(sessions: object = { max: 2 }, more: object = {}, idleMs?: number) {
  const cwd = mkdtempSync(join(tmpdir(), "ptc-sessions-"));
  mkdirSync(join(cwd, "run"), { mode: 0o700 });
  const server = { transport: "stdio", command: process.execPath, args: [ECHO] };
  const settings = {
    servers: [
      { ...server, name: "x", labels: ["secret"] },
      { ...server, name: "out", accepts: ["public"] },
    ],
    languages: ["typescript", "python"],
    sandbox: { warm: 0 },
    sessions,
    ...more,
  };
  writeFileSync(join(cwd, "ptc.yaml"), JSON.stringify(settings));
  const env = { XDG_RUNTIME_DIR: join(cwd, "run"), XDG_STATE_HOME: join(cwd, "state") };
  const loaded = await loadConfiguration({ flag: undefined, env, cwd });
  const configuration = {
    ...loaded,
    ...(loaded.sessions && idleMs !== undefined && { sessions: { ...loaded.sessions, idleMs } }),
  };
  const engine = new ProcessEngine();
  const { host } = await openServing({
    configuration,
    env,
    principal: "local",
    engine: () => engine,
    onWarning: () => {},
  });
  onTestFinished(async () => {
    await host.close();
    expect(engine.live.size).toBe(0);
    rmSync(cwd, { recursive: true });
  });
  await host.warm();
  await expect.poll(async () => (await host.currentTools()).all.names().length).toBeGreaterThan(2);
  const asked: string[] = [];
  const approver: Approver = {
    ask: async ({ tool }) => {
      asked.push(tool);
      return { decision: "run", by: "a person" };
    },
  };
  const run = async (
    session: string,
    code: string,
    { principal = "local", language = "typescript", signal = new AbortController().signal } = {},
  ) => {
    const executed = await host.run({
      program: { code, data: {}, ...(language === UNSAID ? {} : { language }) },
      context: { principal, source: "serve" },
      approver,
      session,
      signal,
    });
    const { result } = executed.envelope;
    const value = result.ok ? result.data : `${result.error.type}: ${result.error.message}`;
    return { value, advice: executed.advice, executed };
  };
  return { host, engine, run, asked, configuration, env };
}
