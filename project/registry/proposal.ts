/** Makes the entry of ptc.yaml for a server of a registry, from its description and what a person gives. Pure. */
import { visibleLine } from "../../base/visible-text.ts";
import { SecretVariables, withoutArgumentSecrets } from "../../configuration/plain-secrets.ts";
import type { ServerEntry } from "../../configuration/settings/server-settings.ts";
import { readPackageCommand } from "../../upstream/packages/package-command.ts";
import { Refusal } from "../refusal.ts";
import type {
  RegistryArgument,
  RegistryInput,
  RegistryKeyValue,
  RegistryPackage,
  RegistryRemote,
  RegistryServer,
} from "./server-json.ts";

/** A value that a server takes from the person who adds it. */
interface WantedValue {
  place: "env" | "header" | "argument";
  /** The variable, the header, or the argument without its dashes. */
  key: string;
  description: string | undefined;
  isRequired: boolean;
  isSecret: boolean;
  isRepeated: boolean;
  fallback: string | undefined;
  choices: readonly string[];
}

/** One way to run or reach a server. */
export interface Way {
  /** `npm`, `pypi`, `oci`, `nuget` or `remote`. */
  kind: string;
  /** The package with its version, or the URL. */
  what: string;
  wanted: readonly WantedValue[];
  /** The wanted values that were not given. */
  open(values: GivenValues): WantedValue[];
  /** What was given and has no place here, in the words of the command line. */
  unknown(values: GivenValues): string[];
  /**
   * The entry with these values.
   *
   * @throws Refusal for a value that is not among the choices, and for a URL with a value that was not given.
   */
  entry(name: string, values: GivenValues): ProposedEntry;
}

/** Values by their place, each with its key. A key has several for a repeated argument; otherwise the last counts. */
export type GivenValues = Readonly<Record<WantedValue["place"], readonly (readonly [string, string])[]>>;

export interface ProposedEntry {
  entry: ServerEntry;
  /** Variables and headers that the description calls secret. */
  secretKeys: readonly string[];
  /** Variables that stand for the secrets in the arguments and the URL. */
  variables: readonly { variable: string; secret: string }[];
}

/** The values that were given for a wanted one. */
function valuesFor({ place, key }: Pick<WantedValue, "place" | "key">, given: GivenValues): string[] {
  return given[place].flatMap(([name, value]) => (isSameKey(place, name, key) ? [value] : []));
}

function isSameKey(place: WantedValue["place"], one: string, other: string): boolean {
  return place === "header" ? one.toLowerCase() === other.toLowerCase() : one === other;
}

/** The commands that run a package, by its kind. The first is the default. No other command of a description is run. */
const LAUNCHERS: Readonly<Record<string, readonly [string, ...string[]]>> = {
  npm: ["npx", "bunx", "pnpx"],
  pypi: ["uvx", "pipx"],
  oci: ["docker", "podman"],
  nuget: ["dnx"],
};
/** The options for a launcher that a description may have, because ptc gives them anyway or they change nothing. */
const LAUNCHER_OPTIONS: ReadonlySet<string> = new Set([
  ...["-y", "--yes", "-q", "--quiet", "-i", "--interactive", "--rm", "--init"],
]);
const IMAGE = /^[a-z0-9][\w.-]*(?::\d+)?(?:\/[\w.-]+)*(?::[\w.-]+)?(?:@sha256:[0-9a-f]{64})?$/i;
const NUGET = /^[A-Za-z0-9][\w.-]*$/;
/** One version, and no range or name such as `latest`. */
const VERSION = /^\d+(?:\.\d+)*(?:[-+.a-z]*\d[\w.+-]*|[-+][\w.+-]+)?$/i;

/** The ways to run or reach a server that ptc has, and why it does not have the others. */
export function waysOf({ packages, remotes }: Pick<RegistryServer, "packages" | "remotes">): {
  ways: Way[];
  others: string[];
} {
  const ways: Way[] = [];
  const others: string[] = [];
  for (const each of packages) {
    const why = whyNotRun(each);
    if (why === undefined) ways.push(packageWay(each));
    else others.push(visibleLine(`${each.registryType} ${each.identifier}: ${why}`));
  }
  for (const each of remotes) {
    const why = whyNotReached(each);
    if (why === undefined) ways.push(remoteWay(each));
    else others.push(visibleLine(`${each.url}: ${why}`));
  }
  return { ways, others };
}

function whyNotRun(each: RegistryPackage): string | undefined {
  const { registryType, identifier, version, runtimeHint, transport, runtimeArguments } = each;
  const launchers = Object.hasOwn(LAUNCHERS, registryType) ? LAUNCHERS[registryType] : undefined;
  if (launchers === undefined) return "ptc does not run packages of this kind";
  if (transport.type !== "stdio") return "it serves HTTP by itself; start it, and add its URL";
  if (runtimeHint !== undefined && !launchers.includes(runtimeHint))
    return `ptc does not start packages with '${runtimeHint}'`;
  const option = runtimeArguments.find((one) => !isAllowed(one, registryType));
  if (option !== undefined)
    return `ptc does not give '${option.type === "named" ? option.name : (option.value ?? "a value")}' to what starts packages; add it by its command if you trust that`;
  if (registryType === "oci") {
    const [, tag = version] = /:([^/:@]+)(?:@|$)/.exec(identifier) ?? [];
    if (!IMAGE.test(identifier) || (version !== undefined && !/^[\w][\w.-]*$/.test(version)))
      return "its name is not that of an image";
    return tag === undefined || (tag === "latest" && !identifier.includes("@"))
      ? "its image has no fixed version"
      : undefined;
  }
  if (version === undefined || !VERSION.test(version)) return "it has no fixed version";
  if (registryType === "nuget")
    return NUGET.test(identifier) ? undefined : "its name is not that of a package";
  try {
    const [command, ...args] = launch(each);
    readPackageCommand(command, args);
    return undefined;
  } catch {
    return "its name is not that of a package";
  }
}

/** Whether an argument for a launcher leaves alone what is started, from where, and what it reaches. */
function isAllowed(one: RegistryArgument, registryType: string): boolean {
  if (one.type === "positional")
    return one.value !== undefined && LAUNCHER_OPTIONS.has(one.value) && wantedVariables(one).length === 0;
  return isVariableOfImage(one, registryType) || (LAUNCHER_OPTIONS.has(one.name) && isSwitch(one));
}

function isVariableOfImage(one: RegistryArgument, registryType: string): boolean {
  return registryType === "oci" && one.type === "named" && (one.name === "-e" || one.name === "--env");
}

function whyNotReached({ type, url }: RegistryRemote): string | undefined {
  if (type !== "streamable-http" && type !== "sse") return `ptc does not speak '${type}'`;
  const [, scheme = "", host = ""] = /^(https?):\/\/([^/?#]*)/i.exec(url) ?? [];
  if (host === "" || host.includes("@")) return "it is no URL over HTTP";
  const isHere = /^(?:localhost|127\.0\.0\.1|\[::1\]|\{[^{}]+\})(?::\d+)?$/.test(host);
  return scheme.toLowerCase() === "https" || isHere ? undefined : "it is not reached by https";
}

/** The command that starts a package. @param variables those that the container gets. */
function launch(
  { registryType, identifier, version, runtimeHint }: RegistryPackage,
  variables: readonly string[] = [],
): [string, ...string[]] {
  const command = runtimeHint ?? LAUNCHERS[registryType]?.[0] ?? "";
  switch (registryType) {
    case "npm":
      return [command, ...(command === "npx" ? ["-y"] : []), `${identifier}@${version}`];
    case "pypi": {
      const exact = `${identifier}==${version}`;
      const program = identifier.replace(/\[.*$/, "");
      return command === "pipx" ? [command, "run", exact] : [command, "--from", exact, program];
    }
    case "nuget":
      return [command, `${identifier}@${version}`, "--yes", "--"];
    default: {
      const isTagged = version === undefined || /[:@][^/]+$/.test(identifier.replace(/^[^/]+\//, ""));
      const image = isTagged ? identifier : `${identifier}:${version}`;
      return [command, "run", "-i", "--rm", ...variables.flatMap((each) => ["-e", each]), image];
    }
  }
}

function packageWay(each: RegistryPackage): Way {
  const { registryType: kind, identifier, version, registryBaseUrl } = each;
  const from =
    registryBaseUrl === undefined
      ? ""
      : ` (its author names ${registryBaseUrl}; it comes from where yours do)`;
  const what = visibleLine(`${identifier}${version === undefined ? "" : ` ${version}`}${from}`);
  const ofImage = each.runtimeArguments.filter((one) => isVariableOfImage(one, kind));
  const wanted = [
    ...each.environmentVariables.flatMap((one) => wantedOfKeyValue(one, "env")),
    ...[...ofImage, ...each.packageArguments].flatMap(wantedOfArgument),
  ];
  return {
    kind,
    what,
    ...asked(wanted, "header"),
    entry(name, values) {
      const filling = new Filling(name, values);
      const { given: env, secretKeys } = filling.keyValues(each.environmentVariables, "env");
      const variables = ofImage.flatMap((one) => filling.words(one)).filter((_, index) => index % 2 === 1);
      const own = each.packageArguments.flatMap((one) => filling.words(one));
      const [command, ...args] = launch(each, [...Object.keys(env), ...variables]);
      const entry: ServerEntry = {
        name,
        transport: "stdio",
        command,
        args: [...args, ...own],
        ...(Object.keys(env).length > 0 && { env }),
      };
      return filling.finish(entry, secretKeys);
    },
  };
}

function remoteWay(remote: RegistryRemote): Way {
  const wanted = [
    ...remote.headers.flatMap((one) => wantedOfKeyValue(one, "header")),
    ...wantedVariables({ value: remote.url, variables: remote.variables }),
  ];
  return {
    kind: "remote",
    what: visibleLine(remote.url),
    ...asked(wanted, "env"),
    entry(name, values) {
      const filling = new Filling(name, values);
      const { given: headers, secretKeys } = filling.keyValues(remote.headers, "header");
      const url = filling.inText(remote.url, remote.variables);
      if (url === undefined) throw new Refusal(`the URL ${visibleLine(remote.url)} needs its values`);
      const host = /^https?:\/\/([^/?#]*)/i.exec(url)?.[1] ?? "";
      if (!URL.canParse(url.replaceAll(/\$\{[^}]*\}/g, "x")) || host.includes("@") || host.includes("\\"))
        throw new Refusal(`${visibleLine(url)} is no URL of a server`);
      const entry: ServerEntry = {
        name,
        transport: remote.type === "sse" ? "sse" : "http",
        url,
        ...(Object.keys(headers).length > 0 && { headers }),
      };
      return filling.finish(entry, secretKeys);
    },
  };
}

/** @param other the place whose values such a server does not take. */
function asked(
  wanted: readonly WantedValue[],
  other: "env" | "header",
): Pick<Way, "wanted" | "open" | "unknown"> {
  return {
    wanted,
    open: (values) => wanted.filter((each) => valuesFor(each, values).length === 0),
    unknown: (values) => [
      ...values[other].map(([name]) => (other === "env" ? `--env ${name}` : `--header ${name}`)),
      ...values.argument.flatMap(([name]) =>
        wanted.some(({ place, key }) => place === "argument" && key === name) ? [] : [`--argument ${name}`],
      ),
    ],
  };
}

type Variables = RegistryInput["variables"];

function wantedOf(
  input: Omit<RegistryInput, "variables">,
  place: WantedValue["place"],
  key: string,
  isRepeated = false,
): WantedValue {
  const { description, isRequired, isSecret, choices = [] } = input;
  return {
    ...{ place, key, isRequired, isSecret, isRepeated, choices },
    description: description === undefined ? undefined : visibleLine(description),
    fallback: input.default,
  };
}

function wantedOfKeyValue(one: RegistryKeyValue, place: "env" | "header"): WantedValue[] {
  return one.value === undefined ? [wantedOf(one, place, one.name)] : wantedVariables(one);
}

function wantedOfArgument(one: RegistryArgument): WantedValue[] {
  if (one.value !== undefined) return wantedVariables(one);
  return isSwitch(one) ? [] : [wantedOf(one, "argument", argumentKey(one), one.isRepeated)];
}

/** The variables that a text of the description has in braces. */
function wantedVariables({
  value = "",
  variables,
}: Pick<RegistryInput, "value" | "variables">): WantedValue[] {
  return Object.entries(variables).flatMap(([name, input]) =>
    value.includes(`{${name}}`) && input.value === undefined ? [wantedOf(input, "argument", name)] : [],
  );
}

function argumentKey(one: RegistryArgument): string {
  return one.type === "named" ? one.name.replace(/^-+/, "") : (one.valueHint ?? "argument");
}

/** Whether a named argument is a switch, of which nobody is asked for a value. */
function isSwitch(one: RegistryArgument): boolean {
  const { type, value, description, isRequired, isSecret, choices } = one;
  return (
    type === "named" &&
    value === undefined &&
    one.default === undefined &&
    description === undefined &&
    choices === undefined &&
    !isRequired &&
    !isSecret
  );
}

/** Fills in the values of one entry. Secrets outside of variables and headers become variables of ptc's environment. */
class Filling {
  readonly #variables: { variable: string; secret: string }[] = [];
  readonly #names = new SecretVariables();
  readonly #server: string;
  readonly #values: GivenValues;

  constructor(server: string, values: GivenValues) {
    this.#server = server;
    this.#values = values;
  }

  /** The entry as it is written, with variables instead of what looks like a secret in its arguments and its URL. */
  finish(filled: ServerEntry, secretKeys: readonly string[]): ProposedEntry {
    const { entry, variables } = withoutArgumentSecrets(filled, this.#names);
    const others = variables.filter(
      ({ variable }) => !this.#variables.some((each) => each.variable === variable),
    );
    return { entry, secretKeys, variables: [...this.#variables, ...others] };
  }

  keyValues(
    described: readonly RegistryKeyValue[],
    place: "env" | "header",
  ): { given: Record<string, string>; secretKeys: string[] } {
    const given: Record<string, string> = {};
    const secretKeys: string[] = [];
    for (const one of described) {
      const value =
        one.value === undefined
          ? this.#given(wantedOf(one, place, one.name))[0]
          : this.#filled(one.value, one.variables);
      if (value === undefined) continue;
      given[one.name] = value;
      const isSecret = one.isSecret || Object.values(one.variables).some((each) => each.isSecret);
      if (isSecret && !value.includes("${")) secretKeys.push(one.name);
    }
    // What a person gives beside what the description asks for goes to the server too.
    for (const [name, value] of this.#values[place])
      if (!described.some((one) => isSameKey(place, one.name, name))) given[name] = value;
    return { given, secretKeys };
  }

  words(one: RegistryArgument): string[] {
    if (isSwitch(one)) return one.type === "named" ? [one.name] : [];
    const values =
      one.value === undefined
        ? this.#given(wantedOf(one, "argument", argumentKey(one), one.isRepeated)).map((value) =>
            one.isSecret ? this.#hide(value, argumentKey(one)) : value,
          )
        : [this.inText(one.value, one.variables)];
    if (one.type === "named" && one.format === "boolean") return values.includes("true") ? [one.name] : [];
    return values.flatMap((value) =>
      value === undefined ? [] : one.type === "named" ? [one.name, value] : [value],
    );
  }

  /**
   * A text with its variables, the secret ones by the name of a variable of ptc's environment; `undefined` if one has no value.
   *
   * @throws Refusal where the text and its values together name a variable that nobody has given.
   */
  inText(value: string, variables: Variables): string | undefined {
    return this.#filled(value, variables, (secret, name) => this.#hide(secret, name));
  }

  #filled(
    text: string,
    variables: Variables,
    hide: (secret: string, name: string) => string = (secret) => secret,
  ): string | undefined {
    let isOpen = false;
    let named = 0;
    const filled = text.replaceAll(/\{([^{}]+)\}/g, (whole, name: string) => {
      const input = Object.hasOwn(variables, name) ? variables[name] : undefined;
      if (input === undefined) return whole;
      const value = input.value ?? this.#given(wantedOf(input, "argument", name))[0];
      isOpen ||= value === undefined;
      const shown = value === undefined ? "" : input.isSecret ? hide(value, name) : value;
      named += countReferences(shown);
      return shown;
    });
    if (countReferences(filled) !== named)
      throw new Refusal(`a value with \`$\` at its end cannot stand in '${visibleLine(text)}'`);
    return isOpen ? undefined : filled;
  }

  #hide(secret: string, name: string): string {
    if (secret === "" || secret.includes("${")) return secret;
    const variable = this.#names.nameFor(this.#server, name, secret);
    if (!this.#variables.some((each) => each.variable === variable))
      this.#variables.push({ variable, secret });
    return `\${${variable}}`;
  }

  #given(wanted: WantedValue): readonly string[] {
    const { key, fallback, choices, isRepeated } = wanted;
    const own = valuesFor(wanted, this.#values);
    const given = own.length > 0 || fallback === undefined ? own : [fallback];
    for (const value of given)
      if (choices.length > 0 && !choices.includes(value) && !value.includes("${"))
        throw new Refusal(`${visibleLine(key)} must be one of ${choices.map(visibleLine).join(", ")}`);
    return isRepeated ? given : given.slice(-1);
  }
}

function countReferences(text: string): number {
  return text.split("${").length - 1;
}
