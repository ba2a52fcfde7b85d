import { expect, onTestFinished } from "vitest";
import type { Approver } from "../../../broker/approvals/approvals.ts";
import type { Identified } from "../../../protocol/run-context.ts";
import { echoServer, servedProject } from "../../project/served-project.ts";
import { ProcessEngine } from "../../runner-image/process-engine.ts";

/** In the place of a language: the program does not say it. */
export const UNSAID = "";

/**
 * A host with sessions, whose sandboxes are processes, and whose servers `x` and `out` echo.
 *
 * @param idleMs how long a session may be idle, in the place of the minutes of `sessions`.
 */
export async function openHost(sessions: object = { max: 2 }, more: object = {}, idleMs?: number) {
  const { env, open } = servedProject({
    servers: [echoServer("x", { labels: ["secret"] }), echoServer("out", { accepts: ["public"] })],
    languages: ["typescript", "python"],
    sandbox: { warm: 0 },
    sessions,
    ...more,
  });
  const engine = new ProcessEngine();
  const opened = await open({ engine, tools: 4, archive: undefined, idleMs });
  const { host } = opened;
  const { configuration } = host;
  onTestFinished(async () => {
    await host.close();
    expect(engine.live.size).toBe(0);
  });
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
    {
      principal = "local",
      language = "typescript",
      signal = new AbortController().signal,
      ...groups
    }: Partial<Identified & { language: string; signal: AbortSignal }> = {},
  ) => {
    const executed = await host.run({
      program: { code, data: {}, ...(language === UNSAID ? {} : { language }) },
      context: { principal, ...groups, source: "serve" },
      ...{ approver, session, signal },
    });
    const { result } = executed.envelope;
    const value = result.ok ? result.data : `${result.error.type}: ${result.error.message}`;
    return { value, advice: executed.advice, executed };
  };
  return { host, engine, run, asked, configuration, env };
}
