import { setTimeout as delay } from "node:timers/promises";
import { visibleLine } from "../base/visible-text.ts";
import type { Approver } from "../broker/approvals/approvals.ts";
import { IsolatingValidator } from "../broker/schemas/schema-validator.ts";
import type { Tool } from "../catalog/tool.ts";
import { unknownTool } from "../catalog/tool-catalog.ts";
import { buildAuthorizer, refuseUnmatchedPatterns } from "../configuration/policy/configured-policy.ts";
import { makeCall, messageOfCall } from "../execution/call.ts";
import { renderEnvelope } from "../execution/seal.ts";
import { parseNamespacedName, serverModule } from "../protocol/tool-names.ts";
import { traceContextOf } from "../protocol/trace-context.ts";
import { moduleUrl } from "../system/package.ts";
import type { ProgramTools } from "../tools/program-tools.ts";
import { composeChecks } from "./checks.ts";
import { LOCAL_USER, localContext } from "./local-user.ts";
import type { Project } from "./open-project.ts";
import { recorderOf } from "./records.ts";
import { Refusal } from "./refusal.ts";
import { composeServers, composeUpstreams } from "./servers/upstreams.ts";

/** How long an answer waits for a slow archive. */
const RECORD_PATIENCE_MS = 2_000;

/** A call of a user, with what watches it. */
export interface UsersCall {
  tool: string;
  arguments: Record<string, unknown>;
  approver: Approver;
  signal: AbortSignal;
  onWarning: (message: string) => void;
}

/** What a call came to. */
export interface MadeCall {
  /** The envelope of the run that stands for the call, as one line. */
  envelope: string;
  /** What the tool answered; `undefined` if it did not, or its answer was refused. */
  answer: { data: unknown } | undefined;
  /** Why it failed; `undefined` if it did not. */
  failure: { message: string; isInvalid: boolean } | undefined;
  /** Resolves when the call is recorded, and the user has been told of everything. */
  finish(): Promise<void>;
}

/** Makes single calls of the local user as programs make them, without a sandbox. */
export class Caller {
  readonly #project: Project;
  readonly #tools: ProgramTools;

  private constructor(project: Project, tools: ProgramTools) {
    this.#project = project;
    this.#tools = tools;
  }

  /** @throws CatalogError, ConfigurationError for a pattern that matches no tool */
  static async open(project: Project): Promise<Caller> {
    const tools = await project.tools();
    refuseUnmatchedPatterns(project.configuration, tools.all);
    return new Caller(project, tools);
  }

  /**
   * The tool of that name, even if programs may not call it. The broker then refuses the call, which is recorded.
   *
   * @throws Refusal
   */
  find(name: string): Tool {
    const callable = this.#tools.callableFor(LOCAL_USER);
    const tool = callable.find(name) ?? this.#tools.all.find(name);
    if (tool !== undefined) return tool;
    const server = serverModule(parseNamespacedName(name)?.module ?? name.split(".")[0] ?? "");
    const isListed =
      callable.servers.some(({ module }) => module === server) || callable.unlisted.has(server);
    if (callable.configured.includes(server) && !isListed)
      throw new Refusal(
        `the tools of server '${visibleLine(server)}' are not known yet; run \`ptc generate\``,
      );
    throw new Refusal(unknownTool(name, callable, "`ptc search`"));
  }

  /** Makes a call. What makes it ends with the project. @throws StateDirectoryError when the folder for this process's files cannot be made */
  async call({ tool, arguments: args, approver, signal, onWarning }: UsersCall): Promise<MadeCall> {
    const project = this.#project;
    const { configuration, env, redactor } = project;
    const telemetry = await project.openTelemetry();
    const { pool, secrets } = composeUpstreams(project);
    const validator = new IsolatingValidator(moduleUrl("broker/schemas/schema-worker"));
    project.onClose(() => validator.close());
    const request = Object.freeze({
      call: { tool, arguments: args },
      context: localContext("call", env),
      trace: traceContextOf(env),
      approver,
      signal,
    });
    const host = {
      env,
      redactor,
      validator,
      telemetry,
      servers: composeServers(configuration, pool, undefined),
      configuration: () => configuration,
      recorder: recorderOf(project, await project.auditLog()),
      authorizer: await buildAuthorizer(configuration),
      checks: composeChecks(project, () => configuration.interceptors, secrets),
    };
    const { envelope, verdict, decision, answered, warnings, ...executed } = await makeCall(request, host, {
      tools: this.#tools,
    });
    // A caller that has the answer may end ptc, but expects the call in the archive. A slow archive delays the answer only briefly.
    const recorded = executed.recorded.then((problem) => problem === undefined || onWarning(problem));
    await Promise.race([recorded, delay(RECORD_PATIENCE_MS, undefined, { ref: false })]);
    return {
      envelope: renderEnvelope(envelope),
      answer: verdict.ok ? { data: verdict.data } : answered === undefined ? undefined : { data: answered },
      failure: verdict.ok
        ? undefined
        : { message: messageOfCall(verdict.error), isInvalid: decision === "invalid" },
      async finish() {
        for (const warning of warnings) onWarning(warning);
        await recorded;
      },
    };
  }
}
