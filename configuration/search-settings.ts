import type { EnvironmentVariables } from "../system/environment-variables.ts";
import type { Configuration, ModelSettings } from "./configuration.ts";
import type { Problem } from "./configuration-error.ts";
import { expandEnvironment } from "./expand-environment.ts";
import type { SearchSection } from "./search-section.ts";
import { type SecretSurroundings, sourceOf } from "./split-secret-values.ts";

type ModelEntry = NonNullable<SearchSection["rerank"]>;

const MODELS = ["embedding", "rerank"] as const;
const EXPANDED = ["url", "model", "key"] as const;

/** Problems of the models of `search`, whose keys and types are valid by the schema. */
export function findSearchProblems(search: SearchSection, environment: EnvironmentVariables): Problem[] {
  return MODELS.flatMap((name): Problem[] => {
    const entry = search[name];
    if (entry === undefined) return [];
    for (const key of EXPANDED) {
      const value = entry[key];
      const expansion = typeof value === "string" ? expandEnvironment(value, environment) : undefined;
      if (expansion?.ok === false) return [{ path: ["search", name, key], message: expansion.problem }];
    }
    const { url, off } = expand(entry, environment);
    const message = off === undefined ? problemOfUrl(url) : undefined;
    return message === undefined ? [] : [{ path: ["search", name, "url"], message }];
  });
}

function problemOfUrl(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "http:" && url?.protocol !== "https:")
    return "is not a URL; write the base of an OpenAI-compatible API, such as http://127.0.0.1:11434/v1";
  if (url.username !== "" || url.password !== "") return "holds credentials; write them as `key`";
  return undefined;
}

/**
 * The models of `search`, with their variables expanded, and the values that must be redacted.
 *
 * @param surroundings `placeOf` names a path of the file.
 */
export function buildSearch(
  search: SearchSection,
  surroundings: SecretSurroundings,
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
      key:
        typeof key === "object"
          ? sourceOf(key, surroundings.placeOf(["search", name, "key"]), surroundings)
          : key,
      timeoutMs: entry.timeout_seconds * 1_000,
      ...(off === undefined ? {} : { off }),
    };
  };
  return { search: { embedding: build("embedding"), rerank: build("rerank") }, secrets };
}

/** An entry with its variables expanded, and why it is off where one is not set. */
function expand({ url, model, key }: ModelEntry, environment: EnvironmentVariables) {
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
