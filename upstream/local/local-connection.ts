import { basename } from "node:path";
import { isObject } from "../../base/json/is-object.ts";
import { parseForeignJson } from "../../base/json/parse-json.ts";
import { oneLine } from "../../base/text/one-line.ts";
import { MAX_NESTING_DEPTH } from "../../protocol/limits.ts";
import type { UnreadValues } from "../credentials.ts";
import { inheritedEnvironment } from "../mcp/stdio/inherited-environment.ts";
import type { UpstreamCallOptions, UpstreamConnection } from "../upstream.ts";
import { UpstreamError } from "../upstream-error.ts";
import { buildArguments, UnusableArguments } from "./command-line.ts";
import { type CommandEnd, type GroupObserver, runLocalCommand } from "./local-process.ts";
import { describeLocalTool, isOwnVariable, type LocalTool, variablesOf } from "./local-tool.ts";
import { fillTemplate } from "./template.ts";

const MAX_STDERR_CHARS = 1_000;
const MAX_NAME_CHARS = 80;

export interface LocalConnectionOptions extends GroupObserver {
  /** Variables of all tools, by `ownVariable`. A command sees those of its tool beside the few that every program needs. */
  env: Readonly<Record<string, string>>;
  /** Those of them that could not be read. A tool is not run without one of its own, which is read again first. */
  unread?: UnreadValues | undefined;
  /** What the server says it is. */
  version: string;
}

/**
 * The tools of the configuration, as a server that lists and answers. Each call runs its command once, without a shell, and
 * answers with an MCP result; a command that fails is a failed tool.
 */
export class LocalConnection implements UpstreamConnection {
  readonly implementation: UpstreamConnection["implementation"];
  readonly protocolVersion = "2025-11-25";
  readonly #tools: ReadonlyMap<string, LocalTool>;
  readonly #options: LocalConnectionOptions;
  #env: Readonly<Record<string, string>>;
  #unread: UnreadValues | undefined;
  #secrets: readonly string[] = [];
  readonly #closed = new AbortController();
  readonly #running = new Set<Promise<unknown>>();

  constructor(tools: readonly LocalTool[], options: LocalConnectionOptions) {
    this.#tools = new Map(tools.map((tool) => [tool.name, tool]));
    this.#options = options;
    this.#env = options.env;
    this.#unread = options.unread;
    this.implementation = { name: "ptc local tools", version: options.version };
  }

  async listTools(): Promise<unknown[]> {
    return [...this.#tools.values()].map(describeLocalTool);
  }

  async callTool(name: string, args: unknown, { signal }: UpstreamCallOptions): Promise<unknown> {
    const tool = this.#tools.get(name);
    if (tool === undefined) return failed(`there is no local tool '${name}'`);
    if (tool.off !== undefined) throw new UpstreamError("off", `local tool '${name}' is off: ${tool.off}`);
    await this.#readOwn(tool, signal);
    const given = isObject(args) ? args : {};
    let elements: string[];
    try {
      elements = buildArguments(tool.elements, given);
    } catch (error) {
      if (error instanceof UnusableArguments) return failed(error.message);
      throw error;
    }
    const stdin = tool.stdin === undefined ? JSON.stringify(given) : fillTemplate(tool.stdin, given);
    const running = runLocalCommand(
      {
        program: tool.program,
        args: elements,
        cwd: tool.cwd,
        env: { ...inheritedEnvironment(), ...variablesOf(name, this.#env) },
        stdin,
      },
      {
        timeoutMs: tool.timeoutMs,
        maxBytes: tool.maxOutputBytes,
        signal: AbortSignal.any([signal, this.#closed.signal]),
      },
      this.#options,
    );
    this.#running.add(running);
    try {
      return answerOf(tool, await running);
    } finally {
      this.#running.delete(running);
    }
  }

  /** The secrets that were read since the connection was made. */
  secrets(): readonly string[] {
    return this.#secrets;
  }

  /** Reads again what could not be read of a tool's variables. @throws UpstreamError `start_failed` where it still cannot. */
  async #readOwn({ name }: LocalTool, signal: AbortSignal): Promise<void> {
    const whyNot = () =>
      Object.entries(this.#unread?.why ?? {}).find(([key]) => isOwnVariable(name, key))?.[1];
    if (this.#unread === undefined || whyNot() === undefined) return;
    const { values, unread, secrets } = await this.#unread.again(
      AbortSignal.any([signal, this.#closed.signal]),
    );
    this.#env = values;
    this.#unread = unread;
    this.#secrets = secrets;
    const problem = whyNot();
    if (problem !== undefined)
      throw new UpstreamError("start_failed", `local tool '${name}' was not run: ${problem}`);
  }

  onToolsChanged(): void {
    // What the configuration says changes with the configuration, and that makes a new connection.
  }

  onLost(): void {
    // There is nothing to lose.
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await Promise.all(this.#running);
  }
}

/** @throws UpstreamError where the command did not come to an end of its own. */
function answerOf(tool: LocalTool, end: CommandEnd): unknown {
  const called = `local tool '${tool.name}'`;
  const program = oneLine(basename(tool.program), MAX_NAME_CHARS);
  switch (end.kind) {
    case "late":
      throw new UpstreamError(
        "call_timeout",
        `${called} was killed: \`${program}\` did not end within ${tool.timeoutMs / 1_000} s`,
      );
    case "aborted":
      throw new UpstreamError("cancelled", `${called} was killed: the call is cancelled`);
    case "too_much":
      return failed(`\`${program}\` was killed: it printed more than ${tool.maxOutputBytes} bytes`);
    case "not_started":
      throw new UpstreamError(
        "start_failed",
        `${called} was not run: ${whyNotStarted(program, tool, end.error)}`,
      );
    case "exited": {
      if (end.code === null || !tool.exitCodes.includes(end.code)) {
        const how = end.code === null ? `was ended by ${end.signal}` : `ended with exit code ${end.code}`;
        const said = oneLine(end.stderr.trim().slice(-MAX_STDERR_CHARS), MAX_STDERR_CHARS);
        return failed(`\`${program}\` ${how}${said === "" ? "" : `: ${said}`}`);
      }
      return readOutput(tool, program, end.stdout);
    }
  }
}

function whyNotStarted(program: string, tool: LocalTool, { code }: NodeJS.ErrnoException): string {
  switch (code) {
    case "ENOENT":
      return tool.program.includes("/")
        ? `there is no \`${tool.program}\`, or no folder ${tool.cwd}`
        : `there is no command \`${program}\` on the PATH, or no folder ${tool.cwd}`;
    case "EACCES":
      return `\`${program}\` may not be executed`;
    case "E2BIG":
      return "its arguments are too long for a command line; give them to it with `stdin`";
    default:
      return `\`${program}\` cannot be started (${code})`;
  }
}

function readOutput({ output, maxOutputBytes }: LocalTool, program: string, stdout: Buffer): unknown {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(stdout);
  } catch {
    return failed(`\`${program}\` printed bytes that are not text in UTF-8`);
  }
  if (output === "text") return { content: [], structuredContent: text.replace(/\r?\n$/, "") };
  try {
    const value = parseForeignJson(text, { maxBytes: maxOutputBytes, maxDepth: MAX_NESTING_DEPTH });
    return { content: [], structuredContent: value };
  } catch {
    return failed(`\`${program}\` printed something that is not JSON`);
  }
}

/** The result of a tool that has failed. */
function failed(text: string): unknown {
  return { isError: true, content: [{ type: "text", text }] };
}
