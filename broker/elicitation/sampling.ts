/**
 * A server's request for an answer of the client's model, in the middle of a call (MCP 2025-11-25 and 2026-07-28, "Sampling"). It is passed on
 * only for a server that the configuration names for it, after a person has allowed it, and within bounds. What is passed on holds nothing
 * of the conversation with the model: `includeContext` and tools are left out.
 */
import { isObject, writeJson } from "../../base/json.ts";
import { visibleLines } from "../../base/visible-text.ts";

const MAX_REQUEST_BYTES = 256 * 1024;
const MAX_ANSWER_BYTES = 1024 * 1024;
const MAX_MESSAGES = 100;
const MAX_TOKENS = 4_096;
const MAX_STOP_SEQUENCES = 16;
const MAX_HINTS = 10;
/** As many as of the arguments of a call that a person is asked about. */
const MAX_SHOWN_CHARS = 12_000;
/** How many answers a server may ask for in one call. */
export const MAX_SAMPLES = 5;

type Content =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image" | "audio"; readonly data: string; readonly mimeType: string };

/** What a client is asked: the parameters of `sampling/createMessage`, without those that ptc does not pass on. */
export interface Sampling {
  readonly messages: readonly { readonly role: "user" | "assistant"; readonly content: Content }[];
  readonly systemPrompt?: string;
  readonly maxTokens: number;
  readonly temperature?: number;
  readonly stopSequences?: readonly string[];
  readonly modelPreferences?: Readonly<Record<string, unknown>>;
}

/** A sampling for the client of a run. */
export interface SamplingRequest {
  readonly runId: string;
  /** The configured name of the server. */
  readonly server: string;
  readonly tool: string;
  readonly sampling: Sampling;
}

/** The result of `sampling/createMessage`, or why there is none, phrased to follow "and". */
export type SamplingAnswer =
  | { readonly kind: "sampled"; readonly result: Readonly<Record<string, unknown>> }
  | { readonly kind: "unsampled"; readonly why: string };

export const NOT_SAMPLED: SamplingAnswer = { kind: "unsampled", why: "the client offers none" };

/**
 * Reads the parameters of a server's request.
 *
 * @param redact removes secrets from texts.
 * @returns what is wrong, phrased to follow the server's name
 */
export function parseSampling(
  params: unknown,
  redact: (text: string) => string,
): { ok: true; sampling: Sampling } | { ok: false; problem: string } {
  const wrong = (what: string) => ({
    ok: false as const,
    problem: `asked for an answer of a model, and ${what}`,
  });
  if (!isObject(params) || !Array.isArray(params.messages)) return wrong("gave no messages");
  const { messages: given, systemPrompt, maxTokens, temperature, stopSequences, modelPreferences } = params;
  if (given.length === 0 || given.length > MAX_MESSAGES)
    return wrong(`not with 1 to ${MAX_MESSAGES} messages`);
  const messages: Sampling["messages"][number][] = [];
  for (const each of given as unknown[]) {
    if (!isObject(each) || (each.role !== "user" && each.role !== "assistant"))
      return wrong("gave a message of nobody");
    const blocks: unknown[] = Array.isArray(each.content) ? each.content : [each.content];
    for (const block of blocks) {
      const content = contentOf(block, redact);
      if (content === undefined) return wrong("gave a message that is neither text, image nor audio");
      messages.push({ role: each.role, content });
    }
  }
  const asked = typeof maxTokens === "number" && maxTokens >= 1 ? Math.floor(maxTokens) : MAX_TOKENS;
  const stops = Array.isArray(stopSequences)
    ? stopSequences
        .filter((each) => typeof each === "string")
        .slice(0, MAX_STOP_SEQUENCES)
        .map(redact)
    : [];
  const sampling: Sampling = {
    messages,
    ...(typeof systemPrompt === "string" ? { systemPrompt: redact(systemPrompt) } : {}),
    maxTokens: Math.min(asked, MAX_TOKENS),
    ...(typeof temperature === "number" && Number.isFinite(temperature) ? { temperature } : {}),
    ...(stops.length === 0 ? {} : { stopSequences: stops }),
    ...(isObject(modelPreferences) ? { modelPreferences: preferencesOf(modelPreferences, redact) } : {}),
  };
  if (Buffer.byteLength(writeJson(sampling)) > MAX_REQUEST_BYTES)
    return wrong(`with more than ${MAX_REQUEST_BYTES} bytes`);
  return { ok: true, sampling };
}

/** Reads what a client has answered, for the server. */
export function parseSampled(response: unknown): SamplingAnswer {
  const unsampled = (why: string): SamplingAnswer => ({ kind: "unsampled", why });
  if (!isObject(response)) return unsampled("the client's answer is not valid");
  const { role, model, stopReason } = response;
  const [first, ...more] = Array.isArray(response.content) ? response.content : [response.content];
  const content = more.length === 0 ? contentOf(first, (text) => text) : undefined;
  if (role !== "assistant" || typeof model !== "string" || content === undefined)
    return unsampled("the client's answer is not valid");
  const result = { role, model, content, ...(typeof stopReason === "string" ? { stopReason } : {}) };
  if (Buffer.byteLength(writeJson(result)) > MAX_ANSWER_BYTES)
    return unsampled(`the client's answer has more than ${MAX_ANSWER_BYTES} bytes`);
  return { kind: "sampled", result };
}

/** What a person reads who is asked, in lines. The texts are the server's. */
export function describeSampling({
  messages,
  systemPrompt,
  maxTokens,
  stopSequences = [],
}: Sampling): string {
  const said = [
    ...(systemPrompt === undefined ? [] : [`system: ${systemPrompt}`]),
    ...messages.map(
      ({ role, content }) => `${role}: ${content.type === "text" ? content.text : `(${content.type})`}`,
    ),
    ...stopSequences.map((each) => `stops at: ${each}`),
  ].join("\n");
  const rest = said.length - MAX_SHOWN_CHARS;
  const shown = rest <= 0 ? said : `${said.slice(0, MAX_SHOWN_CHARS)} ... (${rest} more characters)`;
  return `It wants an answer of your model, of up to ${maxTokens} tokens, to this:\n${visibleLines(shown)}`;
}

/** The hints and the priorities of a server, and nothing else that it says of models. */
function preferencesOf(
  { hints, ...given }: Readonly<Record<string, unknown>>,
  redact: (text: string) => string,
): Readonly<Record<string, unknown>> {
  const names = (Array.isArray(hints) ? (hints as unknown[]) : [])
    .flatMap((hint) => (isObject(hint) && typeof hint.name === "string" ? [hint.name] : []))
    .slice(0, MAX_HINTS);
  const priorities = ["costPriority", "speedPriority", "intelligencePriority"].filter(
    (name) => typeof given[name] === "number",
  );
  return {
    ...(names.length === 0 ? {} : { hints: names.map((name) => ({ name: redact(name) })) }),
    ...Object.fromEntries(priorities.map((name) => [name, given[name]])),
  };
}

function contentOf(block: unknown, redact: (text: string) => string): Content | undefined {
  if (!isObject(block)) return undefined;
  const { type, text, data, mimeType } = block;
  if (type === "text" && typeof text === "string") return { type, text: redact(text) };
  if ((type === "image" || type === "audio") && typeof data === "string" && typeof mimeType === "string")
    return { type, data, mimeType: redact(mimeType) };
  return undefined;
}
