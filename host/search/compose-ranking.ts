import { join } from "node:path";
import { PRIVATE_FOLDER_NAME } from "../../archive/private-folder.ts";
import type { RankingStage } from "../../catalog/search/search-tools.ts";
import type { Configuration, ModelSettings } from "../configuration/configuration.ts";
import type { EnvironmentVariables } from "../environment-variables.ts";
import { ownLoginSecrets } from "../logins/login-secrets.ts";
import { ChoiceStage } from "./choice-stage.ts";
import { EndpointHealth } from "./endpoint-health.ts";
import { MeaningStage } from "./meaning-stage.ts";
import type { ModelEndpoint } from "./model-endpoint.ts";
import { ToolVectors } from "./tool-vectors.ts";
import { VectorFile } from "./vector-file.ts";

export interface RankingOptions {
  /** What commands see that print keys, and where the user's keyring is. */
  env: EnvironmentVariables;
  /** Whether a search waits, within its time, for vectors that are missing: where nothing computes them in the background. */
  waits: boolean;
  /** Is told of every key that was read from elsewhere. */
  onSecret: (secret: string) => void;
  /** Is told once of an endpoint that does not do its part, until it does. */
  onWarning: (message: string) => void;
}

const VECTORS = "vectors.bin";

/** Wires what ranks tools beside words, by the configuration; `undefined` when nothing does. */
export function composeRanking(
  { directory, search }: Pick<Configuration, "directory" | "search">,
  options: RankingOptions,
): RankingStage | undefined {
  const { embedding, rerank } = search;
  const meaning = embedding && composeMeaning(embedding, join(directory, PRIVATE_FOLDER_NAME), options);
  if (rerank === undefined) return meaning;
  return new ChoiceStage({ ...endpointOf("search.rerank", rerank, options), before: meaning });
}

function composeMeaning(settings: ModelSettings, folder: string, options: RankingOptions): RankingStage {
  const { url, model } = settings;
  const { endpoint, health, name, timeoutMs } = endpointOf("search.embedding", settings, options);
  const vectors = new ToolVectors({
    endpoint,
    health,
    file: new VectorFile(folder, VECTORS, { url, model }),
    onWarning: options.onWarning,
  });
  return new MeaningStage({ vectors, health, name, timeoutMs, waits: options.waits });
}

function endpointOf(
  name: string,
  { url, model, key, timeoutMs, off }: ModelSettings,
  { env, onSecret, onWarning }: RankingOptions,
) {
  const health = new EndpointHealth((reason) =>
    onWarning(`tools are found without ${name}, which ${reason}; ptc goes on asking it now and then`),
  );
  const readKey = off === undefined ? keyOf(key, env, onSecret) : () => Promise.reject(new Error(off));
  return { endpoint: { url, model, key: readKey }, health, name, timeoutMs };
}

function keyOf(
  key: ModelSettings["key"],
  env: RankingOptions["env"],
  onSecret: (secret: string) => void,
): ModelEndpoint["key"] {
  if (key === undefined) return undefined;
  if (typeof key === "string") return async () => key;
  const { sources } = ownLoginSecrets(env);
  return async (signal) => {
    const secret = await sources.read(key, signal);
    onSecret(secret);
    return `${key.prefix}${secret}`;
  };
}
