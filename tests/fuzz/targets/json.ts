import assert from "node:assert/strict";
import { atOnce } from "../../../base/in-turns.ts";
import {
  countJsonValues,
  ForeignJsonError,
  type JsonFault,
  jsonDepth,
  parseForeignJson,
  parseWrittenJson,
  writeJson,
} from "../../../base/json.ts";
import { parseSteps } from "../../../base/json-in-turns.ts";
import { canonicalJson } from "../../../protocol/canonical-json.ts";
import { fuzzTarget } from "../fuzz-target.ts";
import { hostileJson } from "../hostile/hostile-json.ts";

const LIMITS = { maxBytes: 100_000, maxDepth: 64, maxValues: 200 };

/** The value of a JSON text, with whole numbers beyond 2^53 by their digits. */
function exactly(text: string): unknown {
  const parse = JSON.parse as (text: string, reviver: unknown) => unknown;
  return parse(text, (_: string, value: unknown, { source = "" }: { source?: string }) =>
    typeof value === "number" && /^-?\d+$/.test(source) && !Number.isSafeInteger(value)
      ? BigInt(source)
      : value,
  );
}

/** What `JSON.parse` and a plain walk over the tokens say of a text: the oracle. */
function describe(text: string) {
  try {
    JSON.parse(text);
  } catch {
    return { isJson: false as const };
  }
  const open: (Set<string> | undefined)[] = [];
  let [depth, values, atMost, duplicates, infinite] = [0, 0, 1, false, false];
  let name = "";
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/gs)) {
    if (token === "{" || token === "[") {
      open.push(token === "{" ? new Set() : undefined);
      depth = Math.max(depth, open.length);
      values++;
      atMost++;
    } else if (token === "}" || token === "]") open.pop();
    else if (token === ",") atMost++;
    else if (token === ":") {
      const names = open.at(-1);
      values--;
      if (names?.has(name)) duplicates = true;
      names?.add(name);
    } else {
      values++;
      if (token.startsWith('"')) name = JSON.parse(token) as string;
      else if (!["true", "false", "null"].includes(token) && !Number.isFinite(Number(token))) infinite = true;
    }
  }
  return { isJson: true as const, depth, values, atMost, duplicates, infinite };
}

/** Foreign JSON against `JSON.parse`: what is taken has the same value, and what is refused has the fault that is told. */
export const target = fuzzTarget({
  name: "json",
  iterations: 1_330,
  samples: 600,
  generate: (random) => hostileJson(random, { broken: 0.01 }),
  check(input, random) {
    const text = input.toString("utf8");
    const isUtf8 = Buffer.from(text).equals(input);
    const oracle = describe(text);
    const [fault, value] = read(input);
    const decoded = read(text);
    if (isUtf8) assert.deepEqual(decoded, [fault, value], "bytes and text are read alike");
    const faults: Record<JsonFault, boolean> = {
      too_large: input.length > LIMITS.maxBytes,
      not_utf8: !isUtf8,
      too_deep: !oracle.isJson || oracle.depth > LIMITS.maxDepth,
      too_many_values: !oracle.isJson || oracle.atMost > LIMITS.maxValues,
      too_many_members: false,
      not_json: !oracle.isJson,
      non_finite: oracle.isJson && oracle.infinite,
      duplicate_key: oracle.isJson && oracle.duplicates,
    };
    const inSteps = read(input, (bytes) => atOnce(parseSteps(bytes, LIMITS, random.below(20))));
    assert.equal(inSteps[0] === undefined, fault === undefined, "what is refused is refused in steps");
    if (fault !== undefined) {
      // What is no JSON may have another fault before the place where that shows.
      assert.ok(!oracle.isJson || faults[inSteps[0] as JsonFault], `it is not ${inSteps[0]}`);
      assert.ok(faults[fault], `it is not ${fault}`);
      return;
    }
    assert.ok(oracle.isJson && isUtf8, "it is not JSON in UTF-8");
    assert.deepEqual(inSteps, [undefined, value], "all that is read is read alike in steps");
    assert.ok(
      !oracle.infinite && !oracle.duplicates && oracle.depth <= LIMITS.maxDepth,
      "it should be refused",
    );
    assert.ok(oracle.values <= LIMITS.maxValues, "it holds too many values");
    assert.deepEqual(value, exactly(text));
    assert.deepEqual([jsonDepth(text), countJsonValues(text)], [oracle.depth, oracle.values]);
    const written = writeJson(value);
    assert.equal(
      parseWrittenJson(text, LIMITS).isCompact && text !== written,
      false,
      "it is written otherwise",
    );
    assert.deepEqual(read(written), read(writeJson(value, 1)), "white space is nothing");
    const canonical = canonicalJson(value);
    assert.equal(canonicalJson(parseForeignJson(canonical, { ...LIMITS, maxBytes: 1e7 })), canonical);
  },
});

function read(
  json: Buffer | string,
  parse: (json: Buffer | string) => unknown = (each) => parseForeignJson(each, LIMITS),
): [fault: JsonFault | undefined, value: unknown] {
  try {
    return [undefined, parse(json)];
  } catch (error) {
    if (!(error instanceof ForeignJsonError)) throw error;
    assert.match(error.message, /^.{1,500}$/u, "a message is one short line");
    return [error.code, undefined];
  }
}
