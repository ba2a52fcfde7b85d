/**
 * Adds one server to ptc.yaml: its secrets go to the keyring, and it is tried before it is written. A registry may propose the entry for
 * it.
 */
import { dirname, join, resolve } from "node:path";
import { stringify } from "yaml";
import { visibleLine } from "../base/visible-text.ts";
import { renderOffer } from "../catalog/parse-tool.ts";
import { modulePath } from "../catalog/store/stored-catalog.ts";
import { configurationOf, findConfiguration } from "../configuration/load.ts";
import {
  type ArgumentSecret,
  findPlainSecrets,
  fromKeyring,
  keyringNameOf,
  type PlainSecret,
  replaceSecrets,
  withoutArgumentSecrets,
} from "../configuration/plain-secrets.ts";
import type { ServerEntry } from "../configuration/settings/server-settings.ts";
import { addServer as addToText, renderConfiguration } from "../configuration/write-file.ts";
import type { Generation } from "../generation/generate.ts";
import { UserSecrets } from "../secrets/user-secrets.ts";
import type { EnvironmentVariables } from "../system/environment-variables.ts";
import { type Here, refuseLinkOut, replaceFile } from "./clients/client-files.ts";
import { ProjectGenerator } from "./generate.ts";
import { Project } from "./open-project.ts";
import { Refusal } from "./refusal.ts";
import { type ProposedEntry, type Way, waysOf } from "./registry/proposal.ts";
import { findInRegistry } from "./registry/registry.ts";
import type { RegistryServer } from "./registry/server-json.ts";
import type { Surroundings } from "./surroundings.ts";

/** What became of a server that was to be added. */
export type Addition =
  | { kind: "not added"; why: string }
  | {
      kind: "added";
      /** The configuration file, as it was named. */
      file: string;
      /** What the user must know of the secrets of the server. */
      notes: readonly string[];
      /** The environment with the secrets that the arguments and the URL name from now on. */
      env: EnvironmentVariables;
      outcome: AddedServer;
    };

export interface AddOptions {
  config: string | undefined;
  isForced: boolean;
  secretKeys?: readonly string[] | undefined;
  variables?: readonly ArgumentSecret[] | undefined;
}

/** Whether an added server works. */
type AddedServer =
  | { works: true; offer: string; module: string; generation: Generation }
  | { works: false; why: string; needsLogin: boolean };

/**
 * Adds a server, and writes its module if it works.
 *
 * @param options `config` is the value of `--config`. `isForced` adds a server that does not answer. `secretKeys` are variables and
 *   headers of the entry that are secret whatever they look like, and `variables` stand for secrets in its arguments and its URL.
 * @throws Refusal if its name is taken or cannot be used, ConfigurationError
 */
export async function addServer(
  given: ServerEntry,
  { config, isForced, secretKeys = [], variables: known = [] }: AddOptions,
  here: Here,
  { signal, onWarning }: { signal: AbortSignal; onWarning: (message: string) => void },
): Promise<Addition> {
  const cwd = here.cwd();
  const found = await findConfiguration({ flag: config, env: here.env, cwd });
  const file = found?.file ?? "ptc.yaml";
  const path = found?.path ?? join(cwd, file);
  refuseLinkOut(dirname(path), path);
  const parse = (text: string, env: EnvironmentVariables) =>
    configurationOf({ file, path, text }, { env, cwd });
  const text = found?.text ?? "";
  const { name } = given;
  if (parse(text, here.env).servers.some((server) => server.name === name))
    throw new Refusal(`${file} already has a server '${name}'; choose another name, or edit it there`);
  if (!/^[A-Za-z0-9._-]{1,64}$/.test(name))
    throw new Refusal("a server's name has 1 to 64 letters, digits, `.`, `_` or `-`");
  const { entry: plain, variables: hidden } = withoutArgumentSecrets(given);
  const variables = [...known, ...hidden];
  // Arguments and URLs have no source but variables. The server is tried with the values that were given.
  const env = {
    ...here.env,
    ...Object.fromEntries(variables.map((each) => [each.variable, each.secret])),
  };
  const secrets = findPlainSecrets(plain, secretKeys);
  const entry = replaceSecrets(plain, secrets, fromKeyring);
  const next = found === undefined ? renderConfiguration([entry]) : addToText(text, entry);
  const configuration = parse(next, env);
  const kept = await keepSecrets(secrets, here.env);
  if ("why" in kept) return { kind: "not added", why: kept.why };

  const project = new Project(configuration, { env, onWarning });
  try {
    const generator = new ProjectGenerator(project, { names: [name], resolvesPackages: true });
    const generation = await generator.propose(signal);
    const [failure] = generation.failures;
    const needsLogin = failure?.code === "login_required";
    if (signal.aborted || (failure !== undefined && !isForced && !needsLogin)) {
      await kept.undo();
      const why = failure === undefined ? "it was interrupted" : failure.message;
      return { kind: "not added", why: `${why}; --force writes it all the same` };
    }
    await replaceFile(path, found?.text, next);
    const notes = [
      ...kept.notes,
      ...variables.map(
        ({ variable }) =>
          `a secret in its arguments or its URL is \${${variable}} in ptc.yaml: set ${variable} where ptc is started`,
      ),
    ];
    const added = { kind: "added", file, notes, env } as const;
    if (failure !== undefined)
      return { ...added, outcome: { works: false, why: failure.message, needsLogin } };
    await generator.write(generation);
    const tools = generation.plan.catalog.servers.find((server) => server.name === name)?.tools ?? [];
    const module = configuration.servers.find((server) => server.name === name)?.module ?? name;
    const shown = join(generator.directory, modulePath(module));
    return { ...added, outcome: { works: true, offer: renderOffer(tools), module: shown, generation } };
  } finally {
    await project.close();
  }
}

/** Puts secrets into the keyring, or says why that fails. `undo` restores the keyring. */
async function keepSecrets(
  secrets: readonly PlainSecret[],
  env: EnvironmentVariables,
): Promise<{ notes: string[]; undo(): Promise<void> } | { why: string }> {
  const keyring = new UserSecrets(env);
  const before = new Map<string, string | undefined>();
  const notes: string[] = [];
  const undo = async () => {
    for (const [name, value] of before)
      await (value === undefined ? keyring.delete(name) : keyring.set(name, value));
  };
  for (const secret of secrets) {
    const name = keyringNameOf(secret);
    const earlier = await keyring.get(name).catch(() => undefined);
    const kept = await keyring.set(name, secret.secret);
    if (!kept.ok) {
      await undo();
      return { why: `${secret.key} looks like a secret, and cannot be kept: ${kept.why}` };
    }
    before.set(name, earlier);
    notes.push(`${secret.key} is kept as '${name}' in ${kept.where}; ptc.yaml only names it`);
  }
  return { notes, undo };
}

export interface RegistryRequest {
  /** `NAMESPACE/NAME`, `NAME`, either with `@VERSION`. */
  name: string;
  /** The value of `--registry`, relative to the working folder. */
  registry: string | undefined;
  /** The value of `--config`. */
  config: string | undefined;
}

/** A server that a registry has, and the ways to run or reach it. */
export interface RegistryOffer {
  server: RegistryServer;
  /** What a person should know of it, line by line. */
  described: readonly string[];
  ways: readonly Way[];
}

/**
 * Finds a server in the registry of `--registry` or of the configuration.
 *
 * @throws Refusal where there is no registry, no such server, or no way to run or reach it.
 */
export async function findOffer(
  { name, registry, config }: RegistryRequest,
  { env, cwd }: Pick<Surroundings, "env" | "cwd">,
  signal: AbortSignal,
): Promise<RegistryOffer> {
  const here = cwd();
  const found = await findConfiguration({ flag: config, env, cwd: here });
  const configured = found === undefined ? undefined : configurationOf(found, { env, cwd: here }).registry;
  const isUrl = registry !== undefined && /^https?:\/\//i.test(registry);
  if (isUrl && !URL.canParse(registry)) throw new Refusal("--registry is no valid URL");
  const place = registry === undefined ? configured : isUrl ? registry : resolve(here, registry);
  if (place === undefined)
    throw new Refusal(
      "no registry is configured; name one with --registry, a URL or a file, or as `registry` in ptc.yaml (https://registry.modelcontextprotocol.io is the public one)",
    );
  const [, plain = name, version] = /^([^@]+)@(.+)$/.exec(name) ?? [];
  const { server, otherVersions } = await findInRegistry({ name: plain, version, registry: place }, signal);
  const { ways, others } = waysOf(server);
  if (ways.length === 0) {
    const why = others.length === 0 ? "its description has no package and no URL" : others.join("; ");
    throw new Refusal(`ptc cannot run ${server.name}: ${why}`);
  }
  return { server, described: describe(server, otherVersions, ways, others), ways };
}

/** The entry as it is written to ptc.yaml, without its secrets. */
export function renderProposal({ entry, secretKeys }: ProposedEntry): string {
  const plain = findPlainSecrets(entry, secretKeys);
  return stringify([replaceSecrets(entry, plain, fromKeyring)], { lineWidth: 0 }).trimEnd();
}

const MAX_VERSIONS = 5;

function describe(
  server: RegistryServer,
  otherVersions: readonly string[],
  ways: readonly Way[],
  others: readonly string[],
): string[] {
  const { name, title, description, version, repository, status, statusMessage, publishedAt } = server;
  const [publisher = ""] = name.split("/");
  const more = otherVersions.length - MAX_VERSIONS;
  const shown = otherVersions.slice(0, MAX_VERSIONS).join(", ");
  const lines: [string, string | undefined][] = [
    ["server", title === undefined ? name : `${name} (${title})`],
    ["what it is", description],
    ["publisher", publisher],
    ["repository", repository?.url],
    ["version", publishedAt === undefined ? version : `${version}, published ${publishedAt.slice(0, 10)}`],
    ["other versions", shown === "" ? undefined : more > 0 ? `${shown} and ${more} more` : shown],
    ["status", status === "active" ? undefined : `${status}${statusMessage ? `: ${statusMessage}` : ""}`],
    ...ways.map(({ kind, what }): [string, string] => [kind, what]),
    ...others.map((other): [string, string] => ["not for ptc", other]),
  ];
  return lines.flatMap(([what, said]) =>
    said === undefined || said === "" ? [] : [`${what}: ${visibleLine(said)}`],
  );
}
