/** Makes the entry of ptc.yaml for a server of a registry, from its description and what a person gives. Pure. */
import { visibleLine } from "../../base/visible-text.ts";
import { SecretVariables } from "../../configuration/plain-secrets.ts";
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
  /** The arguments that were given, and that the description does not have. */
  unknown(values: GivenValues): string[];
  /**
   * The entry with these values.
   *
   * @throws Refusal for a value that is not among the choices.
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
const IMAGE = /^[a-z0-9][\w.-]*(?::\d+)?(?:\/[\w.-]+)*(?::[\w.-]+)?(?:@sha256:[0-9a-f]{64})?$/i;
const NUGET = /^[A-Za-z0-9][\w.-]*$/;
const VERSION = /^[A-Za-z0-9][\w.+-]*$/;

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
  const { registryType, identifier, version, runtimeHint, transport } = each;
  const launchers = Object.hasOwn(LAUNCHERS, registryType) ? LAUNCHERS[registryType] : undefined;
  if (launchers === undefined) return "ptc does not run packages of this kind";
  if (transport.type !== "stdio") return "it serves HTTP by itself; start it, and add its URL";
  if (runtimeHint !== undefined && !launchers.includes(runtimeHint))
    return `ptc does not start packages with '${runtimeHint}'`;
  if (version !== undefined && !VERSION.test(version)) return `'${version}' is no version`;
  const isName = registryType === "oci" ? IMAGE.test(identifier) : NUGET.test(identifier);
  if (registryType === "npm" || registryType === "pypi") {
    try {
      const [command, ...args] = launch({ ...each, runtimeArguments: [] }, []);
      readPackageCommand(command, args);
    } catch {
      return "its name or version is not that of a package";
    }
  } else if (!isName) return "its name is not that of a package";
  return undefined;
}

function whyNotReached({ type, url }: RegistryRemote): string | undefined {
  if (type !== "streamable-http" && type !== "sse") return `ptc does not speak '${type}'`;
  return /^https?:\/\//i.test(url) ? undefined : "it is no URL over HTTP";
}

/** The command of a package. @param runtime the words for the launcher itself. */
function launch(
  { registryType, identifier, version, runtimeHint }: RegistryPackage,
  runtime: readonly string[],
  variables: readonly string[] = [],
): [string, ...string[]] {
  const command = runtimeHint ?? LAUNCHERS[registryType]?.[0] ?? "";
  switch (registryType) {
    case "npm": {
      const yes = command === "npx" && !runtime.includes("-y") && !runtime.includes("--yes") ? ["-y"] : [];
      return [command, ...yes, ...runtime, version === undefined ? identifier : `${identifier}@${version}`];
    }
    case "pypi": {
      const exact = version === undefined ? identifier : `${identifier}==${version}`;
      if (command === "pipx") return [command, "run", ...runtime, exact];
      return version === undefined
        ? [command, ...runtime, identifier]
        : [command, ...runtime, "--from", exact, identifier];
    }
    case "nuget": {
      const exact = version === undefined ? identifier : `${identifier}@${version}`;
      return [command, ...runtime, exact, "--yes", "--"];
    }
    default: {
      const hasTag = /:[^/]+$/.test(identifier);
      const image = version === undefined || hasTag ? identifier : `${identifier}:${version}`;
      return [command, "run", "-i", "--rm", ...variables.flatMap((name) => ["-e", name]), ...runtime, image];
    }
  }
}

function packageWay(each: RegistryPackage): Way {
  const { registryType: kind, identifier, version, registryBaseUrl } = each;
  const from = registryBaseUrl === undefined ? "" : ` (${registryBaseUrl})`;
  const what = visibleLine(`${identifier}${version === undefined ? "" : ` ${version}`}${from}`);
  const wanted = [
    ...each.environmentVariables.flatMap((one) => wantedOfKeyValue(one, "env")),
    ...[...each.runtimeArguments, ...each.packageArguments].flatMap(wantedOfArgument),
  ];
  return {
    kind,
    what,
    ...asked(wanted),
    entry(name, values) {
      const filling = new Filling(name, values);
      const { env, secretKeys } = filling.keyValues(each.environmentVariables, "env");
      const runtime = each.runtimeArguments.flatMap((one) => filling.words(one));
      const own = each.packageArguments.flatMap((one) => filling.words(one));
      const [command, ...args] = launch(each, runtime, Object.keys(env));
      const entry: ServerEntry = {
        name,
        transport: "stdio",
        command,
        args: [...args, ...own],
        ...(Object.keys(env).length > 0 && { env }),
      };
      return { entry, secretKeys, variables: filling.variables };
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
    ...asked(wanted),
    entry(name, values) {
      const filling = new Filling(name, values);
      const { env: headers, secretKeys } = filling.keyValues(remote.headers, "header");
      const entry: ServerEntry = {
        name,
        transport: remote.type === "sse" ? "sse" : "http",
        url: filling.inText(remote.url, remote.variables),
        ...(Object.keys(headers).length > 0 && { headers }),
      };
      return { entry, secretKeys, variables: filling.variables };
    },
  };
}

function asked(wanted: readonly WantedValue[]): Pick<Way, "wanted" | "open" | "unknown"> {
  return {
    wanted,
    open: (values) => wanted.filter((each) => valuesFor(each, values).length === 0),
    unknown: ({ argument }) =>
      argument.flatMap(([name]) =>
        wanted.some(({ place, key }) => place === "argument" && key === name) ? [] : [name],
      ),
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
  return isPlainFlag(one) ? [] : [wantedOf(one, "argument", argumentKey(one), one.isRepeated)];
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
function isPlainFlag(one: RegistryArgument): boolean {
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
  readonly variables: { variable: string; secret: string }[] = [];
  readonly #names = new SecretVariables();
  readonly #server: string;
  readonly #values: GivenValues;

  constructor(server: string, values: GivenValues) {
    this.#server = server;
    this.#values = values;
  }

  keyValues(
    given: readonly RegistryKeyValue[],
    place: "env" | "header",
  ): { env: Record<string, string>; secretKeys: string[] } {
    const env: Record<string, string> = {};
    const secretKeys: string[] = [];
    for (const one of given) {
      const value =
        one.value === undefined
          ? this.#given(wantedOf(one, place, one.name))[0]
          : this.#whole(one.value, one.variables);
      if (value === undefined) continue;
      env[one.name] = value;
      const isSecret = one.isSecret || Object.values(one.variables).some((each) => each.isSecret);
      if (isSecret && !value.includes("${")) secretKeys.push(one.name);
    }
    // What a person gives beside what the description asks for goes to the server too.
    for (const [name, value] of this.#values[place])
      if (!given.some((one) => isSameKey(place, one.name, name))) env[name] = value;
    return { env, secretKeys };
  }

  words(one: RegistryArgument): string[] {
    if (isPlainFlag(one)) return one.type === "named" ? [one.name] : [];
    const values =
      one.value === undefined
        ? this.#given(wantedOf(one, "argument", argumentKey(one), one.isRepeated)).map((value) =>
            one.isSecret ? this.#hide(value, argumentKey(one)) : value,
          )
        : [this.inText(one.value, one.variables)];
    return values.flatMap((value) => (one.type === "named" ? [one.name, value] : [value]));
  }

  /** A text with its variables, the secret ones by the name of a variable of ptc's environment. */
  inText(value: string, variables: Variables): string {
    return this.#whole(value, variables, (secret, name) => this.#hide(secret, name));
  }

  #whole(
    value: string,
    variables: Variables,
    hide: (secret: string, name: string) => string = (secret) => secret,
  ): string {
    return value.replaceAll(/\{([^{}]+)\}/g, (whole, name: string) => {
      const input = Object.hasOwn(variables, name) ? variables[name] : undefined;
      if (input === undefined) return whole;
      const given = input.value ?? this.#given(wantedOf(input, "argument", name))[0] ?? "";
      return input.isSecret ? hide(given, name) : given;
    });
  }

  #hide(secret: string, name: string): string {
    if (secret === "" || secret.includes("${")) return secret;
    const variable = this.#names.nameFor(this.#server, name, secret);
    if (!this.variables.some((each) => each.variable === variable)) this.variables.push({ variable, secret });
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
