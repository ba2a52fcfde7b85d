import * as z from "zod";
import { TEXTS } from "../../configuration/settings/declare.ts";
import { Settings } from "../../configuration/settings/settings.ts";

/** The JSON Schema of ptc.yaml, for editors. It accepts anything that only ptc can check, such as a variable's value. */
export function printSchema(): string {
  const schema = z.toJSONSchema(Settings, {
    io: "input",
    target: "draft-7",
    unrepresentable: "any",
    metadata: z.registry(),
    override({ zodSchema, jsonSchema }) {
      const { description, shorthand } = (zodSchema instanceof z.ZodType && TEXTS.get(zodSchema)) || {};
      if (shorthand !== undefined) {
        const whole = { ...jsonSchema };
        for (const key of Object.keys(jsonSchema)) delete jsonSchema[key];
        jsonSchema.anyOf = [whole, shorthand];
      }
      if (description !== undefined) jsonSchema.description = description;
    },
  });
  return `${JSON.stringify({ title: "ptc.yaml", ...schema }, undefined, 2)}\n`;
}
