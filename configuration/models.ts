/** The models of ptc.yaml, each behind an API: the model of `extract`, and the models that find tools. */
import { EXTRACT_SERVER, serverModule } from "../protocol/tool-names.ts";
import type { PiiSettings } from "../secrets/pii/pii-kinds.ts";
import type { EnvironmentVariables } from "../system/environment-variables.ts";
import type { Configuration, ModelServerConfiguration, ModelSettings } from "./configuration.ts";
import type { Problem } from "./configuration-error.ts";
import { OWN_USE } from "./configured-servers.ts";
import {
  type EntrySurroundings,
  type ExpandedFile,
  expandEnvironment,
  secretOf,
  splitSecretValues,
} from "./outside-values.ts";
import type { ExtractEntry, SearchEntry, ServerEntry } from "./settings/server-settings.ts";

/** Problems of `extract` with valid keys and types. */
export function findExtractProblems(
  extract: ExtractEntry | undefined,
  servers: readonly ServerEntry[],
  unsetIn: ExpandedFile["unsetIn"],
): Problem[] {
  // This holds without `extract` too, because a program's `extract` must never be another server's tool.
  const taken = servers.findIndex(({ name }) => serverModule(name) === EXTRACT_SERVER);
  if (taken >= 0)
    return [
      { path: ["servers", taken, "name"], message: "is the name of ptc's own server; rename this one" },
    ];
  if (extract === undefined || unsetIn(["extract"])?.texts.has(extract.url) === true) return [];
  return findUrlProblem(extract.url, ["extract", "url"], "an API, such as https://host/v1");
}

function findUrlProblem(text: string, path: readonly PropertyKey[], base: string): Problem[] {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "http:" && url?.protocol !== "https:")
    return [{ path, message: `is not a URL; write the base of ${base}` }];
  if (url.username !== "" || url.password !== "")
    return [{ path, message: "holds credentials; write them as `key`" }];
  return [];
}

/** The API of a model's provider. */
type ModelApi = ModelServerConfiguration["api"];

/** The server whose only tool asks the model. @param pii the personal data that is redacted in everything that leaves a run. */
export function buildModelServer(
  entry: ExtractEntry | undefined,
  pii: PiiSettings | undefined,
  surroundings: EntrySurroundings,
): ModelServerConfiguration | undefined {
  if (entry === undefined) return undefined;
  const off = surroundings.offOf(["extract"]);
  const api = entry.api ?? apiOf(entry.url);
  const { name, prefix } = KEY_HEADERS[api];
  const { key } = entry;
  const value =
    typeof key === "object" ? { ...key, prefix: prefix + (key.prefix ?? "") } : prefix + (key ?? "");
  const { values, secretSources } = splitSecretValues(
    key === undefined || off !== undefined ? {} : { [name]: value },
    ["extract", "key"],
    { ...surroundings, placeOf: () => surroundings.placeOf(["extract", "key"]) },
  );
  return {
    transport: "model",
    name: EXTRACT_SERVER,
    module: EXTRACT_SERVER,
    description: undefined,
    url: off === undefined ? endpointOf(entry.url, api) : "",
    model: entry.model,
    api,
    headers: values,
    secretSources,
    maxCalls: entry.max_calls,
    maxInputBytes: entry.max_input_bytes,
    callTimeoutMs: entry.timeout_seconds * 1_000,
    connectTimeoutMs: entry.timeout_seconds * 1_000,
    ...OWN_USE,
    flow: { labels: entry.labels, results: entry.results, accepts: entry.accepts, tools: {} },
    withheldPii: withheldFrom(entry, pii),
    // Its answers come from what the run has read, so they do not affect what is shown.
    piiAllowed: [],
    off,
  };
}

/** The personal data that is withheld from a model: everything that is redacted, except what its entry allows. */
function withheldFrom({ pii: own }: ExtractEntry, pii: PiiSettings | undefined): PiiSettings | undefined {
  const kinds = pii?.kinds.filter((kind) => own?.allow.includes(kind) !== true) ?? [];
  return pii === undefined || kinds.length === 0 ? undefined : { kinds, countries: pii.countries };
}

/** The header with which each API takes its key. */
const KEY_HEADERS: Readonly<Record<ModelApi, { name: string; prefix: string }>> = {
  openai: { name: "authorization", prefix: "Bearer " },
  anthropic: { name: "x-api-key", prefix: "" },
};

const ENDS: Readonly<Record<ModelApi, string>> = { openai: "/chat/completions", anthropic: "/messages" };

/** The most likely API of a URL. */
function apiOf(url: string): ModelApi {
  if (!URL.canParse(url)) return "openai";
  const { hostname, pathname } = new URL(url);
  return hostname.endsWith("anthropic.com") || pathname.endsWith(ENDS.anthropic) ? "anthropic" : "openai";
}

/** The URL of requests, from that URL itself or from the base URL of the provider. */
function endpointOf(text: string, api: ModelApi): string {
  const url = new URL(text);
  const path = url.pathname.replace(/\/+$/, "");
  if (path.endsWith(ENDS[api])) return url.href;
  // Anthropic's base URL is only the host. Others include the version.
  url.pathname = `${api === "anthropic" && path === "" ? "/v1" : path}${ENDS[api]}`;
  return url.href;
}

const MODELS = ["embedding", "rerank"] as const;
type SearchModel = NonNullable<SearchEntry[(typeof MODELS)[number]]>;

/** Problems of the models of `search` with valid keys and types. */
export function findSearchProblems(search: SearchEntry, environment: EnvironmentVariables): Problem[] {
  return MODELS.flatMap((name): Problem[] => {
    const entry = search[name];
    if (entry === undefined) return [];
    for (const key of ["url", "model", "key"] as const) {
      const value = entry[key];
      const expansion = typeof value === "string" ? expandEnvironment(value, environment) : undefined;
      if (expansion?.ok === false) return [{ path: ["search", name, key], message: expansion.problem }];
    }
    const { url, off } = expand(entry, environment);
    const base = "an OpenAI-compatible API, such as http://127.0.0.1:11434/v1";
    return off === undefined ? findUrlProblem(url, ["search", name, "url"], base) : [];
  });
}

/** The models of `search`, with their variables expanded, and the values that must be redacted. */
export function buildSearch(
  search: SearchEntry,
  surroundings: EntrySurroundings,
): { search: Configuration["search"]; secrets: string[] } {
  const secrets: string[] = [];
  const build = (name: (typeof MODELS)[number]): ModelSettings | undefined => {
    const entry = search[name];
    if (entry === undefined) return undefined;
    const { url, model, key, off } = expand(entry, surroundings.environment);
    if (typeof key === "string" && off === undefined) secrets.push(key);
    return {
      url,
      model,
      key: secretOf(key, ["search", name, "key"], surroundings),
      timeoutMs: entry.timeout_seconds * 1_000,
      ...(off === undefined ? {} : { off }),
    };
  };
  return { search: { embedding: build("embedding"), rerank: build("rerank") }, secrets };
}

/** An entry with its variables expanded, and why it is off if one is not set. */
function expand({ url, model, key }: SearchModel, environment: EnvironmentVariables) {
  const unset = new Set<string>();
  const text = (value: string): string => {
    const expansion = expandEnvironment(value, environment);
    if (!expansion.ok) return value;
    for (const name of expansion.unset) unset.add(name);
    return expansion.text;
  };
  const expanded = { url: text(url), model: text(model), key: typeof key === "string" ? text(key) : key };
  const names = [...unset];
  const off =
    names.length === 0
      ? undefined
      : `${names.join(", ")} ${names.length === 1 ? "is" : "are"} not set in the environment`;
  return { ...expanded, off };
}
