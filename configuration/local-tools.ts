import { resolve } from "node:path";
import { isObject } from "../base/json.ts";
import { findSchemaProblem } from "../base/json-schema.ts";
import { serverModule } from "../protocol/tool-names.ts";
import {
  argumentsIn,
  LOCAL_SERVER,
  type LocalTool,
  ownVariable,
  parseTemplate,
} from "../upstream/local/local-tool.ts";
import type { SecretSource } from "../upstream/secret-source.ts";
import type { LocalServerConfiguration } from "./configuration.ts";
import type { Problem } from "./configuration-error.ts";
import { OWN_USE } from "./configured-servers.ts";
import { type EntrySurroundings, type ExpandedFile, splitSecretValues } from "./outside-values.ts";
import type { LocalToolEntry, ServerEntry } from "./settings/server-settings.ts";

const PATH = ["tools", "local"];

/** Problems of local tools with valid keys and types. The command of a tool with an unset variable is not checked. */
export function findLocalToolProblems(
  tools: readonly LocalToolEntry[],
  servers: readonly ServerEntry[],
  unsetIn: ExpandedFile["unsetIn"],
): Problem[] {
  if (tools.length === 0) return [];
  const taken = servers.findIndex(({ name }) => serverModule(name) === LOCAL_SERVER);
  const names = new Map<string, number>();
  return [
    ...(taken < 0
      ? []
      : [
          {
            path: ["servers", taken, "name"],
            message: `is the name of the server of tools.local; rename this one`,
          },
        ]),
    ...tools.flatMap((tool, index): Problem[] => {
      const earlier = names.get(tool.name);
      names.set(tool.name, earlier ?? index);
      const path = [...PATH, index];
      if (earlier !== undefined) {
        const message = `'${tool.name}' is also the name of tools.local[${earlier}]; rename one`;
        return [{ path: [...path, "name"], message }];
      }
      return [
        ...findSchemaProblems(tool, path),
        ...(unsetIn(path) ? [] : [...findCommandProblems(tool, path), ...findStdinProblems(tool, path)]),
      ];
    }),
  ];
}

function findSchemaProblems(
  { inputSchema, output, outputSchema }: LocalToolEntry,
  path: PropertyKey[],
): Problem[] {
  const of = (key: string, schema: unknown) => findSchemaProblem(schema, [...path, key]) ?? [];
  const { type = "object" } = inputSchema;
  if (type !== "object")
    return [{ path: [...path, "inputSchema", "type"], message: "must be object: arguments have names" }];
  if (outputSchema !== undefined && output !== "json")
    return [{ path: [...path, "outputSchema"], message: "goes with output: json only; change the output" }];
  return [of("inputSchema", inputSchema), of("outputSchema", outputSchema ?? true)].flat();
}

function findCommandProblems({ command, inputSchema }: LocalToolEntry, path: PropertyKey[]): Problem[] {
  return command.flatMap((element, index): Problem[] => {
    const at = [...path, "command", index];
    if (element.includes("\0")) return [{ path: at, message: "must not contain a NUL character" }];
    const template = parseTemplate(element);
    if (index === 0) {
      if (element.trim() === "") return [{ path: at, message: "must be the name or the path of a program" }];
      if (argumentsIn(template).length > 0)
        return [{ path: at, message: "is the program, which no argument can choose; write it out" }];
      return [];
    }
    const isSpread = template.some((part) => typeof part === "object" && part.isSpread);
    if (isSpread && template.length > 1)
      return [{ path: at, message: "has a list's items with other text; write `{name...}` alone" }];
    return findUnknownArgument(argumentsIn(template), inputSchema, at);
  });
}

function findStdinProblems({ stdin = "", inputSchema }: LocalToolEntry, path: PropertyKey[]): Problem[] {
  const at = [...path, "stdin"];
  const template = parseTemplate(stdin);
  if (template.some((part) => typeof part === "object" && part.isSpread))
    return [
      { path: at, message: "cannot hold a list's items one by one; write `{name}`, which is its JSON" },
    ];
  return findUnknownArgument(argumentsIn(template), inputSchema, at);
}

/** Finds a placeholder without an argument, which is most often a typing mistake. */
function findUnknownArgument(
  names: readonly string[],
  { properties }: Record<string, unknown>,
  path: PropertyKey[],
): Problem[] {
  const known = isObject(properties) ? properties : {};
  const unknown = names.find((name) => !Object.hasOwn(known, name));
  if (unknown === undefined) return [];
  const message = `\`{${unknown}}\` is none of inputSchema.properties; add it there, or write \`{{${unknown}}}\` for that text`;
  return [{ path, message }];
}

/** The server of the local tools; `undefined` if there are none. */
export function buildLocalServer(
  entries: readonly LocalToolEntry[],
  { callTimeoutMs, ...surroundings }: EntrySurroundings & { callTimeoutMs: number },
): LocalServerConfiguration | undefined {
  if (entries.length === 0) return undefined;
  const env: [string, string][] = [];
  const sources: [string, SecretSource][] = [];
  const tools = entries.map((entry, index): LocalTool => {
    const path = [...PATH, index];
    const off = surroundings.offOf(path);
    const known = off === undefined ? entry.env : {};
    const { values, secretSources } = splitSecretValues(known, [...path, "env"], surroundings);
    const own = <T>([name, value]: [string, T]): [string, T] => [ownVariable(entry.name, name), value];
    env.push(...Object.entries(values).map(own));
    sources.push(...Object.entries(secretSources).map(own));
    const [program = "", ...elements] = entry.command;
    return {
      name: entry.name,
      title: entry.title,
      description: entry.description,
      inputSchema: { type: "object", ...entry.inputSchema },
      outputSchema: entry.outputSchema,
      annotations: entry.annotations,
      program: parseTemplate(program).join(""),
      elements: elements.map(parseTemplate),
      stdin: entry.stdin === undefined ? undefined : parseTemplate(entry.stdin),
      output: entry.output,
      exitCodes: entry.exit_codes,
      timeoutMs: entry.timeout_seconds === undefined ? callTimeoutMs : entry.timeout_seconds * 1_000,
      maxOutputBytes: entry.max_output_bytes,
      cwd: resolve(surroundings.directory, entry.cwd ?? "."),
      off,
    };
  });
  const flows = entries.map(
    ({ name, labels, results, accepts }) => [name, { labels, results, accepts }] as const,
  );
  return {
    transport: "local",
    name: LOCAL_SERVER,
    module: LOCAL_SERVER,
    description: undefined,
    localTools: tools,
    env: Object.fromEntries(env),
    secretSources: Object.fromEntries(sources),
    callTimeoutMs: Math.max(...tools.map(({ timeoutMs }) => timeoutMs)),
    connectTimeoutMs: callTimeoutMs,
    ...OWN_USE,
    flow: { tools: Object.fromEntries(flows) },
    piiAllowed: [],
    off: undefined,
  };
}
