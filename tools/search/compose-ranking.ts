import { join } from "node:path";
import { messageOf } from "../../base/faults.ts";
import { isObject } from "../../base/json.ts";
import {
  type Alike,
  askForChoice,
  CHOSEN_FROM,
  fuse,
  likeness,
  parseChosen,
  putFirst,
  queryTexts,
} from "../../catalog/search/meaning.ts";
import type { SearchableTool } from "../../catalog/search/searchable-text.ts";
import type { Ranking, RankingStage } from "../../catalog/search/tool-index.ts";
import type { SearchHits } from "../../catalog/search/tool-search.ts";
import type { Configuration, ModelSettings } from "../../configuration/configuration.ts";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";
import { PRIVATE_FOLDER_NAME } from "../../system/private-folder.ts";
import { ownLoginSecrets } from "../../upstream/secret-sources.ts";
import { askModel, EndpointError, EndpointHealth, type ModelEndpoint } from "./model-endpoint.ts";
import { ToolVectors, VectorFile } from "./tool-vectors.ts";

export interface RankingOptions {
  /** The environment of commands that print keys. It also locates the user's keyring. */
  env: EnvironmentVariables;
  /** Whether a search waits, within its time, for missing vectors, because nothing computes them in the background. */
  waits: boolean;
  /** Receives every key that was read from elsewhere. */
  onSecret: (secret: string) => void;
  /** Receives one line about an endpoint that does not answer as it should, until it does again. */
  onWarning: (message: string) => void;
}

const VECTORS = "vectors.bin";

/** Composes the ranking stages of the configuration; `undefined` if it has none. */
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
    onWarning(`tools are found without ${name}, which ${reason}; ptc still asks it now and then`),
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

/** Meaning is used only if at least this share of the tools has vectors. Otherwise it would favour the tools that have one. */
const MIN_KNOWN = 0.9;

interface MeaningOptions {
  vectors: Pick<ToolVectors, "prepare" | "prepared" | "known" | "ofTexts">;
  health: Pick<EndpointHealth, "problem">;
  /** How the endpoint is called in messages. */
  name: string;
  timeoutMs: number;
  /** Whether a search waits, within its time, for vectors of tools that are missing. */
  waits: boolean;
}

/** Ranks by words and by meaning, if the vectors of the tools and of the query come in time. */
export class MeaningStage implements RankingStage {
  readonly #options: MeaningOptions;

  constructor(options: MeaningOptions) {
    this.#options = options;
  }

  prepare(tools: readonly SearchableTool[]): void {
    this.#options.vectors.prepare(tools);
  }

  async rank(query: string, found: SearchHits, tools: readonly SearchableTool[]): Promise<Ranking> {
    if (tools.length === 0) return {};
    const { vectors, timeoutMs, waits } = this.#options;
    const until = performance.now() + timeoutMs;
    const leftMs = () => Math.max(0, until - performance.now());
    vectors.prepare(tools);
    const isKnown = async () => {
      const known = await vectors.known();
      return tools.filter(({ definitionDigest }) => known.has(definitionDigest)).length;
    };
    let count = await isKnown();
    if (count < tools.length && waits) {
      await vectors.prepared(leftMs());
      count = await isKnown();
    }
    if (count < tools.length * MIN_KNOWN)
      return this.#byWords(
        `the vectors of ${tools.length - count} of ${tools.length} tools are still to be computed`,
      );
    const texts = queryTexts(query);
    const ofQuery = await vectors.ofTexts(texts, leftMs());
    if (ofQuery === undefined) return this.#byWords("it is not asked just now");
    const known = await vectors.known();
    const all = tools.map((tool): Alike => {
      const vector = known.get(tool.definitionDigest);
      return { tool, likenesses: vector && ofQuery.map((text) => likeness(text, vector)) };
    });
    const { hits, standsOut } = fuse(found.results, found.coverage ?? 0, all);
    const isPoor = found.fitsPoorly === true || found.results.length === 0;
    return { hits, fitsPoorly: isPoor && !standsOut };
  }

  #byWords(why: string): Ranking {
    const { name, health } = this.#options;
    return { problem: `${name}: ${health.problem ?? why}` };
  }
}

interface ChoiceOptions {
  endpoint: ModelEndpoint;
  health: EndpointHealth;
  /** How the endpoint is called in messages. */
  name: string;
  timeoutMs: number;
  /** Ranks before the model chooses. By default words do. */
  before?: RankingStage | undefined;
}

/** Lets a model choose from the best of a ranking, through `POST /chat/completions` of an OpenAI-compatible API. */
class ChoiceStage implements RankingStage {
  readonly #options: ChoiceOptions;

  constructor(options: ChoiceOptions) {
    this.#options = options;
  }

  prepare(tools: readonly SearchableTool[]): void {
    this.#options.before?.prepare?.(tools);
  }

  async rank(query: string, found: SearchHits, tools: readonly SearchableTool[]): Promise<Ranking> {
    const { before, health, name } = this.#options;
    const ranking = (await before?.rank(query, found, tools)) ?? {};
    const hits = ranking.hits ?? found.results;
    if (hits.length === 0) return ranking;
    if (health.problem !== undefined) return withProblem(ranking, `${name}: ${health.problem}`);
    try {
      const chosen = await this.#choose(
        query,
        hits.slice(0, CHOSEN_FROM).map(({ tool }) => tool),
      );
      health.succeeded();
      return { ...ranking, hits: putFirst(hits, chosen), fitsPoorly: chosen.length === 0 };
    } catch (error) {
      health.failed(messageOf(error));
      return withProblem(ranking, `${name}: ${messageOf(error)}`);
    }
  }

  /** @throws EndpointError */
  async #choose(query: string, tools: readonly SearchableTool[]): Promise<number[]> {
    const { endpoint, timeoutMs } = this.#options;
    const body = { messages: askForChoice(query, tools), stream: false };
    const signal = AbortSignal.timeout(timeoutMs);
    const chosen = parseChosen(
      contentOf(await askModel(endpoint, "chat/completions", body, signal)),
      tools.length,
    );
    if (chosen === undefined) throw new EndpointError("answers with no list of the tools that it was given");
    return chosen;
  }
}

/** An earlier ranking with one more problem. */
function withProblem(ranking: Ranking, problem: string): Ranking {
  return { ...ranking, problem: [ranking.problem, problem].filter((each) => each !== undefined).join("; ") };
}

function contentOf(answer: unknown): unknown {
  const choices = isObject(answer) && Array.isArray(answer.choices) ? (answer.choices as unknown[]) : [];
  const [first] = choices;
  return isObject(first) && isObject(first.message) ? first.message.content : undefined;
}
