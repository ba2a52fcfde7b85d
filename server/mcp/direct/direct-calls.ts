import type { Viewer } from "../../../broker/policy/authorizer.ts";
import type { DirectDefinition, DirectTool } from "../../../host/direct/direct-tools.ts";
import type { ProgramRunner } from "../../../host/program-runner.ts";
import type { LiveCatalog } from "../../../host/tools/live-catalog.ts";
import type { RunContext } from "../../../protocol/run-context.ts";
import { contextOf, type ProgramAnswer, type ProgramRequest, type Programs } from "../programs/programs.ts";
import type { ProgramReply } from "../tools/reply.ts";
import type { Presenting } from "./present-call.ts";

interface DirectCallsOptions {
  catalog: LiveCatalog;
  runner: ProgramRunner;
  programs: Programs;
  context: RunContext & Viewer;
  /** How many bytes of text are shown. */
  maxShownBytes: () => number;
  /** Why a value is not what a schema allows, in one line. */
  checkValue: (schema: unknown, value: unknown) => Promise<string | undefined>;
}

/**
 * The tools of servers that one client has directly. They are chosen once: what a model has in its context stays, so that it need
 * not be read anew. A call is decided by what is in force when it is made.
 */
export class DirectCalls {
  readonly #options: DirectCallsOptions;
  #chosen: Promise<ReadonlyMap<string, DirectTool>> | undefined;

  constructor(options: DirectCallsOptions) {
    this.#options = options;
  }

  /** The definitions of the tools, as `tools/list` has them. */
  async definitions(): Promise<DirectDefinition[]> {
    return [...(await this.#tools()).values()].map(({ definition }) => definition);
  }

  /** The tool that was listed under this name. */
  async find(name: string): Promise<DirectTool | undefined> {
    return (await this.#tools()).get(name);
  }

  /** Makes a call, or goes on with what the client was asked about it. */
  async call(listed: DirectTool, args: unknown, request: ProgramRequest): Promise<ProgramAnswer> {
    const { programs, runner, context } = this.#options;
    const call = { tool: listed.tool.namespacedName, arguments: args ?? {} };
    const from: RunContext = { ...contextOf(context, request), source: "direct" };
    return programs.call(async (options) => {
      if (runner.call === undefined) throw new Error("there are no direct calls here");
      const executed = await runner.call(call, { ...options, context: from, withAnswer: true });
      programs.notices.follow(executed);
      return {
        reply: async (_, { hints, notes }) => {
          const { presentCall } = await import("./present-call.ts");
          const reply = await presentCall(executed, await this.#presenting(listed));
          const more = [...hints, ...notes].map((text) => ({ type: "text" as const, text }));
          return { ...reply, content: [...reply.content, ...more] };
        },
      };
    }, request);
  }

  /** The reply to a call that may have gone on as a program. */
  async shape(reply: ProgramReply, listed: DirectTool): Promise<ProgramReply> {
    const { presentResumed } = await import("./present-call.ts");
    return presentResumed(reply, await this.#presenting(listed));
  }

  async #presenting(listed: DirectTool): Promise<Presenting> {
    const { catalog, context, maxShownBytes, checkValue } = this.#options;
    const now = (await catalog.current(context)).get(listed.tool.namespacedName);
    return {
      listed,
      maxShownBytes: maxShownBytes(),
      checkOutput: (value) => checkValue(listed.definition.outputSchema, value),
      isAsListed: now?.definitionDigest === listed.tool.definitionDigest,
    };
  }

  #tools(): Promise<ReadonlyMap<string, DirectTool>> {
    this.#chosen ??= this.#choose();
    return this.#chosen;
  }

  async #choose(): Promise<ReadonlyMap<string, DirectTool>> {
    const { catalog, runner, context } = this.#options;
    const chosen = runner.call === undefined ? undefined : await catalog.direct?.(context);
    return new Map((chosen?.tools ?? []).map((tool) => [tool.definition.name, tool]));
  }
}
