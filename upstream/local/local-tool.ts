import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { delimiter, join, resolve } from "node:path";

/** The server of the tools that the configuration itself has, and its module in code. */
export const LOCAL_SERVER = "local";

/** A command that is called as a tool. */
export interface LocalTool {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly inputSchema: object;
  /** Of a tool whose output is JSON. */
  readonly outputSchema?: object | undefined;
  readonly annotations?: object | undefined;
  readonly program: string;
  /** The elements of the command line after the program. */
  readonly elements: readonly Template[];
  /** What the command reads; by default the arguments as JSON. */
  readonly stdin: Template | undefined;
  readonly output: "text" | "json";
  /** Those that mean no failure. */
  readonly exitCodes: readonly number[];
  readonly timeoutMs: number;
  readonly maxOutputBytes: number;
  /** Absolute. */
  readonly cwd: string;
  /** Why it cannot be called, in one line. */
  readonly off?: string | undefined;
}

/** The name of a variable of one tool among those of all tools. A tool's name holds no `/`. */
export function ownVariable(tool: string, variable: string): string {
  return `${tool}/${variable}`;
}

/** Whether a name that `ownVariable` made is that of a variable of this tool. */
export function isOwnVariable(tool: string, own: string): boolean {
  return own.startsWith(ownVariable(tool, ""));
}

/** The variables of one tool, of those of all tools. */
export function variablesOf(
  tool: string,
  all: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const own = ownVariable(tool, "");
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, value]) =>
      isOwnVariable(tool, name) ? [[name.slice(own.length), value]] : [],
    ),
  );
}

/** A tool as servers list theirs (MCP 2025-11-25, "Tool"). */
export function describeLocalTool({
  name,
  title,
  description,
  inputSchema,
  outputSchema,
  annotations,
  output,
}: LocalTool): object {
  const schema = output === "text" ? { type: "string" } : outputSchema;
  return {
    name,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    inputSchema,
    ...(schema === undefined ? {} : { outputSchema: schema }),
    ...(annotations === undefined ? {} : { annotations }),
  };
}

/**
 * Texts of the configuration in which `{name}` stands for the argument of that name. `{{name}}` is the text `{name}`; braces
 * around anything that is no name are plain text.
 */

/** What an argument's value is put into: a text, a value in the place of its name, or an element for each item of a list. */
export type TemplatePart = string | { readonly argument: string; readonly isSpread: boolean };
export type Template = readonly TemplatePart[];

const PLACEHOLDER = /\{\{([A-Za-z_][A-Za-z0-9_-]*)\}\}|\{([A-Za-z_][A-Za-z0-9_-]*)(\.\.\.)?\}/g;

export function parseTemplate(text: string): Template {
  const parts: TemplatePart[] = [];
  let plain = "";
  let end = 0;
  for (const found of text.matchAll(PLACEHOLDER)) {
    const [whole, literal, argument, dots] = found;
    plain += text.slice(end, found.index);
    end = found.index + whole.length;
    if (argument === undefined) plain += `{${literal}}`;
    else {
      if (plain !== "") parts.push(plain);
      plain = "";
      parts.push({ argument, isSpread: dots !== undefined });
    }
  }
  plain += text.slice(end);
  return plain === "" ? parts : [...parts, plain];
}

/** The arguments that a template names. */
export function argumentsIn(template: Template): string[] {
  return template.flatMap((part) => (typeof part === "string" ? [] : [part.argument]));
}

/** A template with the values of arguments; one that is absent leaves its place empty. */
export function fillTemplate(template: Template, args: Readonly<Record<string, unknown>>): string {
  return template
    .map((part) => (typeof part === "string" ? part : (textOf(args, part.argument) ?? "")))
    .join("");
}

/** A text as it is, anything else as JSON; `undefined` where the argument is absent. */
export function textOf(args: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = Object.hasOwn(args, name) ? args[name] : undefined;
  return typeof value === "string" ? value : JSON.stringify(value);
}

/**
 * Why the command of a tool cannot be started on this machine, in one line; `undefined` when it can.
 *
 * @param path the PATH that the command gets.
 */
export async function whyNoProgram(
  { program, cwd }: Pick<LocalTool, "program" | "cwd">,
  path: string | undefined,
): Promise<string | undefined> {
  const folder = await stat(cwd).catch(() => undefined);
  if (folder?.isDirectory() !== true) return `there is no folder ${cwd} to run in`;
  if (program.includes("/")) {
    const found = await lookAt(resolve(cwd, program));
    if (found === "runs") return undefined;
    return found === "none" ? `there is no \`${program}\`` : `\`${program}\` may not be executed`;
  }
  const found = await Promise.all(
    (path ?? "").split(delimiter).map((each) => lookAt(join(resolve(cwd, each), program))),
  );
  if (found.includes("runs")) return undefined;
  if (found.includes("other")) return `\`${program}\` may not be executed`;
  return `there is no command \`${program}\` on the PATH`;
}

async function lookAt(path: string): Promise<"runs" | "none" | "other"> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return "none";
  const mayRun =
    found.isFile() &&
    (await access(path, constants.X_OK).then(
      () => true,
      () => false,
    ));
  return mayRun ? "runs" : "other";
}
