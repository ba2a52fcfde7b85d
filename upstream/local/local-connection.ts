import { basename } from "node:path";
import { isObject, parseForeignJson, writeJson } from "../../base/json.ts";
import { oneLine } from "../../base/visible-text.ts";
import { MAX_NESTING_DEPTH } from "../../protocol/limits.ts";
import { inheritedEnvironment } from "../../secrets/inherited-environment.ts";
import type { UnreadValues } from "../authorization/credentials.ts";
import { type CommandEnd, type GroupObserver, runCommand } from "../run-command.ts";
import type { UpstreamCall, UpstreamConnection, UpstreamListing } from "../upstream.ts";
import { UpstreamError } from "../upstream-error.ts";
import {
  describeLocalTool,
  fillTemplate,
  isOwnVariable,
  type LocalTool,
  type Template,
  type TemplatePart,
  textOf,
  variablesOf,
} from "./local-tool.ts";

/** The maximum number of characters quoted from a failed command's output. */
const MAX_STDERR_CHARS = 1_000;
/** How long to read on after a command has ended. */
const REST_MS = 500;
const MAX_NAME_CHARS = 80;

export interface LocalConnectionOptions extends GroupObserver {
  /** Variables of all tools, named by `ownVariable`. A command sees only those of its tool and the few that every program needs. */
  env: Readonly<Record<string, string>>;
  /** The variables that could not be read. A tool that needs one reads it again, and does not run if it cannot. */
  unread?: UnreadValues | undefined;
  /** The version that the server reports. */
  version: string;
}

/**
 * Presents the tools of the configuration as a server. Each call runs its command once, without a shell, and answers with an MCP
 * result; if the command fails, the tool has failed.
 */
export class LocalConnection implements UpstreamConnection {
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
  }

  async list(): Promise<UpstreamListing> {
    return {
      implementation: { name: "ptc local tools", version: this.#options.version },
      protocolVersion: "2025-11-25",
      tools: [...this.#tools.values()].map(describeLocalTool),
    };
  }

  async callTool({ tool: name, arguments: args, signal }: UpstreamCall): Promise<unknown> {
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
    const stdin = tool.stdin === undefined ? writeJson(given) : fillTemplate(tool.stdin, given);
    const running = runCommand(
      {
        program: tool.program,
        args: elements,
        cwd: tool.cwd,
        env: { ...inheritedEnvironment(), ...variablesOf(name, this.#env) },
        stdin,
      },
      {
        timeoutMs: tool.timeoutMs,
        restMs: REST_MS,
        maxBytes: tool.maxOutputBytes,
        signal: AbortSignal.any([signal, this.#closed.signal]),
        stderr: "end",
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

  /** The secrets that were read after the connection was made. */
  secrets(): readonly string[] {
    return this.#secrets;
  }

  /** Reads a tool's unread variables again. @throws UpstreamError `start_failed` if they still cannot be read. */
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
    // The tools change only with the configuration, which makes a new connection.
  }

  onLost(): void {
    // There is no connection to lose.
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await Promise.all(this.#running);
  }
}

/** @throws UpstreamError if the command was not run, or did not end by itself. */
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

/** The result of a failed tool. */
function failed(text: string): unknown {
  return { isError: true, content: [{ type: "text", text }] };
}

/** The maximum size of one element, below the limit of every system. */
const MAX_ELEMENT_BYTES = 100_000;
const MAX_ELEMENTS = 4_096;
const MAX_BYTES = 1_000_000;

/** Arguments with which a command cannot be run. The message continues a sentence. */
class UnusableArguments extends Error {
  override readonly name = "UnusableArguments";
}

/**
 * Builds the elements of a command line after the program. There is no shell: each value is part of one element, whatever it contains.
 * An element with an absent argument is left out. If an element begins with a value, the value must not begin with `-`, because the
 * program could mistake it for an option, unless an element `--` precedes it.
 *
 * @throws UnusableArguments
 */
export function buildArguments(
  elements: readonly Template[],
  args: Readonly<Record<string, unknown>>,
): string[] {
  const built: string[] = [];
  let bytes = 0;
  let mayBeOptions = true;
  for (const template of elements) {
    for (const element of fillElement(template, args)) {
      if (startsWithArgument(template)) {
        if (mayBeOptions && element.startsWith("-"))
          throw new UnusableArguments(
            `${nameFirst(template)} begins with '-', which its program could take for an option`,
          );
      } else if (element === "--") mayBeOptions = false;
      const size = Buffer.byteLength(element);
      bytes += size;
      if (size > MAX_ELEMENT_BYTES || bytes > MAX_BYTES || built.length === MAX_ELEMENTS)
        throw new UnusableArguments(
          `${nameFirst(template)} is too long for a command line, which takes ${MAX_ELEMENT_BYTES} bytes in one element`,
        );
      if (element.includes("\0"))
        throw new UnusableArguments(
          `${nameFirst(template)} holds a NUL character, which no command line can`,
        );
      built.push(element);
    }
  }
  return built;
}

function fillElement(template: Template, args: Readonly<Record<string, unknown>>): string[] {
  const [first] = template;
  if (isArgument(first) && first.isSpread) return spread(first.argument, args);
  const isAbsent = template.some((part) => isArgument(part) && textOf(args, part.argument) === undefined);
  return isAbsent ? [] : [fillTemplate(template, args)];
}

/** An element for each item of a list. */
function spread(name: string, args: Readonly<Record<string, unknown>>): string[] {
  const value = Object.hasOwn(args, name) ? args[name] : undefined;
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw new UnusableArguments(`'${name}' is no list`);
  return value.map((item: unknown) =>
    typeof item === "string" ? item : isObject(item) ? writeJson(item) : String(writeJson(item)),
  );
}

function startsWithArgument([first]: Template): boolean {
  return isArgument(first);
}

function nameFirst(template: Template): string {
  const argument = template.find(isArgument);
  return argument === undefined ? "a part of its command" : `'${argument.argument}'`;
}

function isArgument(part: TemplatePart | undefined): part is Exclude<TemplatePart, string> {
  return typeof part === "object";
}
