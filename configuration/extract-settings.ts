import { EXTRACT_SERVER } from "../protocol/tools/extract-tool.ts";
import { serverModule } from "../protocol/tools/tool-name.ts";
import type { PiiSettings } from "../secrets/pii/pii-kinds.ts";
import type { ModelServerConfiguration } from "./configuration.ts";
import type { Problem } from "./configuration-error.ts";
import type { ExtractEntry } from "./extract-section.ts";
import type { ServerEntry } from "./schema.ts";
import type { UnsetVariables } from "./server-entries.ts";
import { type SecretSurroundings, splitSecretValues } from "./split-secret-values.ts";

/** The API of a model's provider. */
type ModelApi = ModelServerConfiguration["api"];

/** Problems of `extract`, whose keys and types are valid by the schema. */
export function findExtractProblems(
  extract: ExtractEntry | undefined,
  servers: readonly ServerEntry[],
  unset: UnsetVariables | undefined,
): Problem[] {
  // Without `extract` too: a program's `extract` must not be a tool of somebody else's.
  const taken = servers.findIndex(({ name }) => serverModule(name) === EXTRACT_SERVER);
  if (taken >= 0)
    return [
      { path: ["servers", taken, "name"], message: "is the name of ptc's own server; rename this one" },
    ];
  if (extract === undefined) return [];
  if (unset?.texts.has(extract.url) === true) return [];
  const url = URL.canParse(extract.url) ? new URL(extract.url) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    return [
      {
        path: ["extract", "url"],
        message: "is not a URL; write the base of an API, such as https://host/v1",
      },
    ];
  if (url.username !== "" || url.password !== "")
    return [{ path: ["extract", "url"], message: "holds credentials; write them as `key`" }];
  return [];
}

interface ModelSurroundings extends SecretSurroundings {
  off: string | undefined;
  /** What is redacted of personal data in what leaves a run. */
  pii: PiiSettings | undefined;
}

/** The server whose one tool asks the model. */
export function buildModelServer(
  entry: ExtractEntry | undefined,
  { off, pii, ...surroundings }: ModelSurroundings,
): ModelServerConfiguration | undefined {
  if (entry === undefined) return undefined;
  const api = entry.api ?? apiOf(entry.url);
  const { name, prefix } = KEY_HEADERS[api];
  const { key } = entry;
  const value =
    key === undefined || off !== undefined
      ? undefined
      : typeof key === "string"
        ? prefix + key
        : { ...key, prefix: prefix + (key.prefix ?? "") };
  const { values, secretSources } = splitSecretValues(
    "headers",
    value === undefined ? {} : { [name]: value },
    { ...surroundings, placeOf: () => surroundings.placeOf(["key"]) },
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
    flow: { labels: entry.labels, accepts: entry.accepts, tools: {} },
    withheldPii: withheldFrom(entry, pii),
    // What it answers is made of what the run has read: it decides nothing about what is shown.
    piiAllowed: [],
    off,
  };
}

/** The personal data that a model is not sent: what is redacted anywhere, but for what it is allowed. */
function withheldFrom({ pii: own }: ExtractEntry, pii: PiiSettings | undefined): PiiSettings | undefined {
  const kinds = pii?.kinds.filter((kind) => own?.allow.includes(kind) !== true) ?? [];
  return pii === undefined || kinds.length === 0 ? undefined : { kinds, countries: pii.countries };
}

/** How each API takes its key. */
const KEY_HEADERS: Readonly<Record<ModelApi, { name: string; prefix: string }>> = {
  openai: { name: "authorization", prefix: "Bearer " },
  anthropic: { name: "x-api-key", prefix: "" },
};

const ENDS: Readonly<Record<ModelApi, string>> = { openai: "/chat/completions", anthropic: "/messages" };

/** The API that a URL is most likely of. */
function apiOf(url: string): ModelApi {
  if (!URL.canParse(url)) return "openai";
  const { hostname, pathname } = new URL(url);
  return hostname.endsWith("anthropic.com") || pathname.endsWith(ENDS.anthropic) ? "anthropic" : "openai";
}

/** The address that is asked, of that address itself or of the base that providers name. */
function endpointOf(text: string, api: ModelApi): string {
  const url = new URL(text);
  const path = url.pathname.replace(/\/+$/, "");
  if (path.endsWith(ENDS[api])) return url.href;
  // Anthropic names the host as its base, and others the version too.
  url.pathname = `${api === "anthropic" && path === "" ? "/v1" : path}${ENDS[api]}`;
  return url.href;
}
