import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { vi } from "vitest";
import { parse } from "yaml";
import { clock } from "../../../../base/clock.ts";
import { Conversation } from "../../../../broker/flow/conversation.ts";
import { FollowedConfiguration } from "../../../../configuration/follow.ts";
import type { ObservedCall } from "../../../../execution/call-log.ts";
import { composition } from "../../../../project/composition.ts";
import { Project } from "../../../../project/open-project.ts";
import { openServing } from "../../../../project/serving.ts";
import type { SandboxOutput } from "../../../../sandbox/sandbox.ts";
import type { SandboxRequest } from "../../../../sandbox/sandbox-engine.ts";
import { configuredCredentials } from "../../../../upstream/authorization/credentials.ts";
import { UpstreamPool } from "../../../../upstream/upstream-pool.ts";
import { MemoryStore } from "../../../archive/memory-store.ts";
import { ProcessEngine } from "../../../runner-image/process-engine.ts";
import { InProcessEngine } from "../../../sandbox/in-process-engine.ts";
import { FakeConnection } from "../../../upstream/fake-connection.ts";
import { define, SERVERS, type World } from "./world.ts";

const EXAMPLES = join(import.meta.dirname, "../../../../examples/policy");

/** One run of a scenario: a program, or one call without a program. */
export interface ScenarioRun {
  readonly program?: string;
  readonly language?: "javascript" | "python";
  readonly call?: { readonly tool: string; readonly arguments: unknown };
  readonly data?: unknown;
  readonly session?: string;
  /** What the user says before it. */
  readonly said?: string;
  /** Whether it is in another conversation. */
  readonly isNew?: boolean;
}

/** What is done to a server. */
interface Effect {
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

export interface Played {
  /** Calls that reached a server and change something. */
  readonly effects: readonly Effect[];
  readonly calls: readonly ObservedCall[];
  /** The tools whose calls a person was asked about. */
  readonly asked: readonly { tool: string; origins: readonly string[]; reason: string | undefined }[];
  /** Labels of the conversation at the end. */
  readonly labels: readonly string[];
  /** What each run came to. */
  readonly values: readonly unknown[];
}

/** Runs programs in JavaScript as functions of this process, and those in Python in a runner of their own. */
class ScenarioEngine extends InProcessEngine {
  readonly #python = new ProcessEngine();

  override async start(request: SandboxRequest, output: SandboxOutput) {
    return request.runner === "python" ? this.#python.start(request, output) : super.start(request, output);
  }
}

class ToolError extends Error {}
const AsyncFunction = (async () => {}).constructor as new (
  ...words: string[]
) => (...args: unknown[]) => Promise<unknown>;

/**
 * A ptc with one of the examples of policies, whose servers are in memory, for many scenarios one after the other.
 *
 * @param policy the name of an example; without it, nothing is labelled.
 * @param preset of the labels.
 */
export async function openRig(policy: string | undefined, approves = false, preset?: "careful") {
  const cwd = mkdtempSync(join(tmpdir(), "ptc-scenarios-"));
  mkdirSync(join(cwd, "run"), { mode: 0o700 });
  const given = policy === undefined ? {} : parse(readFileSync(join(EXAMPLES, policy, "ptc.yaml"), "utf8"));
  const folder = policy === undefined ? undefined : join(EXAMPLES, policy);
  for (const file of folder === undefined ? [] : readdirSync(folder))
    if (!file.endsWith(".yaml")) writeFileSync(join(cwd, file), readFileSync(join(folder ?? "", file)));
  const named = new Map(((given.servers ?? []) as { name: string }[]).map((server) => [server.name, server]));
  const servers = Object.keys(SERVERS)
    .filter((name) => name !== "ptc")
    .map((name) => ({ ...named.get(name), name, url: `http://127.0.0.1:9/${name}` }));
  const settings = {
    ...given,
    ...{ servers, execution: { typecheck: "off" }, sandbox: { warm: 0 }, sessions: { max: 8 } },
    ...{ languages: ["javascript", "python"].map((name) => (name === "javascript" ? "typescript" : name)) },
    extract: { url: "http://127.0.0.1:9/v1", model: "m" },
    ...(preset === undefined ? {} : { labels: { ...given.labels, preset } }),
  };
  writeFileSync(join(cwd, "ptc.yaml"), JSON.stringify(settings));

  let world: World = {};
  let code = "";
  let kept = new Map<string, unknown>();
  const effects: Effect[] = [];
  const mocked = vi.spyOn(composition, "composeUpstreams").mockImplementation(() => {
    const sources = Object.entries(SERVERS).map(([name, tools]) => ({
      name,
      async connect() {
        const connection = new FakeConnection();
        connection.tools = tools.map(define);
        connection.callTool = (async ({ tool, arguments: args }: { tool: string; arguments: unknown }) => {
          const called = tools.find((each) => each.name === tool);
          if (called === undefined) throw new Error(`no tool ${tool}`);
          if (define(called).annotations.readOnlyHint === false)
            effects.push({ tool: `${name}.${tool}`, arguments: args as Effect["arguments"] });
          try {
            const answer = called.answer((args ?? {}) as Record<string, unknown>, world, kept);
            if (called.method !== undefined) return { content: [], structuredContent: answer };
            const text = typeof answer === "string" ? answer : JSON.stringify(answer);
            return name === "ptc"
              ? { content: [], structuredContent: answer }
              : { content: [{ type: "text", text }] };
          } catch (error) {
            return { isError: true, content: [{ type: "text", text: (error as Error).message }] };
          }
        }) as never;
        return connection;
      },
    }));
    const pool = new UpstreamPool(sources, configuredCredentials(new Map()), clock);
    return { pool, secrets: { sources: { read: async () => "" }, onSecret() {} }, reconfigure() {} } as never;
  });
  const engine = new ScenarioEngine(async (program) => {
    const sandboxed: { result?: unknown } = {};
    const callTool = async (tool: string, args: unknown) => {
      const reply = await program.call(tool, args);
      if (!reply.ok) throw new ToolError(reply.error.message);
      return reply.data;
    };
    const console = {
      log: (...words: unknown[]) =>
        program.print(
          `${words.map((word) => (typeof word === "string" ? word : JSON.stringify(word))).join(" ")}\n`,
        ),
    };
    const data = engine.programs.at(-1)?.data;
    try {
      await new AsyncFunction("callTool", "data", "console", "globalThis", code)(
        callTool,
        data,
        console,
        sandboxed,
      );
    } catch (error) {
      // What a failed program says is shown too.
      return `failed: ${(error as Error).message}`;
    }
    return sandboxed.result ?? null;
  });
  const env = {
    XDG_RUNTIME_DIR: join(cwd, "run"),
    XDG_STATE_HOME: join(cwd, "state"),
    PATH: process.env.PATH,
  };
  const following = await FollowedConfiguration.open({ flag: undefined, env, cwd, onEdit: () => {} });
  const store = new MemoryStore();
  const project = new Project(following.current, { env, archive: () => store, onWarning: () => {} });
  const opened = await openServing(project, {
    principal: "local",
    engine: () => engine,
  });
  const { host } = opened;
  await host.warm();
  const tools = Object.values(SERVERS).flat().length;
  await vi.waitUntil(async () => (await host.currentTools()).all.names().length === tools, {
    timeout: 60_000,
  });
  mocked.mockRestore();

  /** Plays the runs of a scenario in one conversation. */
  const play = async (given: World, runs: readonly ScenarioRun[]): Promise<Played> => {
    world = given;
    kept = new Map();
    effects.length = 0;
    const calls: ObservedCall[] = [];
    const asked: { tool: string; origins: readonly string[]; reason: string | undefined }[] = [];
    const values: unknown[] = [];
    let conversation = new Conversation();
    for (const { program = "", language = "javascript", call, data = {}, session, said, isNew } of runs) {
      if (isNew === true) conversation = new Conversation();
      code = program;
      const request = {
        context: { principal: "local", source: "serve" } as const,
        approver: {
          async ask({
            tool,
            origins = [],
            reason,
          }: {
            tool: string;
            origins?: readonly string[];
            reason?: string;
          }) {
            asked.push({ tool, origins, reason });
            return { decision: approves ? ("once" as const) : ("denied" as const), by: "a person" };
          },
        },
        signal: new AbortController().signal,
        onCall: (each: ObservedCall) => void calls.push(each),
        ...{ conversation, said: said === undefined ? [] : [said] },
      };
      const executed =
        call === undefined
          ? await host.run({
              ...request,
              program: { code: program, data, language, fileName: "p.js" },
              session,
            })
          : await host.call({ ...request, call });
      await executed.recorded;
      const { result } = executed.envelope;
      values.push(result.ok ? result.data : `failed: ${result.error.message}`);
    }
    return { effects: [...effects], calls, asked, labels: conversation.labels, values };
  };
  const close = async () => {
    await host.close();
    rmSync(cwd, { recursive: true, force: true });
  };
  return { play, close, host, store };
}

export type Rig = Awaited<ReturnType<typeof openRig>>;
