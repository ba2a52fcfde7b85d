import { dirname, join, relative } from "node:path";
import { oneLine, visibleLine } from "../../../base/visible-text.ts";
import { renderOffer } from "../../../catalog/parse-tool.ts";
import { modulePath } from "../../../catalog/store/stored-catalog.ts";
import { configurationOf, findConfiguration } from "../../../configuration/load.ts";
import {
  findPlainSecrets,
  fromKeyring,
  keyringNameOf,
  type PlainSecret,
  replaceSecrets,
  withoutArgumentSecrets,
} from "../../../configuration/plain-secrets.ts";
import type { ServerEntry } from "../../../configuration/settings/server-settings.ts";
import { addServer, renderConfiguration } from "../../../configuration/write-file.ts";
import { ProjectGenerator } from "../../../project/generate.ts";
import { Project } from "../../../project/open-project.ts";
import { UserSecrets } from "../../../secrets/user-secrets.ts";
import type { EnvironmentVariables } from "../../../system/environment-variables.ts";
import {
  collect,
  defineCommand,
  EXIT,
  type ExitCode,
  SIGNALS,
  type Surroundings,
  tell,
  UsageError,
  warnOn,
  write,
} from "../../command.ts";
import { inProject } from "../../project-command.ts";
import { login } from "../auth.ts";
import { generate, proposalWarnings } from "../generate.ts";
import { canAsk, refuseLinkOut, replaceFile } from "./client-files.ts";

interface AddFlags {
  config?: string;
  transport?: string;
  openapi?: string;
  baseUrl?: string;
  description?: string;
  env: string[];
  header: string[];
  force?: boolean;
}

/** `ptc add NAME -- COMMAND...`, `ptc add NAME URL` and `ptc add NAME --openapi FILE|URL` */
export const addCommand = defineCommand("add", add, (command) =>
  command
    .description("write a server into ptc.yaml, try it, and generate its module")
    .argument("<name>", "what the server is called in ptc.yaml")
    .argument("[target...]", "its URL, or after -- the command that starts it")
    .option("--env <name=value>", "a variable for the command (repeatable)", collect, [])
    .option("--header <header>", "'Name: value', a header for the URL (repeatable)", collect, [])
    .option("--transport <transport>", "stdio, http or sse (default: by the target)")
    .option("--openapi <description>", "the file or the URL of an OpenAPI description, instead of a target")
    .option("--base-url <url>", "where the API of --openapi is (default: where its description says)")
    .option("--description <text>", "what it is for")
    .option("--force", "write it even if the server does not answer")
    .option(
      "--config <file>",
      "configuration file (default: ptc.yaml here, or the nearest above; where there is none, it is made here)",
    )
    .addHelpText(
      "after",
      "\nA secret goes to the keyring, and ptc.yaml names it: write `$" +
        "{NAME}` to take it from the environment instead.\nA server that does not answer is not written, unless --force is given.\n\nExamples:\n  ptc add files -- npx -y @modelcontextprotocol/server-filesystem .\n  ptc add apis https://apis.example.com/mcp --header 'Authorization: Bearer ...'\n  ptc add billing --openapi ./billing.yaml --base-url https://billing.example.com/v1\n",
    ),
);

async function add(
  name: string,
  target: readonly string[],
  flags: AddFlags,
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { stdout, stderr } = surroundings;
  const cwd = surroundings.cwd();
  const found = await findConfiguration({ flag: flags.config, env: surroundings.env, cwd });
  const file = found?.file ?? "ptc.yaml";
  const path = found?.path ?? join(cwd, file);
  const directory = dirname(path);
  refuseLinkOut(directory, path);
  const parse = (text: string, env: EnvironmentVariables) =>
    configurationOf({ file, path, text }, { env, cwd });
  const text = found?.text ?? "";
  const same = parse(text, surroundings.env).servers.find((server) => server.name === name);
  if (same !== undefined)
    throw new UsageError(`${file} already has a server '${name}'; choose another name, or edit it there`);
  if (!/^[A-Za-z0-9._-]{1,64}$/.test(name))
    throw new UsageError("a server's name has 1 to 64 letters, digits, `.`, `_` or `-`");
  const { entry: plain, variables } = withoutArgumentSecrets(buildEntry(name, target, flags));
  // Arguments and URLs have no source but variables. The server is tried with the values that were given.
  const env = {
    ...surroundings.env,
    ...Object.fromEntries(variables.map((each) => [each.variable, each.secret])),
  };
  const secrets = findPlainSecrets(plain);
  const entry = replaceSecrets(plain, secrets, fromKeyring);
  const next = found === undefined ? renderConfiguration([entry]) : addServer(text, entry);
  const configuration = parse(next, env);
  const kept = await keepSecrets(secrets, surroundings);
  if (kept === undefined) return EXIT.failed;

  const stop = new AbortController();
  for (const signal of SIGNALS) surroundings.on(signal, () => stop.abort());
  const warn = warnOn(stderr);
  const project = new Project(configuration, { env, onWarning: warn });
  try {
    const generator = new ProjectGenerator(project, { names: [name], resolvesPackages: true });
    const generation = await generator.propose(stop.signal);
    const [failure] = generation.failures;
    const needsLogin = failure?.code === "login_required";
    if (stop.signal.aborted || (failure !== undefined && flags.force !== true && !needsLogin)) {
      await kept.undo();
      const why = failure === undefined ? "it was interrupted" : failure.message;
      await tell(stderr, `'${name}' was not added: ${oneLine(why)}; --force writes it all the same`);
      return EXIT.failed;
    }
    await replaceFile(path, found?.text, next);
    for (const told of kept.told) await tell(stderr, told);
    for (const { variable } of variables)
      await tell(
        stderr,
        `a secret in its arguments or its URL is \${${variable}} in ptc.yaml: set ${variable} where ptc is started`,
      );
    if (needsLogin && canAsk(surroundings)) {
      await tell(stderr, `added '${name}' to ${visibleLine(file)}; it asks for a login`);
      const config = flags.config === undefined ? {} : { config: flags.config };
      const given = { ...surroundings, env };
      return inProject(config, given, async (added) => {
        const code = await login(added, name, { ...config, browser: true }, given);
        return code === EXIT.done ? generate(added, [name], config, given) : code;
      });
    }
    if (failure !== undefined) {
      await write(stdout, `added '${name}' to ${visibleLine(file)}; it does not work yet\n`);
      await tell(stderr, oneLine(failure.message));
      return EXIT.failed;
    }
    for (const warning of proposalWarnings(generation, false)) warn(warning);
    await generator.write(generation);
    const tools = generation.plan.catalog.servers.find((server) => server.name === name)?.tools ?? [];
    const module = configuration.servers.find((server) => server.name === name)?.module ?? name;
    const shown = relative(cwd, join(generator.directory, modulePath(module)));
    await write(stdout, `added '${name}' to ${visibleLine(file)}: ${renderOffer(tools)}, ${shown}\n`);
    return EXIT.done;
  } finally {
    await project.close();
  }
}

/** @throws UsageError for a target and flags that do not go together. */
function buildEntry(name: string, target: readonly string[], flags: AddFlags): ServerEntry {
  const { transport, description } = flags;
  if (transport !== undefined && transport !== "stdio" && transport !== "http" && transport !== "sse")
    throw new UsageError(`--transport: '${transport}' is not stdio, http or sse`);
  if (flags.openapi !== undefined) return buildApiEntry(name, target, flags, flags.openapi);
  if (flags.baseUrl !== undefined) throw new UsageError("--base-url goes with --openapi");
  const [first = "", ...rest] = target;
  if (first === "")
    throw new UsageError("say how to reach the server: a URL, a command after --, or --openapi FILE");
  const isUrl = /^https?:\/\//i.test(first) && transport !== "stdio";
  const common = { name, ...(description === undefined ? {} : { description }) };
  if (isUrl) {
    if (rest.length > 0) throw new UsageError(`'${rest[0]}' stands after the URL; put options before it`);
    if (flags.env.length > 0) throw new UsageError("--env is for a command; a URL takes --header");
    const headers = pairs(flags.header, "--header", ":", (value) => value.trim());
    return {
      ...common,
      transport: transport === "sse" ? "sse" : "http",
      url: first,
      ...(flags.header.length > 0 && { headers }),
    };
  }
  if (transport === "http" || transport === "sse")
    throw new UsageError(`'${first}' is not a URL; write http://host:port/path or https://host/path`);
  if (flags.header.length > 0) throw new UsageError("--header is for a URL; a command takes --env");
  const env = pairs(flags.env, "--env", "=", (value) => value);
  return {
    ...common,
    transport: "stdio",
    command: first,
    ...(rest.length > 0 && { args: rest }),
    ...(flags.env.length > 0 && { env }),
  };
}

function buildApiEntry(
  name: string,
  target: readonly string[],
  { transport, description, env, header, baseUrl }: AddFlags,
  openapi: string,
): ServerEntry {
  if (target.length > 0)
    throw new UsageError(`'${target[0]}' does not go with --openapi; remove one of the two`);
  if (transport !== undefined) throw new UsageError("--transport does not go with --openapi");
  if (env.length > 0) throw new UsageError("--env is for a command; an API takes --header");
  const headers = pairs(header, "--header", ":", (value) => value.trim());
  return {
    name,
    ...(description === undefined ? {} : { description }),
    openapi,
    ...(baseUrl === undefined ? {} : { base_url: baseUrl }),
    ...(header.length > 0 && { headers }),
  };
}

function pairs(
  words: readonly string[],
  flag: string,
  separator: string,
  read: (value: string) => string,
): Record<string, string> {
  const entries = words.map((word): [string, string] => {
    const at = word.indexOf(separator);
    // The word is not quoted, because it may be a secret.
    if (at <= 0) throw new UsageError(`${flag}: write 'NAME${separator === ":" ? ": " : separator}value'`);
    return [word.slice(0, at).trim(), read(word.slice(at + 1))];
  });
  return Object.fromEntries(entries);
}

/** Puts secrets into the keyring. Returns `undefined` and tells the user if that fails. `undo` restores the keyring. */
async function keepSecrets(
  secrets: readonly PlainSecret[],
  { env, stderr }: Surroundings,
): Promise<{ told: string[]; undo(): Promise<void> } | undefined> {
  const keyring = new UserSecrets(env);
  const before = new Map<string, string | undefined>();
  const told: string[] = [];
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
      await tell(
        stderr,
        `'${secret.server}' was not added: ${secret.key} looks like a secret, and cannot be kept: ${kept.why}`,
      );
      return undefined;
    }
    before.set(name, earlier);
    told.push(`${secret.key} is kept as '${name}' in ${kept.where}; ptc.yaml only names it`);
  }
  return { told, undo };
}
