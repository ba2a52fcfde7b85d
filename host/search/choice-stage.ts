import { messageOf } from "../../base/error-message.ts";
import { isObject } from "../../base/json/is-object.ts";
import { askForChoice, CHOSEN_FROM, parseChosen, putFirst } from "../../catalog/search/meaning/choice.ts";
import type { Ranking, RankingStage } from "../../catalog/search/search-tools.ts";
import type { SearchableTool } from "../../catalog/search/searchable-text.ts";
import type { SearchHits } from "../../catalog/search/tool-search.ts";
import type { EndpointHealth } from "./endpoint-health.ts";
import { askModel, EndpointError, type ModelEndpoint } from "./model-endpoint.ts";

interface ChoiceOptions {
  endpoint: ModelEndpoint;
  health: EndpointHealth;
  /** How the endpoint is called in messages. */
  name: string;
  timeoutMs: number;
  /** Ranks before the model chooses; without it, words do. */
  before?: RankingStage | undefined;
}

/** Has a model choose from the best of a ranking, through `POST /chat/completions` of an OpenAI-compatible API. */
export class ChoiceStage implements RankingStage {
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

/** What a ranking of before has, and one more reason why it is not better. */
function withProblem(ranking: Ranking, problem: string): Ranking {
  return { ...ranking, problem: [ranking.problem, problem].filter((each) => each !== undefined).join("; ") };
}

function contentOf(answer: unknown): unknown {
  const choices = isObject(answer) && Array.isArray(answer.choices) ? (answer.choices as unknown[]) : [];
  const [first] = choices;
  return isObject(first) && isObject(first.message) ? first.message.content : undefined;
}
