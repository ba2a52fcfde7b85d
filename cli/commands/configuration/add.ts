import { relative } from "node:path";
import { oneLine, visibleLine } from "../../../base/visible-text.ts";
import { addServer } from "../../../project/add-server.ts";
import { proposalWarnings } from "../../../project/generate.ts";
import { SIGNALS, type Surroundings } from "../../../project/surroundings.ts";
import {
  collect,
  defineCommand,
  EXIT,
  type ExitCode,
  tell,
  UsageError,
  warnOn,
  write,
} from "../../command.ts";
import { inProject } from "../../project-command.ts";
import { login } from "../auth.ts";
import { generate } from "../generate.ts";
import { canAsk } from "./client-files.ts";

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
  const entry = buildEntry(name, target, flags);
  const stop = new AbortController();
  for (const signal of SIGNALS) surroundings.on(signal, () => stop.abort());
  const onWarning = warnOn(stderr);
  const added = await addServer(
    entry,
    { config: flags.config, isForced: flags.force === true },
    surroundings,
    { signal: stop.signal, onWarning },
  );
  if (added.kind === "not added") {
    await tell(stderr, `'${name}' was not added: ${oneLine(added.why)}`);
    return EXIT.failed;
  }
  const { outcome, notes, env } = added;
  const file = visibleLine(added.file);
  for (const note of notes) await tell(stderr, note);
  if (outcome.works) {
    for (const warning of proposalWarnings(outcome.generation, false)) onWarning(warning);
    const module = relative(surroundings.cwd(), outcome.module);
    await write(stdout, `added '${name}' to ${file}: ${outcome.offer}, ${module}\n`);
    return EXIT.done;
  }
  if (outcome.needsLogin && canAsk(surroundings)) {
    await tell(stderr, `added '${name}' to ${file}; it asks for a login`);
    const config = flags.config === undefined ? {} : { config: flags.config };
    const given = { ...surroundings, env };
    return inProject(config, given, async (project) => {
      const code = await login(project, name, { ...config, browser: true }, given);
      return code === EXIT.done ? generate(project, [name], config, given) : code;
    });
  }
  await write(stdout, `added '${name}' to ${file}; it does not work yet\n`);
  await tell(stderr, oneLine(outcome.why));
  return EXIT.failed;
}

type ServerEntry = Parameters<typeof addServer>[0];

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
