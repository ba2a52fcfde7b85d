/**
 * Reads descriptions of servers in the format of the MCP registry (`server.json`). A description is data of a stranger: all its texts
 * are checked for what ptc would expand, and none is run before a person has seen it.
 */
import * as z from "zod";
import { isObject } from "../../base/json.ts";
import { visibleLine } from "../../base/visible-text.ts";
import { Refusal } from "../refusal.ts";

const MAX_INPUTS = 200;

/*
 * ptc.yaml expands variables of ptc's environment, which only the person who adds the server may name. A person reads the entry before it
 * is written, so no character may hide or reorder parts of it.
 */
const text = z
  .string()
  .max(8_192)
  .refine((value) => !value.includes("$"), { error: "must not contain `$`" })
  .refine((value) => !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(value), {
    error: "must not contain control or format characters",
  });

/** Variables that decide which code runs, or where it comes from. */
const LOADING =
  /^(?:PATH|HOME|SHELL|ENV|BASH_ENV|NODE_.*|LD_.*|DYLD_.*|PYTHON.*|JAVA_TOOL_OPTIONS|NPM_CONFIG_.*|BUN_.*|UV_.*|PIP.*|VIRTUAL_ENV|DOCKER_.*|CONTAINER.*|DOTNET_.*|NUGET_.*|PERL5.*|RUBY.*|GIT_.*|SSL_.*|(?:HTTPS?|ALL|NO)_PROXY)$/i;
const truth = z.boolean().default(false);

/** A value that a person gives, unless the description has it (server.json, "Input"). */
const Input = z.object({
  description: z.string().optional(),
  isRequired: truth,
  isSecret: truth,
  value: text.optional(),
  default: text.optional(),
  choices: z.array(text).optional(),
  format: z.string().optional(),
});
const InputWithVariables = Input.extend({ variables: z.record(z.string(), Input).default({}) });
const Header = InputWithVariables.extend({
  name: z.string().regex(/^[A-Za-z0-9_-]+$/, { error: "must be the name of a header" }),
});
const Variable = InputWithVariables.extend({
  name: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, { error: "must be the name of a variable" })
    .refine((name) => !LOADING.test(name), { error: "names a variable that decides which code runs" }),
});
const Argument = z.discriminatedUnion("type", [
  InputWithVariables.extend({
    type: z.literal("positional"),
    valueHint: text.optional(),
    isRepeated: truth,
  }),
  InputWithVariables.extend({ type: z.literal("named"), name: text.min(1), isRepeated: truth }),
]);
const inputs = <T extends z.ZodType>(of: T) => z.array(of).max(MAX_INPUTS).default([]);

const Remote = z.object({
  type: z.string(),
  url: text,
  headers: inputs(Header),
  variables: z.record(z.string(), Input).default({}),
});
const Package = z.object({
  registryType: z.string(),
  registryBaseUrl: z.string().optional(),
  identifier: text.min(1),
  version: text.optional(),
  runtimeHint: text.optional(),
  transport: z.object({ type: z.string() }).default({ type: "stdio" }),
  runtimeArguments: inputs(Argument),
  packageArguments: inputs(Argument),
  environmentVariables: inputs(Variable),
});
const Server = z.object({
  name: z.string().regex(/^[A-Za-z0-9.-]+\/[A-Za-z0-9._-]+$/, { error: "must be NAMESPACE/NAME" }),
  title: z.string().optional(),
  description: z.string().default(""),
  version: z.string().max(255),
  repository: z.object({ url: z.string().optional() }).optional(),
  packages: inputs(Package),
  remotes: inputs(Remote),
});

export type RegistryInput = z.infer<typeof InputWithVariables>;
export type RegistryKeyValue = z.infer<typeof Header>;
export type RegistryArgument = z.infer<typeof Argument>;
export type RegistryPackage = z.infer<typeof Package>;
export type RegistryRemote = z.infer<typeof Remote>;

/** One version of a server, with what the registry says of it. */
export interface RegistryServer extends z.infer<typeof Server> {
  /** `active`, `deprecated`, `deleted`, or another word of the registry. */
  status: string;
  statusMessage: string | undefined;
  publishedAt: string | undefined;
}

/** What the registry itself says of an entry of its list (`_meta`). */
export function registryMetadata(entry: unknown): Readonly<Record<string, unknown>> {
  const metadata = isObject(entry) && isObject(entry._meta) ? entry._meta : {};
  const official = metadata["io.modelcontextprotocol.registry/official"];
  return isObject(official) ? official : {};
}

/** The name in an entry of a registry's list; `undefined` if it has none. The entry is a `server.json`, or has one as `server`. */
export function nameIn(entry: unknown): { name: string; version: unknown } | undefined {
  const server = isObject(entry) && isObject(entry.server) ? entry.server : entry;
  return isObject(server) && typeof server.name === "string"
    ? { name: server.name, version: server.version }
    : undefined;
}

/**
 * Reads an entry of a registry's list.
 *
 * @throws Refusal that says what is wrong with the description.
 */
export function readServer(entry: unknown): RegistryServer {
  const server = isObject(entry) && isObject(entry.server) ? entry.server : entry;
  const read = Server.safeParse(server);
  if (!read.success) {
    const [issue] = read.error.issues;
    const place = issue?.path.map((step) => (typeof step === "number" ? `[${step}]` : `.${String(step)}`));
    const where = place?.join("").replace(/^\./, "") ?? "";
    const named = nameIn(entry)?.name ?? "a server";
    throw new Refusal(
      visibleLine(`the registry's description of '${named}' is not usable: ${where}: ${issue?.message}`),
    );
  }
  const said = registryMetadata(entry);
  const textOf = (value: unknown) => (typeof value === "string" ? value : undefined);
  const ownStatus = isObject(server) ? textOf(server.status) : undefined;
  return {
    ...read.data,
    status: textOf(said.status) ?? ownStatus ?? "active",
    statusMessage: textOf(said.statusMessage),
    publishedAt: textOf(said.publishedAt),
  };
}
