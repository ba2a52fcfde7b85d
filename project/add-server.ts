/** Adds one server to ptc.yaml: its secrets go to the keyring, and it is tried before it is written. */
import { dirname, join } from "node:path";
import { renderOffer } from "../catalog/parse-tool.ts";
import { modulePath } from "../catalog/store/stored-catalog.ts";
import { configurationOf, findConfiguration } from "../configuration/load.ts";
import {
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

/** Whether an added server works. */
type AddedServer =
  | { works: true; offer: string; module: string; generation: Generation }
  | { works: false; why: string; needsLogin: boolean };

/**
 * Adds a server, and writes its module if it works.
 *
 * @param options `config` is the value of `--config`. `isForced` adds a server that does not answer.
 * @throws Refusal if its name is taken or cannot be used, ConfigurationError
 */
export async function addServer(
  given: ServerEntry,
  { config, isForced }: { config: string | undefined; isForced: boolean },
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
  const { entry: plain, variables } = withoutArgumentSecrets(given);
  // Arguments and URLs have no source but variables. The server is tried with the values that were given.
  const env = {
    ...here.env,
    ...Object.fromEntries(variables.map((each) => [each.variable, each.secret])),
  };
  const secrets = findPlainSecrets(plain);
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
