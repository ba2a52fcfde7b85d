import { isObject } from "../../base/json/is-object.ts";
import { parseVector, type Vector } from "../../catalog/search/meaning/vector.ts";
import { askModel, EndpointError, type ModelEndpoint } from "./model-endpoint.ts";

/**
 * Embeds texts through `POST /embeddings` of an OpenAI-compatible API. Resolves with a vector for each text, in their order
 * and all of as many dimensions.
 *
 * @throws EndpointError
 */
export async function embed(
  endpoint: ModelEndpoint,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<Vector[]> {
  const answer = await askModel(endpoint, "embeddings", { input: texts, encoding_format: "float" }, signal);
  const data = isObject(answer) && Array.isArray(answer.data) ? (answer.data as unknown[]) : [];
  if (data.length !== texts.length)
    throw new EndpointError(`answers with ${data.length} embeddings of ${texts.length} texts`);
  const vectors: Vector[] = [];
  for (const [position, entry] of data.entries()) {
    const { index = position, embedding } = isObject(entry) ? entry : {};
    const vector = parseVector(embedding);
    if (vector === undefined) throw new EndpointError("answers with an embedding that is no list of numbers");
    if (typeof index !== "number" || texts[index] === undefined || vectors[index] !== undefined)
      throw new EndpointError("answers with embeddings of which it does not say what they are of");
    vectors[index] = vector;
  }
  const [first] = vectors;
  if (vectors.some(({ length }) => length !== first?.length))
    throw new EndpointError("answers with embeddings of different lengths");
  return vectors;
}
