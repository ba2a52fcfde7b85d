import { Ajv, type AnySchemaObject } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { messageOf } from "../../base/faults.ts";
import { cutText } from "./schema-problem.ts";

const MAX_MESSAGE_CHARS = 300;

/**
 * What is wrong with a JSON Schema that a person wrote (2020-12, or draft-07 by its `$schema`), in one line; `undefined` if it is
 * valid. Checks of values are more lenient, because schemas of servers are often not valid.
 */
export function findSchemaMistake(schema: Readonly<Record<string, unknown>>): string | undefined {
  const { $schema: dialect, ...rest } = schema;
  const options = { strict: false, logger: false, validateSchema: true, validateFormats: false } as const;
  const isOld = typeof dialect === "string" && /draft-0[4-7]/.test(dialect);
  const ajv = isOld ? new Ajv(options) : new Ajv2020(options);
  try {
    if (ajv.validateSchema(rest as AnySchemaObject) !== true) {
      const [first] = ajv.errors ?? [];
      return cutText(
        `${placeOf(first?.instancePath ?? "")} ${first?.message ?? "is wrong"}`.trim(),
        MAX_MESSAGE_CHARS,
      );
    }
    ajv.compile(rest);
    return undefined;
  } catch (error) {
    return cutText(messageOf(error).split("\n", 1)[0] ?? "", MAX_MESSAGE_CHARS);
  }
}

/** `/properties/id/type` as `properties.id.type`. */
function placeOf(pointer: string): string {
  return pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .join(".");
}
