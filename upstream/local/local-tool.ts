import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { delimiter, join, resolve } from "node:path";
import { writeJson } from "../../base/json.ts";

/** The name of the server for the tools defined in the configuration, and of its module in code. */
export const LOCAL_SERVER = "local";

/** A command that is called as a tool. */
export interface LocalTool {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly inputSchema: object;
  /** Only for a tool whose output is JSON. */
  readonly outputSchema?: object | undefined;
  readonly annotations?: object | undefined;
  readonly program: string;
  /** The elements of the command line after the program. */
  readonly elements: readonly Template[];
  /** The command's input; by default the arguments as JSON. */
  readonly stdin: Template | undefined;
  readonly output: "text" | "json";
  /** Exit codes that do not mean failure. */
  readonly exitCodes: readonly number[];
  readonly timeoutMs: number;
  readonly maxOutputBytes: number;
  /** Absolute. */
  readonly cwd: string;
  /** If it cannot be called: why, in one line. */
  readonly off?: string | undefined;
}

/** The name of one tool's variable among those of all tools. Tool names do not contain `/`. */
export function ownVariable(tool: string, variable: string): string {
  return `${tool}/${variable}`;
}

/** Whether a name from `ownVariable` belongs to this tool. */
export function isOwnVariable(tool: string, own: string): boolean {
  return own.startsWith(ownVariable(tool, ""));
}

/** Selects the variables of one tool from those of all tools. */
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
 * Texts in the configuration in which `{name}` stands for the argument with that name. `{{name}}` is the text `{name}`; braces around
 * anything else are plain text.
 */

/** A part of a template: plain text, an argument's value, or one element for each item of a list. */
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

/** Fills a template with arguments; an absent one leaves its place empty. */
export function fillTemplate(template: Template, args: Readonly<Record<string, unknown>>): string {
  return template
    .map((part) => (typeof part === "string" ? part : (textOf(args, part.argument) ?? "")))
    .join("");
}

/** A text unchanged, any other value as JSON; `undefined` if the argument is absent. */
export function textOf(args: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = Object.hasOwn(args, name) ? args[name] : undefined;
  return typeof value === "string" ? value : writeJson(value);
}

/**
 * Why a tool's command cannot be started on this machine, in one line; `undefined` if it can.
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
