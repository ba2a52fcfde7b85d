import { schemaOfShape } from "../../../../catalog/learned/learned-state.ts";
import {
  boundShape,
  mergeShapes,
  NOTHING,
  observeShape,
  type Shape,
} from "../../../../catalog/learned/shape.ts";
import { normalizeSchema } from "../../../../catalog/model/normalize-schema.ts";
import { membersOf } from "../declared-members.ts";
import { Dice } from "./dice.ts";
import { isMember, type MadeUpTool } from "./made-up-tool.ts";

/** What was learned of one made-up tool. */
export interface MadeUpMeasure {
  tool: string;
  members: number;
  found: number;
  /** Paths that the type has and the tool has not. */
  foreign: readonly string[];
  /** Keys and texts of the results that are in the type. */
  leaked: readonly string[];
}

/** Learns a tool from some of its results. The same seed is the same results. */
export function measureMadeUp(tool: MadeUpTool, calls: number, seed: number): MadeUpMeasure {
  const dice = new Dice(seed);
  let shape: Shape = NOTHING;
  const results: unknown[] = [];
  for (let call = 0; call < calls; call++) {
    // As results come: through JSON.
    const result: unknown = JSON.parse(JSON.stringify(tool.answer(dice, call)));
    results.push(result);
    shape = boundShape(mergeShapes(shape, observeShape(result)));
  }
  const schema = schemaOfShape(shape);
  const learned = [...membersOf(normalizeSchema(schema, () => {})).paths];
  const foreign = learned.filter((path) => !isMember(tool, path));
  const names = new Set(tool.members.flatMap((path) => [path.slice(1), ...path.split(/[.[\]{}]+/)]));
  const kept = JSON.stringify(schema);
  const leaked = [...textsIn(results)].filter(
    (text) => !names.has(text) && kept.includes(JSON.stringify(text)),
  );
  return {
    tool: tool.name,
    members: tool.members.length,
    found: tool.members.filter((path) => learned.includes(path)).length,
    foreign,
    leaked,
  };
}

/** Every text and every name of some values that could be of the data. */
function textsIn(value: unknown, texts = new Set<string>()): Set<string> {
  if (typeof value === "string") {
    if (value.length > 3 && !WORDS_OF_SCHEMAS.has(value)) texts.add(value);
  } else if (typeof value === "object" && value !== null) {
    for (const [name, each] of Object.entries(value)) {
      if (!Array.isArray(value)) textsIn(name, texts);
      textsIn(each, texts);
    }
  }
  return texts;
}

const WORDS_OF_SCHEMAS = new Set([
  "type",
  "string",
  "number",
  "integer",
  "object",
  "array",
  "null",
  "boolean",
]);
