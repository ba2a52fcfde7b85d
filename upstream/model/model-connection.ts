import { isObject, parseForeignJson, writeJson } from "../../base/json.ts";
import { findSchemaProblem } from "../../base/json-schema.ts";
import { readBoundedBody } from "../../base/streams.ts";
import { oneLine } from "../../base/visible-text.ts";
import { inTime } from "../../base/waiting.ts";
import { MAX_NESTING_DEPTH } from "../../protocol/limits.ts";
import { EXTRACT_TOOL } from "../../protocol/tool-names.ts";
import { outgoingFetch } from "../../system/outgoing.ts";
import type { UpstreamCall, UpstreamConnection, UpstreamListing } from "../upstream.ts";
import { UpstreamError } from "../upstream-error.ts";
import { type FailedAnswer, MODEL_APIS, type ModelQuestion } from "./model-api.ts";

export interface ModelConnectionOptions {
  /** The URL of the endpoint. */
  url: string;
  model: string;
  api: keyof typeof MODEL_APIS;
  /** The headers with the key. */
  headers: Readonly<Record<string, string>>;
  /** The maximum size of one text that is sent. */
  maxInputBytes: number;
  version: string;
  /** Prepares hiding data in one question. */
  withhold: () => Promise<Withheld>;
  /** What is wrong with a value, phrased to follow `the value`; `undefined` if nothing is. */
  findMisfit: (schema: unknown, value: unknown) => Promise<string | undefined>;
  onClose: () => Promise<void>;
}

/** Hides data of one question from the model. */
export interface Withheld {
  /** Removes secrets from what is sent, and replaces personal data with marks. */
  redact(value: unknown): unknown;
  /** Replaces marks in an answer with the hidden data, which the program already knows. */
  restore(value: unknown): unknown;
  /** Whether there are such marks. */
  hasMarks(): boolean;
}

/** The tool as servers list theirs (MCP 2025-11-25, "Tool"). */
const DEFINITION = {
  name: EXTRACT_TOOL,
  description:
    "Coerces text to data of a type through a model. Programs call it as extract(value, type). What a model says is checked " +
    "against the type, not for its truth.",
  inputSchema: {
    type: "object",
    properties: {
      value: { description: "The text, or other data, which is given as JSON." },
      schema: { type: "object", description: "The JSON Schema of the result." },
    },
    required: ["value", "schema"],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: true, destructiveHint: false, openWorldHint: true },
};

/** Presents a model behind an endpoint as a server with one tool. An answer that does not fit is repaired once. */
export class ModelConnection implements UpstreamConnection {
  readonly #options: ModelConnectionOptions;
  readonly #closed = new AbortController();

  constructor(options: ModelConnectionOptions) {
    this.#options = options;
  }

  async list(): Promise<UpstreamListing> {
    return {
      implementation: { name: "ptc extract", version: this.#options.version },
      protocolVersion: "2025-11-25",
      tools: [DEFINITION],
    };
  }

  async callTool({ tool, arguments: args, signal, timeoutMs, spentMs = 0 }: UpstreamCall): Promise<unknown> {
    if (tool !== EXTRACT_TOOL || !isObject(args)) return failed(`there is no tool '${tool}'`);
    const { maxInputBytes, model } = this.#options;
    const requested = readRequestedSchema(args.schema);
    if (!requested.ok) return failed(requested.problem);
    const withheld = await this.#options.withhold();
    const value = withheld.redact(args.value);
    const text = typeof value === "string" ? value : writeJson(value);
    const bytes = Buffer.byteLength(text);
    if (bytes > maxInputBytes)
      return failed(`the value is ${bytes} bytes, and at most ${maxInputBytes} are sent to a model; cut it`);
    const schema = withheld.redact(requested.wrapped) as Record<string, unknown>;
    const late = new AbortController();
    const both = AbortSignal.any([signal, this.#closed.signal, late.signal]);
    const question = { model, text, schema, isStrict: requested.isStrict, hasMarks: withheld.hasMarks() };
    const asking = this.#ask(question, args.schema, withheld, both);
    try {
      return await inTime(asking, timeoutMs - spentMs, () => {
        const error = new UpstreamError(
          "call_timeout",
          `the model gave no answer within ${timeoutMs / 1_000} s`,
        );
        late.abort(error);
        asking.catch(() => {});
        return error;
      });
    } catch (error) {
      if (error instanceof UpstreamError) throw error;
      if (both.aborted)
        throw new UpstreamError("cancelled", "the model was not waited for: the call is cancelled");
      throw error;
    }
  }

  onToolsChanged(): void {
    // Its one tool never changes.
  }

  onLost(): void {
    // Each call makes a separate request.
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#options.onClose();
  }

  async #ask(
    question: ModelQuestion,
    schema: unknown,
    withheld: Withheld,
    signal: AbortSignal,
  ): Promise<unknown> {
    const { url, headers, model, findMisfit } = this.#options;
    const api = MODEL_APIS[this.#options.api];
    const used = { model, requests: 0, input_tokens: 0, output_tokens: 0 };
    let failure: FailedAnswer | undefined;
    let last = "";
    for (let requests = 1; requests <= 2; requests++) {
      const request = api.buildRequest(question, failure);
      const answer = api.readAnswer(await askEndpoint(url, { ...api.headers, ...headers }, request, signal));
      if (answer === undefined)
        throw new UpstreamError(
          "protocol_error",
          `the model at ${new URL(url).host} does not speak ${this.#options.api}'s API`,
        );
      used.requests = requests;
      used.input_tokens += answer.inputTokens;
      used.output_tokens += answer.outputTokens;
      const { content, said } = answer;
      if (!content.ok && content.isFinal) return failed(content.problem, used);
      const given = content.ok && isObject(content.value) ? content.value[ANSWER_MEMBER] : undefined;
      const value = given === undefined ? undefined : withheld.restore(given);
      let problem = content.ok ? `it has no member "${ANSWER_MEMBER}"` : content.problem;
      if (value !== undefined) {
        const misfit = await findMisfit(schema, value);
        if (misfit === undefined)
          return { content: [], structuredContent: value, _meta: { "ptc/extract": used } };
        problem = misfit;
      }
      failure = { said, problem: String(withheld.redact(problem)) };
      last = problem;
    }
    return failed(`the model's answer does not fit the type, even after a repair: ${last}`, used);
  }
}

/** The result of a failed tool. @param used the usage so far. */
function failed(text: string, used?: object): unknown {
  return {
    isError: true,
    content: [{ type: "text", text }],
    ...(used === undefined ? {} : { _meta: { "ptc/extract": used } }),
  };
}

const MAX_SCHEMA_CHARS = 64 * 1024;

/** The keywords allowed in a requested schema. All of them can be checked, and providers know most of them. */
const KEYWORDS = new Set([
  ...["$schema", "$defs", "$ref", "$comment", "title", "description", "default", "examples"],
  ...["type", "enum", "const", "anyOf", "oneOf", "allOf"],
  ...["properties", "required", "additionalProperties"],
  ...["items", "prefixItems", "minItems", "maxItems", "uniqueItems"],
  ...["minLength", "maxLength", "pattern", "format"],
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
]);

/** The member that contains the value in a model's answer, because providers accept only schemas of objects. */
const ANSWER_MEMBER = "value";

type RequestedSchema =
  | {
      ok: true;
      /** The schema of an object whose only member is the value. */
      wrapped: Record<string, unknown>;
      /** Whether every object lists and requires all of its members, so that providers can enforce the schema. */
      isStrict: boolean;
    }
  | { ok: false; problem: string };

/** Reads a schema that a program asks for. */
function readRequestedSchema(schema: unknown): RequestedSchema {
  const text = writeJson(schema);
  if (text === undefined || text.length > MAX_SCHEMA_CHARS)
    return { ok: false, problem: `the type is larger than ${MAX_SCHEMA_CHARS} characters as a JSON Schema` };
  if (!isObject(schema)) return { ok: false, problem: "the type is no JSON Schema" };
  const misformed = findSchemaProblem(schema, []);
  if (misformed !== undefined)
    return { ok: false, problem: `the type's ${misformed.path.join(".") || "schema"} ${misformed.message}` };
  const definitions = isObject(schema.$defs) ? schema.$defs : {};
  const foreign = findForeign(schema, definitions);
  if (foreign !== undefined) return { ok: false, problem: foreign };
  const { $defs, $schema: _, ...own } = schema;
  return {
    ok: true,
    wrapped: {
      type: "object",
      properties: { [ANSWER_MEMBER]: own },
      required: [ANSWER_MEMBER],
      additionalProperties: false,
      ...($defs === undefined ? {} : { $defs }),
    },
    isStrict: isStrict(schema),
  };
}

/** Finds a keyword or a reference that is not allowed. */
function findForeign(schema: unknown, definitions: Record<string, unknown>): string | undefined {
  if (!isObject(schema)) return undefined;
  for (const [key, value] of Object.entries(schema)) {
    if (!KEYWORDS.has(key)) return `the type has '${key.slice(0, 64)}', which extract does not take`;
    if (key === "$ref" && !isKnownReference(value, definitions))
      return "the type has a $ref that leads to none of its $defs";
  }
  for (const each of schemasIn(schema)) {
    const foreign = findForeign(each, definitions);
    if (foreign !== undefined) return foreign;
  }
  return undefined;
}

function isKnownReference(reference: unknown, definitions: Record<string, unknown>): boolean {
  const name = typeof reference === "string" ? /^#\/\$defs\/([^/~%]+)$/.exec(reference)?.[1] : undefined;
  return name !== undefined && Object.hasOwn(definitions, name);
}

function isStrict(schema: unknown): boolean {
  if (!isObject(schema)) return true;
  const { properties, required, additionalProperties, type } = schema;
  if (properties !== undefined || type === "object") {
    const names = Object.keys(isObject(properties) ? properties : {});
    const isRequired = (name: string) => Array.isArray(required) && required.includes(name);
    if (additionalProperties !== false || !names.every(isRequired)) return false;
  }
  return schemasIn(schema).every(isStrict);
}

/** The direct subschemas of a schema. */
function schemasIn(schema: Record<string, unknown>): unknown[] {
  const { properties, $defs, items, additionalProperties, anyOf, oneOf, allOf, prefixItems } = schema;
  const named = [properties, $defs].flatMap((each) => (isObject(each) ? Object.values(each) : []));
  const listed = [anyOf, oneOf, allOf, prefixItems].flatMap((each) => (Array.isArray(each) ? each : []));
  return [...named, ...(listed as unknown[]), items, additionalProperties].filter(
    (each) => each !== undefined,
  );
}

/** The maximum size of a response, and of an error response. */
const MAX_BYTES = 4 * 1024 * 1024;
const MAX_REASON_BYTES = 16 * 1024;
const MAX_REASON_CHARS = 300;

/** Status codes for too many requests and temporary faults. */
const PASSING = new Set([408, 409, 425, 429]);

/**
 * Sends one question to a model's endpoint and resolves with the body of its answer. Redirects are not followed: the question goes
 * only to the configured URL.
 *
 * @throws UpstreamError whose message contains nothing of the question.
 */
export async function askEndpoint(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: unknown,
  signal: AbortSignal,
): Promise<unknown> {
  const host = new URL(url).host;
  try {
    const response = await outgoingFetch(url, {
      method: "POST",
      redirect: "manual",
      headers: { ...headers, "content-type": "application/json", accept: "application/json" },
      body: writeJson(body),
      signal,
    });
    if (!response.ok) throw await faultOf(response, host);
    const answer = await readBoundedBody(response, MAX_BYTES);
    if (answer === undefined)
      throw new UpstreamError(
        "protocol_error",
        `the model at ${host} answered with more than ${MAX_BYTES} bytes`,
      );
    return parseAnswer(answer.toString("utf8"), host);
  } catch (error) {
    if (error instanceof UpstreamError) throw error;
    if (signal.aborted) throw signal.reason;
    throw new UpstreamError("disconnected", `the model at ${host} could not be asked: ${reasonOf(error)}`, {
      cause: error,
      retryable: true,
    });
  }
}

async function faultOf(response: Response, host: string): Promise<UpstreamError> {
  const { status } = response;
  if (status >= 300 && status < 400) {
    await response.body?.cancel();
    return new UpstreamError(
      "remote_error",
      `the model at ${host} sent ptc to another address (HTTP ${status}), which is not followed; write that address as extract.url`,
    );
  }
  const text = await readBoundedBody(response, MAX_REASON_BYTES).catch(() => undefined);
  const reason = oneLine(messageIn(text?.toString("utf8") ?? ""), MAX_REASON_CHARS);
  return new UpstreamError(
    "remote_error",
    `the model at ${host} refused (HTTP ${status})${reason === "" ? "" : `: ${reason}`}${waitOf(response)}`,
    { retryable: status >= 500 || PASSING.has(status) },
  );
}

/** How long to wait before asking again (RFC 9110, "Retry-After"). Calls are not repeated automatically. */
function waitOf(response: Response): string {
  const said = response.headers.get("retry-after") ?? "";
  const seconds = /^\d{1,6}$/.test(said) ? Number(said) : Math.ceil((Date.parse(said) - Date.now()) / 1_000);
  return seconds > 0 && seconds < 1_000_000 ? `; it can be asked again in ${seconds} s` : "";
}

/** The message in an error body, whose form the APIs share. */
function messageIn(text: string): string {
  try {
    const body = parseForeignJson(text, { maxBytes: MAX_REASON_BYTES, maxDepth: MAX_NESTING_DEPTH });
    const error = isObject(body) ? body.error : undefined;
    return isObject(error) && typeof error.message === "string" ? error.message : "";
  } catch {
    return "";
  }
}

function parseAnswer(text: string, host: string): unknown {
  try {
    return parseForeignJson(text, { maxBytes: MAX_BYTES, maxDepth: MAX_NESTING_DEPTH });
  } catch {
    throw new UpstreamError("protocol_error", `the model at ${host} answered with something that is no JSON`);
  }
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  const code = isObject(cause) && typeof cause.code === "string" ? cause.code : undefined;
  return code ?? oneLine(String(cause instanceof Error ? cause.message : cause), MAX_REASON_CHARS);
}
