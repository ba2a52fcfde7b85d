import { relative } from "node:path";
import { oneLine, visibleLine } from "../../../base/visible-text.ts";
import { addServer, findOffer, renderProposal } from "../../../project/add-server.ts";
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
import { login, readHidden } from "../auth.ts";
import { generate } from "../generate.ts";
import { ask, canAsk, isConfirmed } from "./client-files.ts";

interface AddFlags {
  config?: string;
  transport?: string;
  openapi?: string;
  baseUrl?: string;
  description?: string;
  env: string[];
  header: string[];
  force?: boolean;
  registry?: string;
  package?: string;
  as?: string;
  argument: string[];
  yes?: boolean;
}

/** `NAMESPACE/NAME`, with or without a version. */
const OF_REGISTRY = /^[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+\/[A-Za-z0-9._-]+(?:@.+)?$/;

/** `ptc add NAME -- COMMAND...`, `ptc add NAME URL`, `ptc add NAME --openapi FILE|URL` and `ptc add NAMESPACE/NAME` */
export const addCommand = defineCommand("add", add, (command) =>
  command
    .description("write a server into ptc.yaml, try it, and generate its module")
    .argument("<name>", "the server's name in ptc.yaml, or NAMESPACE/NAME[@VERSION] in a registry")
    .argument("[target...]", "its URL, or after -- the command that starts it")
    .option("--env <name=value>", "a variable for the command (repeatable)", collect, [])
    .option("--header <header>", "'Name: value', a header for the URL (repeatable)", collect, [])
    .option("--transport <transport>", "stdio, http or sse (default: by the target)")
    .option("--openapi <description>", "the file or the URL of an OpenAPI description, instead of a target")
    .option("--base-url <url>", "where the API of --openapi is (default: where its description says)")
    .option("--description <text>", "what it is for")
    .option(
      "--registry <place>",
      "find it in this registry: a URL, or a file (default: `registry` of ptc.yaml)",
    )
    .option("--package <kind>", "of a registry: npm, pypi, oci, nuget or remote (default: the first)")
    .option("--argument <name=value>", "of a registry: a value that it asks for (repeatable)", collect, [])
    .option("--as <name>", "of a registry: its name in ptc.yaml (default: what follows the slash)")
    .option("--yes", "of a registry: add it without a question")
    .option("--force", "write it even if the server does not answer")
    .option(
      "--config <file>",
      "configuration file (default: ptc.yaml here, or the nearest above; where there is none, it is made here)",
    )
    .addHelpText(
      "after",
      "\nA secret goes to the keyring, and ptc.yaml names it: write `$" +
        "{NAME}` to take it from the environment instead.\nA server that does not answer is not written, unless --force is given.\n\nExamples:\n  ptc add files -- npx -y @modelcontextprotocol/server-filesystem .\n  ptc add apis https://apis.example.com/mcp --header 'Authorization: Bearer ...'\n  ptc add billing --openapi ./billing.yaml --base-url https://billing.example.com/v1\n  ptc add io.github.example/weather --env WEATHER_KEY='$" +
        "{WEATHER_KEY}' --yes\n",
    ),
);

async function add(
  name: string,
  target: readonly string[],
  flags: AddFlags,
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { stdout, stderr } = surroundings;
  const isOfRegistry =
    target.length === 0 &&
    flags.openapi === undefined &&
    (OF_REGISTRY.test(name) || flags.registry !== undefined);
  if (!isOfRegistry) refuseRegistryFlags(flags);
  const given = isOfRegistry ? undefined : { entry: buildEntry(name, target, flags) };
  const stop = new AbortController();
  for (const signal of SIGNALS) surroundings.on(signal, () => stop.abort());
  const proposed = given ?? (await chooseFromRegistry(name, flags, surroundings, stop.signal));
  if (typeof proposed === "number") return proposed;
  const { entry, ...secrets } = proposed;
  const onWarning = warnOn(stderr);
  const added = await addServer(
    entry,
    { config: flags.config, isForced: flags.force === true, ...secrets },
    surroundings,
    { signal: stop.signal, onWarning },
  );
  if (added.kind === "not added") {
    await tell(stderr, `'${entry.name}' was not added: ${oneLine(added.why)}`);
    return EXIT.failed;
  }
  const { outcome, notes, env } = added;
  const file = visibleLine(added.file);
  for (const note of notes) await tell(stderr, note);
  if (outcome.works) {
    for (const warning of proposalWarnings(outcome.generation, false)) onWarning(warning);
    const module = relative(surroundings.cwd(), outcome.module);
    await write(stdout, `added '${entry.name}' to ${file}: ${outcome.offer}, ${module}\n`);
    return EXIT.done;
  }
  if (outcome.needsLogin && canAsk(surroundings)) {
    await tell(stderr, `added '${entry.name}' to ${file}; it asks for a login`);
    const config = flags.config === undefined ? {} : { config: flags.config };
    const given = { ...surroundings, env };
    return inProject(config, given, async (project) => {
      const code = await login(project, entry.name, { ...config, browser: true }, given);
      return code === EXIT.done ? generate(project, [entry.name], config, given) : code;
    });
  }
  await write(stdout, `added '${entry.name}' to ${file}; it does not work yet\n`);
  await tell(stderr, oneLine(outcome.why));
  return EXIT.failed;
}

type Way = Awaited<ReturnType<typeof findOffer>>["ways"][number];
type WantedValue = Way["wanted"][number];
type ProposedEntry = ReturnType<Way["entry"]>;
/** Values of flags, and those that a person types. */
type Values = Record<WantedValue["place"], [string, string][]>;

/** @throws UsageError */
function refuseRegistryFlags(flags: AddFlags): void {
  for (const flag of ["registry", "package", "as", "yes"] as const)
    if (flags[flag] !== undefined)
      throw new UsageError(`--${flag} is for a server of a registry; write \`ptc add NAMESPACE/NAME\``);
  if (flags.argument.length > 0)
    throw new UsageError("--argument is for a server of a registry; write arguments after --");
}

/**
 * Shows a server of a registry and the entry for it, and asks whether to add it. The exit code where it is not added.
 *
 * @throws Refusal, UsageError
 */
async function chooseFromRegistry(
  name: string,
  flags: AddFlags,
  surroundings: Surroundings,
  signal: AbortSignal,
): Promise<ProposedEntry | ExitCode> {
  for (const flag of ["transport", "baseUrl"] as const)
    if (flags[flag] !== undefined)
      throw new UsageError(
        `--${flag === "baseUrl" ? "base-url" : flag} does not go with a server of a registry`,
      );
  const { stderr } = surroundings;
  const { config, registry } = flags;
  const { server, described, ways } = await findOffer({ name, registry, config }, surroundings, signal);
  for (const line of described) await write(stderr, `${line}\n`);
  const way = wayOf(ways, flags.package);
  const values: Values = {
    env: pairs(flags.env, "--env", "=", (value) => value),
    header: pairs(flags.header, "--header", ":", (value) => value.trim()),
    argument: pairs(flags.argument, "--argument", "=", (value) => value),
  };
  const [unknown] = way.unknown(values);
  if (unknown !== undefined)
    throw new UsageError(`${server.name} takes no ${oneLine(unknown)}; --package chooses another way`);
  if (canAsk(surroundings) && flags.yes !== true)
    for (const wanted of way.open(values)) {
      const said = await askFor(wanted, surroundings);
      if (said === undefined) return notAdded();
      values[wanted.place].push(...said.map((value): [string, string] => [wanted.key, value]));
    }
  const missing = way.open(values).filter(({ isRequired, fallback }) => isRequired && fallback === undefined);
  if (missing.length > 0) throw new UsageError(`${server.name} needs ${missing.map(wordsFor).join(" ")}`);
  const proposed = way.entry(flags.as ?? server.name.slice(server.name.indexOf("/") + 1), values);
  const description = flags.description ?? oneLine(server.description);
  const whole = {
    ...proposed,
    entry: description === "" ? proposed.entry : { ...proposed.entry, description },
  };
  await write(stderr, `\nptc.yaml gets:\n${renderProposal(whole)}\n`);
  if (flags.yes === true) return whole;
  if (!canAsk(surroundings)) {
    await tell(stderr, "nothing was written: nobody can be asked here; --yes adds it");
    return EXIT.usage;
  }
  return (await isConfirmed("Add it, and start it?", surroundings)) ? whole : notAdded();

  async function notAdded(): Promise<ExitCode> {
    await tell(stderr, "nothing was written");
    return EXIT.failed;
  }
}

/** @throws UsageError for a kind that the server does not have. */
function wayOf(ways: readonly Way[], kind: string | undefined): Way {
  const way = kind === undefined ? ways[0] : ways.find((each) => each.kind === kind);
  if (way !== undefined) return way;
  const kinds = [...new Set(ways.map((each) => each.kind))];
  throw new UsageError(`--package: the server has no '${kind}', but ${kinds.join(", ")}`);
}

/** How a value is given on the command line. */
function wordsFor({ place, key, description }: WantedValue): string {
  const name = oneLine(key);
  const word = {
    env: `--env ${name}=...`,
    header: `--header '${name}: ...'`,
    argument: `--argument ${name}=...`,
  }[place];
  return description === undefined ? word : `${word} (${oneLine(description)})`;
}

/** Asks for a value; undefined on Ctrl-C and at the end of input. An empty line leaves a value out that is not required. */
async function askFor(wanted: WantedValue, surroundings: Surroundings): Promise<string[] | undefined> {
  const { key, description, isSecret, isRequired, isRepeated, fallback, choices } = wanted;
  const about = [
    ...(description === undefined ? [] : [oneLine(description)]),
    ...(choices.length > 0 ? [`one of ${choices.map((choice) => oneLine(choice)).join(", ")}`] : []),
    ...(isSecret ? ["it is not shown"] : []),
    ...(fallback !== undefined ? [`default ${oneLine(fallback)}`] : isRequired ? [] : ["optional"]),
  ];
  const prompt = `${oneLine(key)}${about.length === 0 ? "" : ` (${about.join("; ")})`}: `;
  const values: string[] = [];
  for (;;) {
    const line = isSecret ? await readHidden(prompt, surroundings) : await ask(prompt, surroundings);
    if (line === undefined) return undefined;
    const value = line.trim();
    const isChoice = choices.length === 0 || choices.includes(value);
    if (value !== "" && isChoice) values.push(value);
    if (value === "" && (values.length > 0 || !isRequired || fallback !== undefined)) return values;
    if (value !== "" && isChoice && !isRepeated) return values;
  }
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
    throw new UsageError(
      "say how to reach the server: a URL, a command after --, --openapi FILE, or NAMESPACE/NAME of a registry",
    );
  const isUrl = /^https?:\/\//i.test(first) && transport !== "stdio";
  const common = { name, ...(description === undefined ? {} : { description }) };
  if (isUrl) {
    if (rest.length > 0) throw new UsageError(`'${rest[0]}' stands after the URL; put options before it`);
    if (flags.env.length > 0) throw new UsageError("--env is for a command; a URL takes --header");
    const headers = Object.fromEntries(pairs(flags.header, "--header", ":", (value) => value.trim()));
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
  const env = Object.fromEntries(pairs(flags.env, "--env", "=", (value) => value));
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
  const headers = Object.fromEntries(pairs(header, "--header", ":", (value) => value.trim()));
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
): [string, string][] {
  return words.map((word): [string, string] => {
    const at = word.indexOf(separator);
    // The word is not quoted, because it may be a secret.
    if (at <= 0) throw new UsageError(`${flag}: write 'NAME${separator === ":" ? ": " : separator}value'`);
    return [word.slice(0, at).trim(), read(word.slice(at + 1))];
  });
}
